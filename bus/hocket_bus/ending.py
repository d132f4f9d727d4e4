"""Forced exit of a daemon that was told to end, in case its threads are blocked.

A signal's handler runs on the main thread, which may never come to it: a tokenizer or a template loops there, or native
code does not return. A thread of its own hears of the signal all the same, and ends the process once its time is up.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from math import inf

import structlog

END_S = 5.0  # after a signal that the main loop does not take, and after the last that it has to do
FORCED = 1  # the exit status
_ENDS = (signal.SIGTERM, signal.SIGINT)
_NAMED = 0  # no signal's number: another moment was named

log = structlog.get_logger(__name__)


class Ending:
    """A watchdog of the process's end: it forces an end that does not come. Made once, on the main thread."""

    def __init__(self) -> None:
        self._until_s = self._named_s = inf
        self._received, self._received_at = os.pipe()
        os.set_blocking(self._received_at, False)
        signal.set_wakeup_fd(self._received_at, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, name="ending", daemon=True).start()

    def by(self, moment_s: float) -> None:
        """Set the limit to END_S after `moment_s` on the monotonic clock; the main loop calls it as it ends."""
        self._named_s = moment_s + END_S
        os.write(self._received_at, bytes([_NAMED]))

    def _watch(self) -> None:
        """Read signals and the main loop's new limits in their order, and end the process when the time is up."""
        poll = select.poll()
        poll.register(self._received, select.POLLIN)
        while (left_s := self._until_s - time.monotonic()) > 0:
            if poll.poll(None if left_s == inf else 1e3 * left_s):
                for number in os.read(self._received, 64):
                    self._hear(number)
        log.error("ended by force", why=f"it did not shut down within {END_S:g} s")
        sys.stderr.flush()
        os._exit(FORCED)

    def _hear(self, number: int) -> None:
        if number == _NAMED:
            self._until_s = self._named_s
        elif number in _ENDS:
            self._until_s = min(self._until_s, time.monotonic() + END_S)
