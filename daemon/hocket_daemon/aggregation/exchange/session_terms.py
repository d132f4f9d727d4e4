"""The terms of a session, and what its parties propose and confirm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hocket_bus.messages import Method, Source

from ...engine.sampling.distribution import Distribution
from ...engine.sampling.drawing import Rule
from ...engine.text.word_draw import Proposal
from ..steering import Guard
from .schedule import Scheduler

Law: TypeAlias = Distribution | Proposal  # of a step in one party's eyes: a token's distribution, or a word drawn
Judges = Literal["both", "leader"]  # both sides of a pair, each from all drafts; or the asked device alone


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A draft of one party for step `step`, conditioned on the tokens that `prefix` digests."""

    step: int
    prefix: int
    token: int  # or in a session of words a word's number
    distribution: Law
    log_h: float | None
    decode_s: float


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A target token and who proposed it: `own` and `remote` say whose draft it equals; `drafted` are their names."""

    step: int
    token: int
    source: Source
    own: bool
    remote: bool
    drafted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """The terms that all parties of a session agree on, whether this one shares its drafts, and how it guards itself.

    `most_say`, in (0, 1], bounds the share of any one of several other parties. They are weighed again every
    `reweigh_every` steps; None: never.
    """

    session: bytes
    rule: Rule
    method: Method
    eos: frozenset[int]
    max_tokens: int
    scheduler: Callable[[], Scheduler] = Scheduler
    shares_drafts: bool = True
    guard: Guard = "off"
    logprobs: int | None = None  # of how many of the likeliest tokens, beside each confirmed one; None: of none
    judges: Judges = "both"
    most_say: float = 1.0
    reweigh_every: int | None = None
    by_coin: bool = False  # a coin names the party whose word is the target
    is_constrained: bool = False  # drafts are of the tokens that a grammar allows


def tokens_of(law: Law) -> Distribution:
    """Return a party's law of a step in a session of tokens."""
    assert isinstance(law, Distribution)
    return law
