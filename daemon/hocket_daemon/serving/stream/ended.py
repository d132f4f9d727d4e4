"""Streams that ended a short while ago, kept so that a reader can resume: for a time, and so many bytes together."""

from __future__ import annotations

from collections import deque

from .reply import Stream

KEEP_S = 60.0
ENDED_LOGS = 16  # full logs that all of them may keep together
STREAM_BYTES = 2_048  # what a stream weighs at least


class Ended:
    """When they weigh too much, the oldest of the key that keeps most goes: who keeps a fair share, keeps it."""

    def __init__(self, log_bytes: int) -> None:
        """`log_bytes` is what one stream may keep."""
        self._limit = ENDED_LOGS * log_bytes
        self._lines: dict[str, deque[Stream]] = {}  # by key, the oldest first
        self._weights: dict[str, int] = {}
        self._by_request: dict[bytes, Stream] = {}

    def put(self, stream: Stream) -> None:
        """Take one that has just ended."""
        self._by_request[stream.request] = stream
        self._lines.setdefault(stream.user, deque()).append(stream)
        self._weights[stream.user] = self._weights.get(stream.user, 0) + _weight(stream)

    def get(self, request: bytes) -> Stream | None:
        """The stream of `request`, if it is kept."""
        return self._by_request.get(request)

    def forget(self, now_s: float) -> None:
        """Let go of those that ended long enough ago, and of what weighs too much."""
        for user, line in list(self._lines.items()):
            while line and line[0].ended_s is not None and now_s - line[0].ended_s > KEEP_S:
                self._drop(user)
        while sum(self._weights.values()) > self._limit:
            self._drop(max(self._weights, key=lambda user: self._weights[user]))

    def _drop(self, user: str) -> None:
        stream = self._lines[user].popleft()
        del self._by_request[stream.request]
        self._weights[user] -= _weight(stream)
        if not self._lines[user]:
            del self._lines[user], self._weights[user]


def _weight(stream: Stream) -> int:
    return max(STREAM_BYTES, stream.held_bytes)
