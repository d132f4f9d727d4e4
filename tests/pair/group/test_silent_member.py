"""A member that leads the answer and then falls silent hears nothing of how the others finish it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from family import BOAT, HOME, Family, family

from hocket_bus.messages import Message, Target
from hocket_daemon.aggregation.dialogue import Effects
from hocket_daemon.aggregation.exchange.parties import Parties
from hocket_daemon.aggregation.follower import Follower
from hocket_daemon.aggregation.settings import GroupSettings
from waiting import WAIT_S, until

QUESTION = "At which berth does the sailing boat Halcyon lie?"
TOKENS, SILENT_FROM = 16, 4


@pytest.fixture
def made(tiny_models: dict[str, Path]) -> Iterator[Family]:
    with tempfile.TemporaryDirectory(prefix="hk") as name, family(Path(name), tiny_models) as made:
        yield made


@pytest.mark.parametrize("has_led", [True, False])
def test_who_has_led_and_falls_silent_is_sent_no_more(
    made: Family, has_led: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member that has not led is only late: it is sent the tokens, so that it can come back."""
    received: list[int] = []
    act, receive = Follower.act, Follower.receive

    def acts(self: Follower, effects: Effects) -> None:
        if self.steps >= SILENT_FROM:
            effects.send.clear()
        act(self, effects)

    def receives(self: Follower, message: Message) -> None:
        if isinstance(message, Target):
            received.extend(range(message.first, message.first + len(message.ids)))
        receive(self, message)

    monkeypatch.setattr(Follower, "act", acts)
    monkeypatch.setattr(Follower, "receive", receives)
    monkeypatch.setattr(Parties, "has_pushed", lambda self, name: has_led and name == "ben")
    made.start_cloud(["anna", "ben"], {"family": ["anna", "ben"]})
    made.start_device("anna", HOME, group=GroupSettings(cloud=False, patience_ms=200, reading_s=WAIT_S / 10))
    made.start_device("ben", BOAT, drafts_for=["anna"])
    asked = {"mode": "graph", "members": ("ben",), "max_tokens": TOKENS, "unknown": "answer", "ignore_eos": True}
    with made.devices["anna"].client() as client:
        stream = client.ask(QUESTION, deadline_s=WAIT_S, **asked)  # type: ignore[arg-type]
        assert len(stream.result().token_ids) == TOKENS
    led = any("ben stopped drafting after it had led the answer" in notice for notice in stream.notices)
    assert led == has_led, stream.notices
    ben = made.devices["ben"].device
    assert ben is not None
    until(ben.idle)  # the asked device has told it the end
    assert max(received) >= SILENT_FROM - 1
    assert (max(received) < TOKENS - 1) == has_led
