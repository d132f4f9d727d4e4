"""Logging: a line is an object for machines or words for people, as it is set."""

from __future__ import annotations

import json
import logging

import pytest
import structlog

from hocket_bus.config import from_values
from hocket_bus.errors import BadConfiguration
from hocket_bus.log import AT_ONCE, BoundedRecords, setup
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


@pytest.mark.parametrize("style", ["people", "json"])
def test_a_traceback_shows_no_values(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A question, a passage or a distribution that a failing function holds is not for the journal."""
    setup("info", style)  # type: ignore[arg-type]

    def answer(question: str) -> None:
        raise KeyError(len(question))

    try:
        answer(f"the code is {4700 + 11}")
    except KeyError:
        structlog.get_logger("test").exception("failed")
    written = capsys.readouterr().err
    assert "in answer" in written
    assert "4711" not in written


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


@pytest.mark.parametrize("style", ["json", "people"])
def test_a_hostile_peer_fills_no_log(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    """However much it sends, each line is short, and of an event so many are written; other events go on."""
    setup("info", style)  # type: ignore[arg-type]
    log = structlog.get_logger("test")
    for _ in range(3_000):
        log.warning("bad message", name="x\u202e\x1b[2J" + "y" * 10_000)
    log.warning("another event")
    said = capsys.readouterr().err
    assert 100 <= len(said.splitlines()) <= 300
    assert len(said) < 300_000
    assert "another event" in said
    assert "\u202e" not in said
    assert "\\u202e" not in said
    assert "\x1b[2J" not in said


def test_what_was_left_out_is_counted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """By the next line of the event."""
    setup("info", "json")
    now_s = 100.0
    monkeypatch.setattr("hocket_bus.log.time.monotonic", lambda: now_s)
    log = structlog.get_logger("test")
    for _ in range(AT_ONCE + 7):
        log.warning("bad message")
    now_s += 1.0
    log.warning("bad message")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line.get("left_out", 0) for line in lines] == [0] * AT_ONCE + [7]


def test_what_libraries_log_is_bounded_too() -> None:
    """By its event, whatever the values are."""
    bounded = BoundedRecords()
    records = [logging.LogRecord("uvicorn", 30, "", 1, "bad %s", (f"x\u202e{n}" * 999,), None) for n in range(3_000)]
    kept = [record for record in records if bounded.filter(record)]
    assert 100 <= len(kept) <= 300
    assert all(len(record.getMessage()) <= 500 and "\u202e" not in record.getMessage() for record in kept)
