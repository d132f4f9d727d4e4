"""R6 on the running pair: a broken link costs no token, and the cloud rejoins at the prefix."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from harness import pair
from reference import Reference

from hocket_client.question import ask_message
from hocket_tools.link import start
from ports import free_port
from waiting import WAIT_S

QUESTION, OPTIONS = "kala mira?", {"seed": 9, "max_tokens": 160, "ignore_eos": True, "temperature": 1.0}


@pytest.mark.parametrize("aggregation", ["coupled", "independent"])
@pytest.mark.parametrize("cut", [False, True], ids=["silence", "cut"])
def test_the_device_goes_on_alone_and_the_cloud_rejoins(
    tiny_models: dict[str, Path], cut: bool, aggregation: str
) -> None:
    """Down at token 10 for longer than the liveness time: ids equal the reference given the recorded solo steps."""
    cloud = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        link = made.stack.enter_context(start("127.0.0.1:0", cloud))
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.trust(f"tcp://127.0.0.1:{link.port}")
        made.start_cloud(endpoint=f"tcp://{cloud}", model=made.model("cloud", hold_decode_s=0.05))
        made.start_device(
            link=f"tcp://127.0.0.1:{link.port}",
            model=made.model("device", hold_decode_s=0.05),
        )
        stream = made.client().ask(QUESTION, require_cloud=False, deadline_s=WAIT_S, aggregation=aggregation, **OPTIONS)
        healed = False
        for token in stream:
            if token.step == 10:
                link.partition(cut=cut)
            if token.source == "solo" and token.step > 10 and not healed:
                healed = True
                link.heal()
        done = stream.result()
        assert 0 < len(done.aggregation.solo_steps) < 150
        assert done.aggregation.solo_steps[-1] < 159, "the cloud did not rejoin"
        assert [notice for notice in stream.notices if "alone" in notice]
        assert [notice for notice in stream.notices if "back" in notice]
        ask = ask_message(QUESTION, topic=bytes(16), aggregation=aggregation, **OPTIONS)
        assert done.token_ids == Reference(tiny_models).answer(ask, frozenset(done.aggregation.solo_steps)).ids
