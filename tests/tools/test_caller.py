"""Laws of one request to one daemon: the wrong daemon is named at once, and no talk puts off a deadline."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from queue import SimpleQueue

import pytest

from hocket_bus.errors import DeadlineExceeded
from hocket_bus.messages import Status, StatusRequest, Welcome
from hocket_bus.sockets import Bus, Event, Greeted, Received
from hocket_tools.caller import Caller
from hocket_tools.commands.library import documents
from hocket_tools.main import run
from waiting import WAIT_S


@pytest.mark.parametrize("words", [["ingest", "FILE"], ["documents"], ["documents", "--remove", "x"]])
def test_a_daemon_of_another_role_is_named(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, before anything is sent to a daemon that would never answer."""
    monkeypatch.setattr(documents, "SILENCE_S", 1.0)
    endpoint, came = f"ipc://{tmp_path}/cloud", SimpleQueue[Event]()
    (tmp_path / "note.md").write_text("A note.")
    given = [str(tmp_path / "note.md") if word == "FILE" else word for word in words]
    with Bus(came.put) as bus:
        bus.serve(endpoint, lambda _: Welcome(role="cloud", epoch=1))
        assert run([*given, "--side", "device", "--endpoint", endpoint]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"a cloud daemon listens at {endpoint}, not a retrieval daemon: name" in error
    assert {type(came.get(timeout=WAIT_S)) for _ in range(came.qsize())} == {Greeted}


def test_talk_of_other_things_puts_off_no_deadline(tmp_path: Path) -> None:
    """A daemon that sends what was not asked for, again and again, has not answered."""
    asked, ended = SimpleQueue[Event](), threading.Event()

    def talk() -> None:
        assert isinstance(asked.get(timeout=WAIT_S), Greeted)
        event = asked.get(timeout=WAIT_S)
        assert isinstance(event, Received)
        while not ended.wait(0.01):
            server.send(event.route, Status(request=os.urandom(16), role="cloud", ready=True, facts={}))

    with Bus(asked.put) as bus:
        server = bus.serve(f"ipc://{tmp_path}/x", lambda _: Welcome(role="cloud", epoch=1))
        talker = threading.Thread(target=talk)
        talker.start()
        try:
            with Caller(f"ipc://{tmp_path}/x", WAIT_S) as caller, pytest.raises(DeadlineExceeded):
                caller.ask(StatusRequest(request=bytes(16)), Status, wait_s=0.5)
        finally:
            ended.set()
            talker.join(WAIT_S)
