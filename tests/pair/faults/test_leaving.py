"""A client that leaves, or vanishes, in the middle of its stream: nothing goes on for nobody."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest
from harness import Pair, pair

from hocket_bus.messages import Begin, Hello, Message, Prompt, Ready, Sampling, Sync
from hocket_bus.sockets import Bus, Event, LinkUp, Received
from hocket_daemon.aggregation.mode import AggregationMode
from hocket_daemon.serving.sessions.sessions import place_of_session
from processes import guarded
from waiting import WAIT_S

LONG = {"seed": 2, "max_tokens": 900, "ignore_eos": True, "documents": 1}
BEGIN = Begin(
    session=bytes(16),
    epoch=0,
    prompt=Prompt(query="kala?"),
    task="answer",
    sampling=Sampling(max_tokens=20, seed=1),
    method="coupled",
    documents=1,
    eos=[],
    weights="static",
    reweigh_every=1,
    relevance_temperature=0.1,
    wire_mass=0.98,
)
SOON_S = 40.0  # much less than the answer takes, on any machine


@pytest.fixture
def slow(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    """A pair that would write for more than a minute, and lets go of who is silent for two seconds."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.start_cloud(hold_s=0.1, silence_s=2.0)
        made.start_device(hold_s=0.1, client_silence_s=2.0)
        yield made


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON_S
    while not holds():
        assert time.monotonic() < deadline, "somebody still works for a client that left"
        time.sleep(0.05)


def wait_idle(made: Pair) -> None:
    """Until neither side has anything in work."""
    assert made.device is not None
    assert made.cloud is not None
    device, cloud = made.device, made.cloud
    until(lambda: not (device.sessions.led or len(device.services.admission) or cloud.sessions.followed))


@pytest.mark.slow
def test_a_device_that_still_reads_keeps_its_session(slow: Pair) -> None:
    """Its link lives, though it says nothing of the session; once it has spoken, silence ends the session."""
    assert slow.cloud is not None
    cloud, inbox = slow.cloud, SimpleQueue[Event]()

    def got(kind: type[Message]) -> None:
        while not (isinstance(event := inbox.get(timeout=WAIT_S), Received) and isinstance(event.message, kind)):
            pass

    with Bus(inbox.put) as bus:
        hello = Hello(role="device", tokenizer=cloud.services.model.fingerprint)
        link = bus.dial(slow.endpoint("cloud"), hello, takes=AggregationMode.answers)
        assert isinstance(inbox.get(timeout=WAIT_S), LinkUp)
        for _ in range(2):  # a device that connects anew is told again
            link.send(BEGIN)
            got(Ready)
        session = cloud.sessions.followed[BEGIN.session]
        for _ in range(3):
            received_s = session.received_s
            until(lambda received_s=received_s: session.received_s > received_s)  # type: ignore[misc]
        assert cloud.sessions.followed == {BEGIN.session: session}
        link.send(Sync(session=BEGIN.session, epoch=0, confirmed=0, digest=0))
        got(Sync)
        until(lambda: not cloud.sessions.followed)


@pytest.mark.slow
def test_an_answer_that_has_ended_does_not_ask_the_cloud_again(
    tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever happens to the link in the very turn in which it ended."""
    entered: list[object] = []
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.start_cloud()
        made.start_device(hold_s=0.05)
        assert made.device is not None
        assert made.cloud is not None
        enter = made.cloud.services.admission.enter

        def note(key: Hashable, user: str, rows: int, now_s: float) -> None:
            entered.append(key)
            enter(key, user, rows, now_s)

        monkeypatch.setattr(made.cloud.services.admission, "enter", note)
        client, options = made.client(), {"max_tokens": 40, "ignore_eos": True, "deadline_s": WAIT_S}
        stream = client.ask("mira?", **options)
        next(iter(stream))
        (led,) = made.device.sessions.led.values()
        session = led.session
        stream.result()
        for late in (lambda: session.on_peer(True, None), lambda: session.tick(time.monotonic() + 1e6)):
            made.device.bus.post(late)
        client.ask("kala?", **options).result()
    assert entered.count(place_of_session(session.id)) == 1


@pytest.mark.parametrize("how", ["cancel", "close", "drop"])
def test_a_client_that_leaves_ends_its_answer_on_both_sides(slow: Pair, how: str) -> None:
    """By cancelling, by closing its connection, and by dropping the stream."""
    client = slow.client()
    stream = client.ask("mira?", **LONG)
    next(iter(stream))
    assert slow.device is not None
    assert len(slow.device.sessions.led) == 1
    if how == "cancel":
        stream.cancel()
    elif how == "close":
        client.close()
    else:
        del stream
    wait_idle(slow)
    assert not slow.device.sessions.led


@pytest.mark.parametrize(
    "how",
    [pytest.param(signal.SIGKILL, id="killed"), pytest.param(signal.SIGSTOP, id="stopped", marks=pytest.mark.slow)],
)
def test_a_client_that_vanishes_is_let_go(slow: Pair, how: signal.Signals) -> None:
    """Without a word: its answer ends after its silence."""
    program = "import sys; from hocket_client import Client\nwith Client(sys.argv[1], connect_s=300) as client:\n"
    program += f"    for token in client.ask('mira?', **{LONG!r}): print(token.step, flush=True)"
    command = [sys.executable, "-c", program, slow.endpoint("device")]
    with guarded(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(how)
        wait_idle(slow)
        process.kill()


def test_a_reader_that_takes_its_time_keeps_its_answer(slow: Pair) -> None:
    """Its program does something else for longer than the silence allowed, but its connection lives."""
    stream = slow.client().ask("mira?", **LONG | {"max_tokens": 40})
    tokens = iter(stream)
    next(tokens)
    time.sleep(4.0)
    assert [token.step for token in tokens] == list(range(1, 40))


def test_a_vanished_device_frees_its_session_on_the_cloud(slow: Pair) -> None:
    """A device that closes its sockets in the middle, without an End."""
    stream = slow.client().ask("mira?", **LONG)
    next(iter(stream))
    assert slow.device is not None
    assert slow.cloud is not None
    assert slow.cloud.sessions.followed
    device = slow.device

    def vanish() -> None:
        device.bus.close(0)
        device.end_within(0)

    device.bus.post(vanish)
    deadline = time.monotonic() + SOON_S
    while slow.cloud.sessions.followed:
        assert time.monotonic() < deadline
        time.sleep(0.05)
