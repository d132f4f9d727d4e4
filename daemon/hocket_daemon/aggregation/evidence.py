"""When the reader is told that nothing which either side has read seems to be about the question."""

from __future__ import annotations

from collections.abc import Callable

from hocket_bus.messages import Begin, Passages, Ready

from ..serving.evidence import doubt, scores_of


class Evidence:
    """Looks once, when all sides that take part have searched: the nearest passage of either decides."""

    def __init__(self, begin: Begin, least: float, tell: Callable[[str], None]) -> None:
        """`least` is a score in [-1, 1]; the reader hears of less by `tell`."""
        self._begin, self._least, self._tell = begin, least, tell
        self._looked = begin.task != "answer" or begin.documents == 0

    def look(self, own: Passages | None, ready: Ready | None, *, alone: bool) -> None:
        """`ready` is what the other side has said, if anything; `alone` says that it has no part in the answer."""
        if self._looked or own is None or (ready is None and not alone):
            return
        self._looked = True
        found = scores_of(own)
        if ready is not None and ready.documents and not alone:
            found.append((ready.scorer, ready.best))
        if line := doubt(found, self._least):
            self._tell(line)
