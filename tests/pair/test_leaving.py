"""A client that leaves, or vanishes, in the middle of its stream: nothing goes on for nobody."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Pair, pair

from processes import guarded

LONG = {"seed": 2, "max_tokens": 900, "ignore_eos": True, "documents": 1}
SOON_S = 20.0  # much less than the answer takes, on any machine


@pytest.fixture
def slow(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    """A pair that would write for more than a minute, and lets go of clients and devices after a second of silence."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.start_cloud(model=made.model("cloud", hold_decode_s=0.1), silence_s=1.0)
        made.start_device(model=made.model("device", hold_decode_s=0.1), client_silence_s=1.0)
        yield made


def wait_idle(made: Pair) -> None:
    """Until neither side has anything in work."""
    assert made.device is not None
    assert made.cloud is not None
    deadline = time.monotonic() + SOON_S
    while made.device.answers or len(made.device.admission) or made.cloud._sessions:
        assert time.monotonic() < deadline, "somebody still works for a client that left"
        time.sleep(0.05)


@pytest.mark.parametrize("how", ["cancel", "close", "break"])
def test_a_client_that_leaves_ends_its_answer_on_both_sides(slow: Pair, how: str) -> None:
    """By cancelling, by closing its connection, and when its own program breaks off the stream's reading."""
    client = slow.client()
    stream = client.ask("mira?", **LONG)
    next(iter(stream))
    assert slow.device is not None
    assert len(slow.device.answers) == 1
    if how == "cancel":
        stream.cancel()
    elif how == "close":
        client.close()
    else:
        stream._close()
    wait_idle(slow)
    assert not slow.device.answers


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_client_that_vanishes_is_let_go(slow: Pair, how: signal.Signals) -> None:
    """Without a word: its answer ends after its silence."""
    program = "import sys; from hocket_client import Client\nwith Client(sys.argv[1]) as client:\n"
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
    time.sleep(2.5)
    assert [token.step for token in tokens] == list(range(1, 40))


def test_a_vanished_device_frees_its_session_on_the_cloud(slow: Pair) -> None:
    """A device that closes its sockets in the middle, without an End."""
    stream = slow.client().ask("mira?", **LONG)
    next(iter(stream))
    assert slow.device is not None
    assert slow.cloud is not None
    assert slow.cloud._sessions
    device = slow.device

    def vanish() -> None:
        device.bus.close(0)
        device._end_within(0)

    device.bus.post(vanish)
    deadline = time.monotonic() + SOON_S
    while slow.cloud._sessions:
        assert time.monotonic() < deadline
        time.sleep(0.05)
