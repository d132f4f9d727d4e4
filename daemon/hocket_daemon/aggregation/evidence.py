"""Whether anything that was read is about the question: told before an answer that may be invented."""

from __future__ import annotations

from collections.abc import Callable

from hocket_bus.messages import Begin, Passages, Ready

_CALIBRATED = "cosine:"  # what scorers are called whose scores the bound is for


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
        found = [(own.scorer, passage.score) for passage in own.passages]
        if ready is not None and ready.documents and not alone:
            found.append((ready.scorer, ready.best))
        if not found or not all(scorer.startswith(_CALIBRATED) for scorer, _ in found):
            return
        best = max(score for _, score in found)
        if best < self._least:
            self._tell(
                "probably not in your documents, so the answer may be invented: the nearest passage matches by "
                f"{best:.2f}, less than {self._least:g}"
            )
