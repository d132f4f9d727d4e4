"""A running pair says where its answers come from: the shares are those that both models' own rows give."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from harness import Pair, pair
from reference import Reference

from hocket_bus.messages import Done
from hocket_bus.wire import encode
from hocket_client.question import ask_message
from hocket_daemon.privacy.egress import EgressSettings
from hocket_lab.link.tap import Tap, messages
from waiting import WAIT_S

QUESTION = "kala mira duno?"
WAYS = [
    {"temperature": temperature, "weights": weights, "alone": alone}
    for temperature in (0.0, 1.0)
    for weights, alone in (("off", False), ("dynamic", False), ("dynamic", True))
]


def asked(**way: object) -> dict[str, object]:
    return {"seed": 7, "max_tokens": 10, "ignore_eos": True, "documents": 3, **way}


def start(made: Pair, contrast: float = 0.0, **policy: bool) -> Tap:
    """A pair with a tap in its wire."""
    tap = made.stack.enter_context(Tap(made.endpoint("tap"), made.endpoint("cloud")))
    for side in ("device", "cloud"):
        made.start_retrieval(side)
    made.start_cloud()
    made.start_device(link=made.endpoint("tap"), egress=EgressSettings(**policy), contrast=contrast)
    return tap


def check(done: Done, reference: Reference, way: dict[str, object]) -> None:
    """Every token's shares are the reference's, and sum to one."""
    ask = ask_message(QUESTION, topic=bytes(16), **asked(**way))  # type: ignore[arg-type]
    exact = reference.shares(ask, done.token_ids, frozenset(done.aggregation.solo_steps))
    assert sum(origin.share for origin in done.sources) == pytest.approx(1.0, abs=1e-9)
    assert len(done.token_sources) == len(exact) == len(done.token_ids)
    for row, want in zip(done.token_sources, exact, strict=True):
        found = {origin.document: share for origin, share in zip(done.sources, row, strict=True)}
        assert sum(row) == pytest.approx(1.0, abs=1e-9)
        assert found == pytest.approx({name: want[name] for name in found}, abs=2e-4)
    means = [float(np.mean([row[at] for row in done.token_sources])) for at in range(len(done.sources))]
    assert [origin.share for origin in done.sources] == pytest.approx(means)


@pytest.mark.parametrize(
    ("drafts", "contrast"), [(True, 0.0), (True, 0.5), pytest.param(False, 0.0, marks=pytest.mark.slow)]
)
def test_the_shares_are_those_of_the_models_own_rows(
    tiny_models: dict[str, Path], drafts: bool, contrast: float
) -> None:
    """With drafts and without, greedy and drawn, together and alone; no name of the device's is in the wire.

    Where rows are set against the question alone, the shares are those of the contrasted mass.
    """
    reference = Reference(tiny_models, contrast=contrast)
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        tap = start(made, contrast, drafts=drafts)
        client = made.client()
        for way in WAYS:
            done = client.ask(QUESTION, deadline_s=WAIT_S, **asked(**way)).result()  # type: ignore[arg-type]
            check(done, reference, way)
            sides = {origin.side for origin in done.sources}
            assert sides == ({"device"} if way["alone"] else {"device", "cloud"})
            assert bool(done.aggregation.solo_steps) == way["alone"]
            assert b"device-0" in b"".join(encode(done))
        bare = client.ask(QUESTION, deadline_s=WAIT_S, **asked(documents=0)).result()  # type: ignore[arg-type]
        assert (bare.sources, bare.token_sources) == ([], [])
        assert bare.token_ids
        there = made.client("cloud").ask(QUESTION, deadline_s=WAIT_S, **asked()).result()  # type: ignore[arg-type]
        assert {origin.side for origin in there.sources} == {"cloud"}
        frames = [frame for recorded in tap.recorded() for each in messages(recorded) for frame in each]
        assert len(frames) > len(WAYS)
        assert not [frame for frame in frames if b"device-" in frame]
