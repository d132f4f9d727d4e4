"""Recently ended streams, stored so that a reader can resume: for a time, and up to so many bytes together."""

from __future__ import annotations

from collections import deque

from .reply import Stream

KEEP_S = 60.0
ENDED_LOGS = 16  # full logs that all of them may keep together
STREAM_BYTES = 2_048  # what a stream weighs at least


class Ended:
    """The streams that have ended. Beyond the limit the oldest of the key with most bytes goes; a fair share stays."""

    def __init__(self, log_bytes: int) -> None:
        """Set the limit for all streams; one stream may store `log_bytes`."""
        self._limit = ENDED_LOGS * log_bytes
        self._lines: dict[str, deque[Stream]] = {}  # by key, the oldest first
        self._weights: dict[str, int] = {}
        self._by_request: dict[bytes, Stream] = {}

    def put(self, stream: Stream) -> None:
        """Add a stream that has just ended."""
        self._by_request[stream.request] = stream
        self._lines.setdefault(stream.user, deque()).append(stream)
        self._weights[stream.user] = self._weights.get(stream.user, 0) + _weight(stream)

    def get(self, request: bytes) -> Stream | None:
        """Return the stream of `request`, if it is stored."""
        return self._by_request.get(request)

    def forget(self, now_s: float) -> None:
        """Drop streams that ended long enough ago, and the oldest ones while all of them store too much."""
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
