"""Interruption, between two layers, of a forward pass whose result nobody wants any more (paper §7.1)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence


class Preempted(Exception):
    """An error raised when a pass was interrupted; nothing of its result may be used."""


class Interrupt:
    """A request to stop, set by one thread and heeded by the compute thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._callbacks: list[Callable[[], None]] = []

    def set(self) -> None:
        """Ask for the stop."""
        self._event.set()
        for callback in self._callbacks:
            callback()

    def when_set(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the stop is asked for, on the thread that asks; at once if it was. It may run twice."""
        self._callbacks.append(callback)
        if self.is_set:
            callback()

    @property
    def is_set(self) -> bool:
        """Tell whether the stop was asked for."""
        return self._event.is_set()

    def raise_if_set(self) -> None:
        """Raise Preempted if the stop was asked for."""
        if self._event.is_set():
            raise Preempted

    def wait(self, seconds: float) -> bool:
        """Sleep, at most until the stop is asked for; tell whether it was."""
        return self._event.wait(max(0.0, seconds))


class Together(Interrupt):
    """The interrupt of a batch: set when the interrupts of all its members are."""

    def __init__(self, members: Sequence[Interrupt]) -> None:
        super().__init__()
        self._members = members

    @property
    def is_set(self) -> bool:
        """Tell whether nobody wants the result any more."""
        return all(member.is_set for member in self._members)

    def when_set(self, callback: Callable[[], None]) -> None:
        """Call `callback` once nobody wants the result any more; now, where that is so."""
        for member in self._members:
            member.when_set(lambda: callback() if self.is_set else None)

    def raise_if_set(self) -> None:
        """Raise Preempted if nobody wants the result any more."""
        if self.is_set:
            raise Preempted

    def wait(self, seconds: float) -> bool:
        """Sleep, at most until nobody wants the result any more; tell whether that is so."""
        until_s = time.monotonic() + seconds
        return all(member.wait(until_s - time.monotonic()) for member in self._members)
