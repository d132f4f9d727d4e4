"""A member that steers the answer, or leads it and falls silent, hears nothing of how the others finish it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from family import BOAT, HOME, Family, family

from hocket_bus.messages import Message, Target
from hocket_daemon.aggregation.dialogue import Effects
from hocket_daemon.aggregation.exchange.parties import Parties
from hocket_daemon.aggregation.exchange.session_terms import Draft
from hocket_daemon.aggregation.follower import Follower
from hocket_daemon.aggregation.settings import GroupSettings
from waiting import WAIT_S, until

QUESTION = "At which berth does the sailing boat Halcyon lie?"
TOKENS, SILENT_FROM, STEERED_AT = 16, 4, 5


@pytest.fixture
def made(tiny_models: dict[str, Path]) -> Iterator[Family]:
    with tempfile.TemporaryDirectory(prefix="hk") as name, family(Path(name), tiny_models) as made:
        yield made


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the tokens that ben is sent."""
    steps: list[int] = []
    receive = Follower.receive

    def receives(self: Follower, message: Message) -> None:
        if isinstance(message, Target):
            steps.extend(range(message.first, message.first + len(message.ids)))
        receive(self, message)

    monkeypatch.setattr(Follower, "receive", receives)
    return steps


def ask(made: Family) -> list[str]:
    """The notices of a whole answer of anna and ben, whose session is over then."""
    made.start_cloud(["anna", "ben"], {"family": ["anna", "ben"]})
    made.start_device("anna", HOME, group=GroupSettings(cloud=False, patience_ms=200, reading_s=WAIT_S / 10))
    made.start_device("ben", BOAT, drafts_for=["anna"])
    asked = {"mode": "graph", "members": ("ben",), "max_tokens": TOKENS, "unknown": "answer", "ignore_eos": True}
    with made.devices["anna"].client() as client:
        stream = client.ask(QUESTION, deadline_s=WAIT_S, **asked)  # type: ignore[arg-type]
        assert len(stream.result().token_ids) == TOKENS
    ben = made.devices["ben"].device
    assert ben is not None
    until(ben.idle)  # the asked device has told it the end
    return stream.notices


@pytest.mark.parametrize("has_led", [True, False])
def test_who_has_led_and_falls_silent_is_sent_no_more(
    made: Family, received: list[int], has_led: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member that has not led is only late: it is sent the tokens, so that it can come back."""
    act = Follower.act

    def acts(self: Follower, effects: Effects) -> None:
        if self.steps >= SILENT_FROM:
            effects.send.clear()
        act(self, effects)

    monkeypatch.setattr(Follower, "act", acts)
    monkeypatch.setattr(Parties, "has_pushed", lambda self, name: has_led and name == "ben")
    notices = ask(made)
    led = any("ben stopped drafting after it had led the answer" in notice for notice in notices)
    assert led == has_led, notices
    assert max(received) >= SILENT_FROM - 1
    assert (max(received) < TOKENS - 1) == has_led


def test_who_steers_is_sent_nothing_from_the_token_on_that_shows_it(
    made: Family, received: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even what the asked device had drafted by then, and confirms in the same turn."""

    def watch(self: Parties, own: Draft, _: int) -> bool:
        if own.step == STEERED_AT and "ben" in self.present:
            self.steers.add("ben")
        return bool(self.steers)

    monkeypatch.setattr(Parties, "watch", watch)
    assert any("ben may be steering the answer" in notice for notice in ask(made))
    assert max(received) == STEERED_AT - 1
