"""R6 on the running pair: a broken link costs no token, and the cloud rejoins at the prefix."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from harness import pair
from reference import Reference

from hocket_client.question import ask_message
from hocket_lab.link import start
from ports import free_port
from waiting import WAIT_S

METHODS = ("coupled", "independent")
QUESTION, OPTIONS = "kala mira?", {"seed": 9, "max_tokens": 160, "ignore_eos": True, "temperature": 1.0}


@pytest.mark.parametrize(
    "cut",
    [pytest.param(False, marks=pytest.mark.long), pytest.param(True, marks=pytest.mark.slow)],
    ids=["silence", "cut"],
)
def test_the_device_goes_on_alone_and_the_cloud_rejoins(tiny_models: dict[str, Path], cut: bool) -> None:
    """Down at token 10 for longer than the liveness time: ids equal the reference given the recorded solo steps.

    For two answers at once, one of each way to aggregate.
    """
    cloud = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        link = made.stack.enter_context(start("127.0.0.1:0", cloud))
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.trust(f"tcp://127.0.0.1:{link.port}")
        made.start_cloud(endpoint=f"tcp://{cloud}", hold_s=0.05)
        made.start_device(
            link=f"tcp://127.0.0.1:{link.port}",
            hold_s=0.05,
        )
        client, how = made.client(), {"require_cloud": False, "deadline_s": WAIT_S, **OPTIONS}
        streams = {aggregation: client.ask(QUESTION, aggregation=aggregation, **how) for aggregation in METHODS}
        healed = False
        for token in streams["coupled"]:
            if token.step == 10:
                link.partition(cut=cut)
            if token.source == "solo" and token.step > 10 and not healed:
                healed = True
                link.heal()
        reference = Reference(tiny_models)
        for aggregation, stream in streams.items():
            done = stream.result()
            assert 0 < len(done.aggregation.solo_steps) < 150
            assert done.aggregation.solo_steps[-1] < 159, "the cloud did not rejoin"
            assert [notice for notice in stream.notices if "alone" in notice]
            assert [notice for notice in stream.notices if "back" in notice]
            ask = ask_message(QUESTION, topic=bytes(16), aggregation=aggregation, **OPTIONS)
            assert done.token_ids == reference.answer(ask, frozenset(done.aggregation.solo_steps)).ids
