"""The round trip in the running pair: an answer in work learns that it changed, on both sides."""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness import pair

from hocket_lab.link import Conditions, start
from ports import free_port

CLOUD = f"127.0.0.1:{free_port()}"
TOKENS = 400


def test_an_answer_in_work_widens_its_window_when_the_round_trip_grows(tiny_models: dict[str, Path]) -> None:
    """A step from 20 to 200 ms under way: both sides' sessions know it and draft further ahead."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        link = made.stack.enter_context(start("127.0.0.1:0", CLOUD, Conditions.symmetric(0.02)))
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.trust(f"tcp://127.0.0.1:{link.port}")
        cloud = made.start_cloud(endpoint=f"tcp://{CLOUD}", hold_s=0.02)
        device = made.start_device(
            link=f"tcp://127.0.0.1:{link.port}",
            hold_s=0.02,
        )
        stream = made.client().ask("kala mira?", max_tokens=TOKENS, ignore_eos=True, require_cloud=True, seed=3)
        before, seen = 0, set()
        for token in stream:
            entries = [*device.sessions.led.values(), *cloud.sessions.followed.values()]
            sessions = [(entry.session, entry.session._drafter.dialogue.exchange) for entry in entries]  # type: ignore[attr-defined]
            if token.step == 5:
                before = max(exchange.window for _, exchange in sessions)
                link.set(Conditions.symmetric(0.2))
            seen |= {(s._services.side, exchange.window > before) for s, exchange in sessions if s.rtt_s > 0.16}
            if {("device", True), ("cloud", True)} <= seen:
                stream.cancel()

        assert {("device", True), ("cloud", True)} <= seen
        assert stream.result().finish == "cancelled"
