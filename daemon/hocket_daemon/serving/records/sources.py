"""Sources of an answer: the share of each passage in the probability of the tokens that were chosen. Pure.

A token is drawn from one party's distribution, or from a mixture of several ones', each a mixture of its passages'. So
the part of a passage is that of its party, which the asked side knows, times its part within the party, which only
that one knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from hocket_bus.errors import BadMessage
from hocket_bus.messages import MAX_ORIGINS, Origin, Passage, Place, Side, Sources, Span, other
from hocket_retrieval.text.heads import searched

from ...engine.sampling.heads import Table
from ...engine.sampling.ranking import UNRANKED, Ranking
from ..stream.prefix import PrefixChain
from ..stream.reply import UNSOURCED, Sourced

SOURCES_WAIT_S = 2.0  # what the other side gets, beyond a round trip, to tell its sources
MAX_CELLS = 16_384  # of a table of tokens and sources that goes to the reader
Lacks = Callable[[list[int]], list[Span]]  # which words of the text of ids no passage of this side supports
_SCALE = 65_535  # what two bytes hold


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The origin of one token: this side's part in the mixture, and each row's part within the side, if known.

    `ranking` is the token's in the mixture, where it is known and wanted; `others` is the part of everybody else who
    took part, by name; `drafted` is whose draft the token was.
    """

    part: float
    rows: Table | None
    ranking: Ranking = UNRANKED
    others: Mapping[str, float] = field(default_factory=dict)
    drafted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class PeerSources:
    """The other side's report on its passages."""

    places: list[Place]
    rows: Table
    unsupported: Sequence[Span] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Contribution:
    """A party other than this side: its part in each token, and its report; `device` names a device of the group."""

    side: Side
    device: str
    parts: Sequence[float]
    sources: PeerSources | None


def table(traces: Sequence[Trace], passages: int) -> Table:
    """Return the passages' parts within this side, [tokens, passages]."""
    rows = np.zeros((len(traces), passages))
    for row, trace in zip(rows, traces, strict=True):
        if trace.rows is not None and passages:  # without passages the row is the bare question's
            row[:] = trace.rows
    return rows


def places_of(side: Side, passages: Sequence[Passage]) -> list[Origin]:
    """Return the origins of the asked side's passages."""
    return [_own_origin(side, passage) for passage in passages]


def shares_of(trace: Trace, passages: int) -> list[float]:
    """Return the shares in one token: of each of this side's passages, and of the whole other side."""
    rows = trace.rows if trace.rows is not None and len(trace.rows) == passages else np.zeros(passages)
    return [*(trace.part * rows).tolist(), 1.0 - trace.part]


def encode(rows: Table) -> bytes:
    """Encode parts for the wire, to within 2^-16."""
    return np.rint(rows * _SCALE).astype(">u2").tobytes()


def decode(data: bytes, tokens: int, passages: int) -> Table:
    """Decode parts, as the inverse of `encode`. Raises BadMessage for data of another length."""
    if len(data) != 2 * tokens * passages:
        raise BadMessage("sources of the wrong length")
    rows = np.frombuffer(data, ">u2").astype(np.float64).reshape(tokens, passages)
    return np.asarray(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0))


def sources_message(
    session: bytes,
    chain: PrefixChain,
    passages: Sequence[Passage],
    traces: Sequence[Trace],
    lacks: Lacks,
    *,
    side: Side,
) -> Sources:
    """Return the report of `side` on the tokens of `traces`, the first ones of `chain`; `lacks` gets their ids.

    A cloud reports where in its file a passage is; a device reports only the file's name, since a heading is text of
    its owner's.
    """
    return Sources(
        session=session,
        tokens=len(traces),
        digest=chain.at(len(traces)),
        places=[_shown(place, side) for passage in passages for place in _places(passage)],
        unsupported=lacks(chain.ids[: len(traces)]),
        payload=encode(_of_documents(table(traces, len(passages)), passages)),
    )


def peer_sources(message: Sources, chain: PrefixChain) -> PeerSources | None:
    """Return the other side's report on its passages; None where it has other tokens. Raises BadMessage."""
    if message.tokens > len(chain) or chain.at(message.tokens) != message.digest:
        return None
    rows = decode(message.payload, message.tokens, len(message.places))
    return PeerSources(message.places, rows, message.unsupported)


def by_token(reported: PeerSources | None, steps: Sequence[int]) -> PeerSources | None:
    """Return a report on steps as one on tokens, of which each belongs to one of `steps`."""
    if reported is None:
        return None
    known = [step for step in steps if step < len(reported.rows)]
    return PeerSources(reported.places, reported.rows[known], reported.unsupported)


def sourced(side: Side, passages: Sequence[Passage], traces: Sequence[Trace], reported: PeerSources | None) -> Sourced:
    """Return the sources of an answer on the side that was asked; `reported` is the other side's report."""
    rest = Contribution(other(side), "", [1.0 - trace.part for trace in traces], reported)
    return sourced_by_all(side, passages, traces, [rest])


def sourced_by_all(
    side: Side, passages: Sequence[Passage], traces: Sequence[Trace], others: Sequence[Contribution]
) -> Sourced:
    """Return the sources of an answer with any number of other parties. The best MAX_ORIGINS are named."""
    told = [each for each in others if each.sources is not None]
    if not traces or not (passages or told):
        return UNSOURCED
    named = [_origin(side, place) for passage in passages for place in _places(passage)]
    within = _of_documents(table(traces, len(passages)), passages)
    columns = [np.array([[trace.part] for trace in traces]) * within]
    for each in others:
        origins, shares = _of_party(each)
        named += origins
        columns.append(shares)
    shares = np.hstack(columns)
    mean = shares.mean(axis=0)
    order = [int(at) for at in np.argsort(-mean, kind="stable") if named[at].document or mean[at] > 0][:MAX_ORIGINS]
    origins = [msgspec.structs.replace(named[at], share=float(mean[at])) for at in order]
    fits = len(traces) * len(order) <= MAX_CELLS
    alone = not told and all(trace.part == 1.0 for trace in traces)
    lacked = None if alone else _lacked(told)
    texts = list(map(searched, passages))
    return Sourced(origins, shares[:, order].tolist() if fits else [], texts, lacked)


def _of_party(told: Contribution) -> tuple[list[Origin], Table]:
    """Return a party's origins, last the unreported rest, and shares [tokens, origins] that sum to its parts."""
    reported, parts = told.sources, np.array(told.parts)[:, None]
    places = reported.places if reported is not None else []
    origins = [_origin(told.side, place, told.device) for place in (*places, Place(document="", ordinal=0))]
    within = _behind(reported, len(told.parts))
    missing = within.sum(axis=1, keepdims=True) == 0
    untold = reported is None or bool(reported.places)
    return origins, np.hstack((parts * within, parts * (missing & untold)))


def _lacked(told: Sequence[Contribution]) -> list[Span]:
    """Return the words that no reporting party supports."""
    first, *others = [each.sources.unsupported for each in told if each.sources is not None] or [()]
    return [span for span in first if all(span in other for other in others)]


def place_of(passage: Passage, *, place: str) -> Place:
    """Return the place of a passage as it is reported; one from another device is named by its document alone."""
    return Place(
        document=passage.document,
        ordinal=passage.ordinal,
        device=passage.device,
        subgraph=passage.subgraph,
        score=passage.score,
        place="" if passage.device else place,
    )


def _places(passage: Passage) -> list[Place]:
    """Return the passage's own place, and those of the passages whose texts are appended to its own."""
    return [place_of(passage, place=passage.place), *passage.led]


def _shown(place: Place, side: Side) -> Place:
    return place if side == "cloud" else msgspec.structs.replace(place, place="")


def _of_documents(rows: Table, passages: Sequence[Passage]) -> Table:
    """Spread the parts of rows, [tokens, passages], evenly over all places of each row."""
    counts = [1 + len(passage.led) for passage in passages]
    return np.asarray(np.repeat(rows / np.array(counts, float), counts, axis=1))


def _own_origin(side: Side, passage: Passage) -> Origin:
    """Return the origin of a passage found on this side."""
    return _origin(side, place_of(passage, place=passage.place))


def _origin(side: Side, place: Place, device: str = "") -> Origin:
    return Origin(
        side=side,
        document=place.document,
        ordinal=place.ordinal,
        share=0.0,
        device=device or place.device,
        subgraph=place.subgraph,
        score=place.score,
        place=place.place,
    )


def _behind(reported: PeerSources | None, tokens: int) -> Table:
    """Return the reported parts, with zeros for tokens that were not reported."""
    rows = reported.rows[:tokens] if reported is not None else np.zeros((0, 0))
    return np.pad(rows, ((0, tokens - len(rows)), (0, 0)))
