"""The embedding of many texts in a process of its own, bulk_worker.py: started when needed, ended by `rest`.

It ends with this one, too: it then reads the end of its input; and with the object that began it.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket_bus.errors import Unavailable

from ..parsing.frames import TimedPipe, end, pipe_of, read_frame, write_frame

_START_S = 60.0
_AT_ONCE = 1_024  # texts of a request
_PATIENCE_S, _TEXT_S = 60.0, 2.0  # for one request, and more for each of its texts


class Bulk:
    """A process that embeds texts with the BERT of a folder. May be used by several threads: one waits for another."""

    def __init__(self, folder: Path, threads: int, precision: str) -> None:
        self._command = [sys.executable, "-P", "-m", "hocket_retrieval.embedding.bulk_worker"]
        self._command += [str(folder.absolute()), str(threads), precision]
        self._process: subprocess.Popen[bytes] | None = None
        self._ending: weakref.finalize[..., Bulk] | None = None
        self._asking = threading.Lock()

    @property
    def pid(self) -> int | None:
        """Return the number of the process, None while there is none."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def vectors(self, texts: Sequence[str], width: int) -> NDArray[np.float32]:
        """Return the vectors of texts, each of length 1, [texts, width]. Raises Unavailable."""
        found = [self._some(texts[first : first + _AT_ONCE], width) for first in range(0, len(texts), _AT_ONCE)]
        return np.concatenate(found)

    def _some(self, texts: Sequence[str], width: int) -> NDArray[np.float32]:
        with self._asking:
            frame = self._answer(texts)
            if frame is None or len(frame) != 4 * len(texts) * width:
                self._end()
                raise Unavailable("the process that embeds many texts ended", "if this happens again, free some memory")
        return np.frombuffer(frame, np.float32).reshape(len(texts), width)

    def rest(self) -> None:
        """End the process, until many texts come again."""
        with self._asking:
            self._end()

    def _answer(self, texts: Sequence[str]) -> bytes | None:
        """Return the frame that answers a request; None where the process has ended. Raises Unavailable."""
        process = self._begun()
        until_s = time.monotonic() + _PATIENCE_S + _TEXT_S * len(texts)
        try:
            write_frame(TimedPipe(pipe_of(process.stdin), until_s), msgspec.msgpack.encode(list(texts)))
            return read_frame(TimedPipe(pipe_of(process.stdout), until_s))
        except TimeoutError:
            self._end()
            raise Unavailable("the process that embeds many texts takes too long") from None
        except OSError:
            return None

    def _begun(self) -> subprocess.Popen[bytes]:
        if self.pid is None:
            self._end()
            self._process = _started(self._command)
            self._ending = weakref.finalize(self, end, self._process)
        assert self._process is not None
        return self._process

    def _end(self) -> None:
        if self._ending is not None:
            self._ending()
        self._process = self._ending = None


def _started(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a process, and wait until it has loaded the model. Raises Unavailable."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/", bufsize=0
    )
    try:
        failure = read_frame(TimedPipe(pipe_of(process.stdout), time.monotonic() + _START_S))
    except TimeoutError:
        failure = b"it takes too long"
    if failure == b"":
        return process
    end(process)
    reason = failure.decode(errors="replace") if failure else "it ended"
    raise Unavailable(f"the process that embeds many texts does not start: {reason}", "free some memory")
