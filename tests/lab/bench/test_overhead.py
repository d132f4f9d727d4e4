"""Laws of `hocket bench overhead`: the sides without a model do aggregate, and the report is whole."""

import json
from pathlib import Path

import pytest

from hocket_daemon.aggregation.exchange.sampler import target
from hocket_daemon.engine.sampling.distribution import truncate
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_lab.bench.running.bare import distributions
from hocket_lab.bench.running.product import WIRE_MASS
from hocket_lab.bench.speed.overhead import VOCABULARIES, Settings, bare_pair, run

SEED = 5


def test_the_tokens_are_those_of_the_aggregated_distributions() -> None:
    """Every token is the target of what both sides made beforehand; none is lost or repeated."""
    tokens = 40
    with bare_pair(2_048) as client:
        done = client.ask("?", max_tokens=tokens, temperature=1.0, top_p=1.0, seed=SEED).result()
    heads = [truncate(made, WIRE_MASS) for made in distributions(2_048)]
    expected = []
    for step in range(tokens):
        device, cloud = (heads[(step + len(side)) % len(heads)] for side in ("device", "cloud"))
        expected.append(target(Rule(SEED, 1.0, 1.0), step, device, cloud, (0.0, 0.0)))
    assert done.token_ids == expected
    assert len(set(expected)) > 1


@pytest.mark.slow
def test_a_row_and_a_claim_for_every_vocabulary(tmp_path: Path) -> None:
    """And a finished report is not measured again."""
    path = tmp_path / "overhead.json"
    run(Settings(20), path)
    content = json.loads(path.read_text())
    assert [row["vocabulary"] for row in content["rows"]] == list(VOCABULARIES)
    assert all(0 < row["token_p50_ms"] <= row["token_p95_ms"] for row in content["rows"])
    assert len(content["claims"]) == len(VOCABULARIES)
    run(Settings(20), path)
    assert json.loads(path.read_text())["rows"] == content["rows"]
