"""The reading of a chunk, whoever does it: the rules here, or an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol

from ..text.phrases import mentions

RULES = "rules"
BATCH_CHUNKS = 512  # to find the next ones all that are left are put in order

By = Literal["extractor", "rules: no answer", "rules: bad answer"]  # the latter two in an engine's place


class Reading(NamedTuple):
    """The entities of a chunk as they are spelled, pairs of them that it relates to each other, and who found them."""

    mentions: Sequence[str]
    relations: Sequence[tuple[str, str]] = ()
    by: By = "extractor"


class Extractor(Protocol):
    """A reader of chunks. Under another `name` everything is read anew."""

    name: str

    @property
    def at_once(self) -> int:
        """Return how many chunks are read before the results are stored."""

    @property
    def fact(self) -> str:
        """A line for `hocket status`."""

    def read(self, text: str, interrupted: Callable[[], bool]) -> Reading | None:
        """Return what a chunk says, or None where the reading was `interrupted`."""


class Rules:
    """An Extractor that goes by rules of writing alone."""

    name = RULES
    at_once = BATCH_CHUNKS
    fact = "by rules"

    def read(self, text: str, _: Callable[[], bool]) -> Reading:
        """Return what a chunk says."""
        return Reading(mentions(text))
