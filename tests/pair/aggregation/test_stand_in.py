"""A model that nobody chose answers, and says so: to readers, in the status and in the log, of either side."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Pair, pair
from structlog.testing import capture_logs

from exact import exact

SMALL = {"slots": 16, "context": 256}
ASK = {"seed": 1, "max_tokens": 4, "documents": 1}


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_models: dict[str, Path]) -> Iterator[Pair]:
    """A pair that is not started yet, on a machine where no model was got."""
    monkeypatch.setenv("HOCKET_MODELS", str(tmp_path / "models"))
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        yield made


@pytest.mark.parametrize(("device", "cloud"), [("auto", "auto"), ("bundled", "auto"), ("auto", "bundled")])
def test_each_side_that_nobody_chose_a_model_for_says_so(models: Pair, device: str, cloud: str) -> None:
    """Once in an answer; a model that was named is chosen, the bundled one, too."""
    with capture_logs() as logs:
        models.start_cloud(model=exact(name=cloud, dtype="auto", **SMALL))
        models.start_device(model=exact(name=device, dtype="auto", **SMALL))
    names = {"device": device, "cloud": cloud}
    unchosen = [side for side, name in names.items() if name == "auto"]
    with models.client() as client:
        stream = client.ask("Who lives here?", **ASK)  # type: ignore[arg-type]
        list(stream)
    said = [line for line in stream.notices if "as none was chosen" in line]
    assert sorted(said) == sorted(line for line in said if "hocket model get smollm2" in line)
    assert sorted(line.split()[1] for line in said) == sorted(unchosen)
    warned = [line for line in logs if line["event"] == "model" and line["log_level"] == "warning"]
    assert len(warned) == len(unchosen)
    for side in names:
        with models.client(side) as asked:
            assert ("default model" in asked.status().facts) == (side in unchosen)
