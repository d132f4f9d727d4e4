"""A sandbox that parses documents in a process with limits of memory, processor time and time, and no way out.

The process, sandboxed.py, is kept for the next document and begun anew after a breach. It gets the bytes of a file
over a pipe, since it can open none. What it answers is checked like anything that comes from outside.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog

from hocket_bus.errors import Cancelled, Unavailable

from ..errors import DocumentError
from ..stores.records import Outline
from .frames import Asked, Outgrown, ReadDocument, Refused, Started, TimedPipe, end, pipe_of, read_frame, write_frame
from .limits import READING, Limits
from .outline import is_sound
from .readers import shown

PATIENCE = 2.25  # times as long as its processor time a file may take where others want the processors, too
_START_S = 60.0
_KEPT = ("PYTHONPATH", "PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL")  # of the environment; no credentials
_FRUGAL = {"MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}  # more would take most of the addresses it may have
_ANSWER = msgspec.msgpack.Decoder(ReadDocument | Refused | Outgrown)

log = structlog.get_logger(__name__)


class Parsed(NamedTuple):
    """A document's title, its text, where its passages start and end, and a line about what of it is not read.

    `outline` says where in the file the text stands.
    """

    title: str
    text: str
    spans: list[tuple[int, int]]
    notice: str
    outline: Outline


class Scanned(DocumentError):
    """A document that has pages whose text must be recognised. `parsed` is what it says without them, if anything."""

    def __init__(self, text: str, remedy: str = "", parsed: Parsed | None = None) -> None:
        super().__init__(text, remedy)
        self.parsed = parsed


class Sandbox:
    """A process to read with, started when it is first needed, which keeps to the `limits`.

    `read` one at a time, always on the same thread, since the process ends with it; `close` on any.
    """

    def __init__(self, limits: Limits = READING) -> None:
        self.limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._changing = threading.Lock()
        self._reading = threading.Lock()  # whoever closes the pipes waits until they are read no more
        self._closed = False

    def read(self, path: Path, data: bytes, words: int) -> Parsed:
        """The document in `data`, the bytes of the file at `path`. Raises DocumentError, Cancelled, Unavailable.

        It is the DocumentError Scanned where text recognition is installed, and has something to do.
        """
        limit_s = self.limits.processor_s(len(data))
        asked = msgspec.msgpack.encode(Asked(str(path), len(data), words, limit_s))
        with self._reading:
            process = self._begun()
            overdue, frame = _exchange(process, asked, data, PATIENCE * limit_s)
        try:
            answer = _ANSWER.decode(frame) if frame is not None else None
        except msgspec.DecodeError:
            answer = None
        if answer is None or isinstance(answer, Outgrown) or answer.worn:
            self._end()
        if isinstance(answer, ReadDocument):
            return _checked(path, answer)
        if isinstance(answer, Refused):
            raise (Scanned if answer.scanned else DocumentError)(answer.text, answer.remedy)
        if self._closed:
            raise Cancelled("ingestion was stopped", "it resumes at the next start")
        if answer is not None:
            raise DocumentError(
                f"{shown(path)}: needs more than {self.limits.memory_bytes >> 20} MiB to be read", "split it"
            )
        if overdue or process.returncode == -signal.SIGXCPU:
            raise DocumentError(f"{shown(path)}: takes more than {limit_s:.0f} s to be read", "split it")
        raise _broken(path)

    def rest(self) -> None:
        """End the process, until there is something to read again."""
        with self._reading:
            self._end()

    def close(self) -> None:
        """End the process, and a `read` under way by Cancelled."""
        self._closed = True
        with self._changing:
            if self._process:
                self._process.kill()
        with self._reading:
            self._end()

    def _begun(self) -> subprocess.Popen[bytes]:
        with self._changing:
            if self._closed:
                raise Cancelled("ingestion was stopped", "it resumes at the next start")
            if self._process is None or self._process.poll() is not None:
                self._process = _start(self.limits)
            return self._process

    def _end(self) -> None:
        with self._changing:
            if self._process:
                end(self._process)
            self._process = None


def _start(limits: Limits) -> subprocess.Popen[bytes]:
    """Start a process, and wait until it has loaded its parsers. Raises Unavailable."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-P",
            "-m",
            "hocket_retrieval.parsing.sandboxed",
            *(["--recognise"] if limits.recognises else []),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in _KEPT if name in os.environ} | _FRUGAL,
        cwd="/",
        bufsize=0,
    )
    ready = None
    with suppress(TimeoutError):
        ready = read_frame(TimedPipe(pipe_of(process.stdout), time.monotonic() + _START_S))
    if ready is None:
        end(process)
        raise Unavailable("the process that reads documents does not start", "free some memory")
    started = msgspec.msgpack.decode(ready, type=Started | Refused)
    if isinstance(started, Refused):
        end(process)
        raise Unavailable(started.text, started.remedy)
    if started.unconfined:
        _warn_once(started.unconfined)
    return process


@cache
def _warn_once(why: str) -> None:
    log.warning("the process that reads documents could do more than it should", why=why)


def _exchange(process: subprocess.Popen[bytes], asked: bytes, data: bytes, wait_s: float) -> tuple[bool, bytes | None]:
    """Send a request; return whether `wait_s` passed, and the answer: None if the process ended or has to be ended."""
    until_s = time.monotonic() + wait_s
    try:
        write_frame(TimedPipe(pipe_of(process.stdin), until_s), asked, data)
        return False, read_frame(TimedPipe(pipe_of(process.stdout), until_s))
    except TimeoutError:
        return True, None
    except OSError:
        return False, None


def _checked(path: Path, reading: ReadDocument) -> Parsed:
    """Check that an answer is what a sound process says, and return it. Raises DocumentError."""
    borders = reading.borders
    grows = all(a < b if number % 2 == 0 else a <= b for number, (a, b) in enumerate(pairwise(borders)))
    if len(borders) % 2 or not grows or (borders and not 0 <= borders[0] < borders[-1] <= len(reading.text)):
        raise _broken(path)
    if not is_sound(reading.outline, len(reading.text)):
        raise _broken(path)
    spans = list(zip(borders[::2], borders[1::2], strict=True))
    parsed = Parsed(reading.title, reading.text, spans, reading.notice, tuple(reading.outline))
    if reading.scanned:
        raise Scanned(f"{shown(path)}: has pages without text", parsed=parsed)
    return parsed


def _broken(path: Path) -> DocumentError:
    return DocumentError(f"{shown(path)}: crashes the program that reads it", "open and save it again")
