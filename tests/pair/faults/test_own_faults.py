"""A fault of the program itself ends the request that it hits, at once and with a reason, and no other one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Pair, pair

from hocket_bus.errors import HocketError
from hocket_daemon.aggregation.dialogue import Dialogue
from hocket_daemon.aggregation.drafter import Drafter
from hocket_daemon.aggregation.exchange.exchange import Exchange
from hocket_daemon.aggregation.leader import Leader
from waiting import WAIT_S, until

FAULTS = {
    "a drawn token": (Exchange, "_trace"),
    "the search's answer": (Drafter, "_on_found"),
    "a message of the other side": (Dialogue, "receive"),
    "a time that is over": (Leader, "_due_s"),
}


@pytest.fixture(scope="module")
def running(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    """Run a pair for all tests of this file."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models) as made:
        yield made


def ask(made: Pair) -> list[int]:
    client = made.client()
    return client.ask("kala mira duno?", max_tokens=8, unknown="answer", deadline_s=WAIT_S).result().token_ids


@pytest.mark.parametrize("where", FAULTS)
def test_a_fault_ends_its_request_and_nothing_else(
    running: Pair, where: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Wherever it happens: the user gets the error, the log its traceback, and the next question its answer."""
    kind, name = FAULTS[where]
    sound: Callable[..., Any] = getattr(kind, name)
    left = [1]

    def faulty(self: object, *args: object, **options: object) -> object:
        side = getattr(self, "_side", "device")
        if side == "device" and left[0]:
            left[0] -= 1
            raise KeyError(where)
        return sound(self, *args, **options)

    monkeypatch.setattr(kind, name, faulty)
    with pytest.raises(HocketError, match="fault"):
        ask(running)
    assert ask(running)
    assert running.device is not None
    until(running.device.idle)
    assert "KeyError" in "".join(capfd.readouterr())
