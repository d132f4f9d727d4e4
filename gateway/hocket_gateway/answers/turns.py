"""Turns for questions until their first token: while several people ask, each has one question there at a time.

A model reads one prompt after another, in the order in which they came. So a person with many delays all who come
after. A person who asks alone may have any number: one is searched for while another is read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from ..http.refusals import Refusal

TOGETHER_S = 10.0  # behind a question its person is one of those who ask
WAIT_S = 30.0


def nothing() -> None:
    """Do nothing: there is no turn to end."""


class Turns:
    """The turns of all people, by name."""

    def __init__(self) -> None:
        self._asked_s: dict[str, float] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def enter(self, name: str) -> Callable[[], None]:
        """Wait for a turn; return what ends it, which may be called repeatedly. Raises Refusal if none came in time."""
        self._asked_s[name] = time.monotonic()
        if not self._is_among_others(name):
            return nothing
        lock = self._locks.setdefault(name, asyncio.Lock())
        try:
            async with asyncio.timeout(WAIT_S):
                await lock.acquire()
        except TimeoutError as error:
            text = "earlier questions of this key are still being sent"
            raise Refusal(429, text, "ask fewer at once", "busy", retry_after_s=1.0) from error
        return _once(lock.release)

    def _is_among_others(self, name: str) -> bool:
        since_s = self._asked_s[name] - TOGETHER_S
        return any(asked_s > since_s for other, asked_s in self._asked_s.items() if other != name)


def _once(call: Callable[[], None]) -> Callable[[], None]:
    left = [call]
    return lambda: left.pop()() if left else None
