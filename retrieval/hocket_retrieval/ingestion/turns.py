"""Turns of several documents at having passages embedded, so that a small one waits for no large one."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from ..stores.records import Document
from .job import Job
from .waiting import Queued

SHARE = 32  # chunks of a document, each time it is its turn


@dataclass(frozen=True, slots=True)
class Draft:
    """A document on its way into the store: where its chunks are in its text, and the digests of these.

    `notice` is a line about what of its file was not read.
    """

    file: Queued
    job: Job
    document: Document
    spans: list[tuple[int, int]]
    digests: list[bytes]
    notice: str = ""

    def chunk(self, number: int) -> str:
        """The text of a chunk."""
        start, end = self.spans[number]
        return self.document.text[start:end]


class Share(NamedTuple):
    """Chunks `first` to `last - 1` of a draft."""

    draft: Draft
    first: int
    last: int

    @property
    def is_last(self) -> bool:
        """Tell whether the draft has no chunk after these."""
        return self.last == len(self.draft.spans)


class Turns:
    """Drafts whose chunks are still to be taken."""

    def __init__(self) -> None:
        self._waiting: deque[Share] = deque()  # what is left of each

    def add(self, draft: Draft) -> None:
        """Let a draft take turns, too."""
        self._waiting.append(Share(draft, 0, len(draft.spans)))

    def take(self, limit: int) -> list[Share]:
        """Take at most `limit` chunks, SHARE of each draft in turn; empty when there are none."""
        taken: list[Share] = []
        while self._waiting and limit > 0:
            draft, first, last = self._waiting.popleft()
            until = min(first + SHARE, first + limit, last)
            taken.append(Share(draft, first, until))
            limit -= until - first
            if until < last:
                self._waiting.append(Share(draft, until, last))
        return taken

    def drop(self, draft: Draft) -> None:
        """Drop the chunks that are left of a draft."""
        self._waiting = deque(share for share in self._waiting if share.draft is not draft)

    def clear(self) -> None:
        """Forget all."""
        self._waiting.clear()
