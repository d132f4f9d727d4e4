"""Where an answer comes from: the part of each passage in the probability of the tokens that were chosen. Pure.

A token is drawn from one side's distribution, or from a mixture of two sides', each a mixture of its passages'. So
the part of a passage is that of its side, which the device knows, times its part within the side, which only that
side knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from hocket_bus.errors import BadMessage
from hocket_bus.messages import Origin, Passage, Place, Side, Sources, Span, other

from ..engine.sampling.heads import Table
from ..engine.sampling.ranking import UNRANKED, Ranking
from .prefix import PrefixChain
from .reply import UNSOURCED, Sourced

SOURCES_WAIT_S = 2.0  # what the other side gets, beyond a round trip, to tell its sources
MAX_CELLS = 16_384  # of a table of tokens and sources that goes to the reader
Lacks = Callable[[list[int]], list[Span]]  # which words of the text of ids no passage of this side supports
_SCALE = 65_535  # what two bytes hold


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Where one token comes from: this side's part in the mixture, and each row's part within the side, if known.

    `ranking` is the token's in the mixture, where it is known and wanted.
    """

    part: float
    rows: Table | None
    ranking: Ranking = UNRANKED


@dataclass(frozen=True, slots=True, eq=False)
class PeerSources:
    """What the other side says of its passages."""

    places: list[Place]
    rows: Table
    unsupported: Sequence[Span] = ()


def table(traces: Sequence[Trace], passages: int) -> Table:
    """The parts within this side."""
    rows = np.zeros((len(traces), passages))
    for row, trace in zip(rows, traces, strict=True):
        if trace.rows is not None and passages:  # without passages the row is the bare question's
            row[:] = trace.rows
    return rows


def places_of(side: Side, passages: Sequence[Passage]) -> list[Origin]:
    """Where the passages of the asked side stand."""
    return [_own_origin(side, passage) for passage in passages]


def shares_of(trace: Trace, passages: int) -> list[float]:
    """In one token: of each of this side's passages, and of all of the other side's together."""
    rows = trace.rows if trace.rows is not None and len(trace.rows) == passages else np.zeros(passages)
    return [*(trace.part * rows).tolist(), 1.0 - trace.part]


def encode(rows: Table) -> bytes:
    """As it travels, to within 2^-16."""
    return np.rint(rows * _SCALE).astype(">u2").tobytes()


def decode(data: bytes, tokens: int, passages: int) -> Table:
    """The inverse of `encode`. Raises BadMessage for data of another length."""
    if len(data) != 2 * tokens * passages:
        raise BadMessage("sources of the wrong length")
    rows = np.frombuffer(data, ">u2").astype(np.float64).reshape(tokens, passages)
    return np.asarray(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0))


def sources_message(
    session: bytes, chain: PrefixChain, passages: Sequence[Passage], traces: Sequence[Trace], lacks: Lacks
) -> Sources:
    """What this side says of the tokens of `traces`, which are the first of `chain`; `lacks` is told their ids."""
    return Sources(
        session=session,
        tokens=len(traces),
        digest=chain.at(len(traces)),
        places=[place_of(passage) for passage in passages],
        unsupported=lacks(chain.ids[: len(traces)]),
        payload=encode(table(traces, len(passages))),
    )


def peer_sources(message: Sources, chain: PrefixChain) -> PeerSources | None:
    """What the other side says of its passages; None where it has other tokens. Raises BadMessage."""
    if message.tokens > len(chain) or chain.at(message.tokens) != message.digest:
        return None
    rows = decode(message.payload, message.tokens, len(message.places))
    return PeerSources(message.places, rows, message.unsupported)


def sourced(side: Side, passages: Sequence[Passage], traces: Sequence[Trace], reported: PeerSources | None) -> Sourced:
    """The sources of an answer of these tokens, on the side that was asked."""
    if not traces or not (passages or reported):
        return UNSOURCED
    places = reported.places if reported is not None else []
    named = [_own_origin(side, passage) for passage in passages]
    named += [_origin(other(side), place) for place in places]
    named.append(_origin(other(side), Place(document="", ordinal=0)))  # the last column: what nobody told of
    untold = reported is None or bool(reported.places)
    shares = _shares(traces, table(traces, len(passages)), _behind(reported, len(traces)), untold=untold)
    mean = shares.mean(axis=0)
    order = [int(at) for at in np.argsort(-mean, kind="stable") if named[at].document or mean[at] > 0]
    origins = [msgspec.structs.replace(named[at], share=float(mean[at])) for at in order]
    fits = len(traces) * len(order) <= MAX_CELLS
    alone = reported is None and all(trace.part == 1.0 for trace in traces)
    lacked = None if alone else reported.unsupported if reported is not None else ()
    texts = [passage.text for passage in passages]
    return Sourced(origins, shares[:, order].tolist() if fits else [], texts, lacked)


def place_of(passage: Passage) -> Place:
    """Where a passage stands, as it is told."""
    return Place(
        document=passage.document,
        ordinal=passage.ordinal,
        device=passage.device,
        subgraph=passage.subgraph,
        score=passage.score,
    )


def _own_origin(side: Side, passage: Passage) -> Origin:
    """Of a passage found on this side; what another device told is named by its document alone."""
    place = "" if passage.device else passage.place
    return msgspec.structs.replace(_origin(side, place_of(passage)), place=place)


def _origin(side: Side, place: Place) -> Origin:
    return Origin(
        side=side,
        document=place.document,
        ordinal=place.ordinal,
        share=0.0,
        device=place.device,
        subgraph=place.subgraph,
        score=place.score,
    )


def _behind(reported: PeerSources | None, tokens: int) -> Table:
    """What was told, for all tokens."""
    rows = reported.rows[:tokens] if reported is not None else np.zeros((0, 0))
    return np.pad(rows, ((0, tokens - len(rows)), (0, 0)))


def _shares(traces: Sequence[Trace], own: Table, remote: Table, *, untold: bool) -> Table:
    """[tokens, own passages, the other side's, and what is not told of the latter, if anything may be].

    Each row sums to 1, and to less where a side without passages had a part in the token.
    """
    part = np.array([[trace.part] for trace in traces])
    missing = remote.sum(axis=1, keepdims=True) == 0
    return np.hstack((part * own, (1.0 - part) * remote, (1.0 - part) * (missing & untold)))
