"""The making of a side's drafts, from what its model gives after the side's own tokens of the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from ..sampling.heads import Contrast, Heads, Made
from ..text.word_draw import DrawnWord, Proposal

Own: TypeAlias = Made | DrawnWord


class OwnDraft(Protocol):
    """A draft that is being made, of one step of the model or several."""

    @property
    def ids(self) -> list[int]:
        """The own tokens behind which the next step of the model decodes."""

    @property
    def bound(self) -> Proposal | None:
        """The draft as far as it is made, which has no more than this probability; None where that says nothing."""

    def known(self, places: Sequence[int]) -> Heads | None:
        """Return what follows `ids` in the rows at `places`, where an earlier step has told it."""

    def add(self, heads: Heads, weights: list[float], contrast: Contrast | None) -> Own | None:
        """Take what follows `ids`; return the draft once it is made. On the compute thread."""


class OwnDrafts(Protocol):
    """The drafts of one session on one side, and the side's own tokens and text of the session's steps."""

    @property
    def passes(self) -> float:
        """The steps of the model that a draft takes, on average."""

    def prepare(self) -> None:
        """Make what drafts need, before the first. On the compute thread: it may take a second."""

    def count(self, passes: int) -> None:
        """Count the steps of the model that a draft has taken."""

    def tokens(self, steps: Sequence[int]) -> list[int]:
        """Return the side's own tokens of an answer's steps."""

    @property
    def text(self) -> Callable[[list[int]], str]:
        """The function that turns an answer's steps into text."""

    def begin(self, steps: Sequence[int]) -> OwnDraft:
        """Begin the draft of the step after `steps`."""
