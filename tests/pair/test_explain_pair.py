"""`hocket explain` of a running device: what was asked is in the record, whatever mode answered."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from harness import pair

from hocket_daemon.serving.records import decisions
from hocket_tools.main import run
from waiting import WAIT_S, until

MODES = ("aggregation", "dispatch", "auto", "graph")


def test_every_record_has_the_question(tiny_models: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """In the record of each mode, and in the list."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        file = made.folder / "decisions.db"
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.start_device(decisions=str(file))
        for mode in MODES:
            made.client().ask(f"kala in {mode}?", mode=mode, max_tokens=2, deadline_s=WAIT_S).result()
        until(lambda: file.exists() and len(decisions.last(file, 9)) == len(MODES))
        (made.folder / "device.toml").write_text(f'decisions = "{file}"\n')
        where = ["--home", str(made.folder)]
        capsys.readouterr()
        assert run(["explain", "--list", *where]) == 0
        listed = capsys.readouterr().out
        for record in decisions.last(file, 9):
            question = record.record["question"]
            assert question in {f"kala in {mode}?" for mode in MODES}
            assert question in listed
            assert run(["explain", record.id, *where]) == 0
            assert question in capsys.readouterr().out
