"""Drafts that obey a grammar: of each row's distribution the allowed tokens alone, as likely as they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hocket_bus.errors import HocketError

from ..sampling.heads import Contrast, Heads
from ..text.word_draw import Proposal
from .grammar import Grammar
from .own_drafts import Own, OwnDraft, OwnDrafts


class ConstrainedDraft:
    """A draft whose tokens a grammar allows. One that it alone allows takes no step of the model."""

    def __init__(self, draft: OwnDraft, grammar: Grammar, mass: float) -> None:
        self._draft = draft
        self._grammar = grammar
        self._mass = mass

    @property
    def ids(self) -> list[int]:
        """The own tokens behind which the next step of the model decodes."""
        return self._draft.ids

    @property
    def bound(self) -> Proposal | None:
        """The draft as far as it is made."""
        return self._draft.bound

    def known(self, places: Sequence[int]) -> Heads | None:
        """Return what follows `ids` in the rows at `places`, where an earlier step has told it, or the grammar does."""
        try:
            only = self._grammar.only(self.ids) if places else None
        except HocketError:  # `add` raises it again, where the session is told
            return None
        if only is None:
            return self._draft.known(places)
        return Heads(np.ones((len(places), 1), np.float32), np.full((len(places), 1), only, np.int32))

    def add(self, heads: Heads, weights: list[float], contrast: Contrast | None) -> Own | None:
        """Take what follows `ids`; return the draft once it is made."""
        return self._draft.add(heads.among(self._grammar.allowed(self.ids), self._mass), weights, contrast)


class ConstrainedDrafts:
    """The drafts of a session whose answer obeys a grammar."""

    def __init__(self, drafts: OwnDrafts, grammar: Grammar, mass: float) -> None:
        """Constrain `drafts`; of the allowed tokens of each row those with `mass` of their sum are drafted from."""
        self._drafts = drafts
        self._grammar = grammar
        self._mass = mass

    @property
    def passes(self) -> float:
        """The steps of the model that a draft takes, on average."""
        return self._drafts.passes

    def prepare(self) -> None:
        """Compile the grammar, and make what the drafts need. Raises BadRequest."""
        self._drafts.prepare()
        self._grammar.prepare()

    def count(self, passes: int) -> None:
        """Count the steps of the model that a draft has taken."""
        self._drafts.count(passes)

    def tokens(self, steps: Sequence[int]) -> list[int]:
        """Return the side's own tokens of an answer's steps."""
        return self._drafts.tokens(steps)

    @property
    def text(self) -> Callable[[list[int]], str]:
        """The function that turns an answer's steps into text."""
        return self._drafts.text

    def begin(self, steps: Sequence[int]) -> OwnDraft:
        """Begin the draft of the step after `steps`."""
        return ConstrainedDraft(self._drafts.begin(steps), self._grammar, self._mass)
