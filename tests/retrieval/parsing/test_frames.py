"""Laws of a pipe with a deadline: all arrives, however slowly; what does not come in time is an error."""

import os
import threading
import time

import pytest

from hocket_retrieval.parsing.frames import TimedPipe
from waiting import WAIT_S


@pytest.fixture
def ends():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as source, os.fdopen(writing, "wb", buffering=0) as sink:
        yield source, sink


@pytest.mark.parametrize("size", [0, 1, 8, 1 << 22])
def test_all_arrives(ends, size):
    """More than a pipe holds at a time, too."""
    until_s, data = time.monotonic() + WAIT_S, os.urandom(size)
    writing = threading.Thread(target=TimedPipe(ends[1], until_s).write, args=(data,))
    writing.start()
    assert TimedPipe(ends[0], until_s).read(size) == data
    writing.join(WAIT_S)


def test_what_comes_before_the_end_is_given(ends):
    """And nothing behind it."""
    pipe = TimedPipe(ends[0], time.monotonic() + WAIT_S)
    ends[1].write(b"abc")
    ends[1].close()
    assert pipe.read(8) == b"abc"
    assert pipe.read(8) == b""


def test_nothing_is_waited_for_behind_the_deadline(ends):
    """Neither to read nor to write; what is there already is still read."""
    now = time.monotonic()
    ends[1].write(b"abc")
    assert TimedPipe(ends[0], now).read(3) == b"abc"
    with pytest.raises(TimeoutError):
        TimedPipe(ends[0], now).read(1)
    with pytest.raises(TimeoutError):
        TimedPipe(ends[1], now).write(bytes(1 << 22))


def test_nobody_writes_to_an_end_that_is_gone(ends):
    """It is an error at once."""
    ends[0].close()
    with pytest.raises(BrokenPipeError):
        TimedPipe(ends[1], time.monotonic() + WAIT_S).write(b"abc")
