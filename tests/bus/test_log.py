"""Logging: a line is an object for machines or words for people, as it is set."""

from __future__ import annotations

import json

import pytest
import structlog

from hocket_bus.config import from_values
from hocket_bus.errors import BadConfiguration
from hocket_bus.log import setup
from hocket_bus.sockets.bus import REST_S, GuardedLoop
from hocket_retrieval.config import RetrievalConfig


def logged(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What an info line, a debug line and an error with its cause leave."""
    log = structlog.get_logger("test")
    log.debug("hidden")
    log.info("ready", endpoint="ipc:///x")
    try:
        raise ValueError("cause")
    except ValueError:
        log.exception("failed")
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("style", ["json", "auto"])
def test_machines_get_one_object_a_line(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors included, with their cause; also where nothing is set and no terminal is there."""
    setup("info", style)  # type: ignore[arg-type]
    ready, failed = map(json.loads, logged(capsys))
    assert (ready["event"], ready["level"], ready["endpoint"]) == ("ready", "info", "ipc:///x")
    assert "ValueError: cause" in failed["exception"]


def test_people_get_words(capsys: pytest.CaptureFixture[str]) -> None:
    """No object, no colours where there is no terminal, the cause below."""
    setup("info", "people")
    lines = logged(capsys)
    assert "ready" in lines[0]
    assert "endpoint=ipc:///x" in lines[0]
    assert not any(line.startswith("{") or "\x1b" in line for line in lines)
    assert any("ValueError" in line for line in lines)


@pytest.mark.parametrize("key", ["log_level", "log_format"])
def test_a_word_that_is_none_is_refused(key: str) -> None:
    """At the start, by name of the key."""
    with pytest.raises(BadConfiguration, match=key):
        from_values({"endpoint": "ipc:///x", "state": "/x", key: "loud"}, RetrievalConfig, "file")


def test_a_loop_that_fails_every_turn_rests_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """One failure costs no time; those behind it cost a rest each, until a turn succeeds."""
    rests: list[float] = []
    monkeypatch.setattr("hocket_bus.sockets.bus.time.sleep", rests.append)
    turns = GuardedLoop(structlog.get_logger(), "a turn failed")
    outcomes = iter([True, False, True, False, False, False, True, False])
    seen = []
    with structlog.testing.capture_logs() as logged:
        for _ in range(8):

            def turn() -> None:
                seen.append(next(outcomes))
                assert seen[-1]

            turns.run(turn)
    assert len(seen) == 8
    assert len(logged) == 5
    assert rests == [REST_S] * 2
