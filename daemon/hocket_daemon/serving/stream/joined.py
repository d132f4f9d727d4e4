"""The result of an answer in parts, from the results of its parts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from hocket_bus.messages import (
    MAX_ORIGINS,
    AggregationOutcome,
    DispatchOutcome,
    Done,
    Finish,
    MemberOutcome,
    Origin,
    Outcome,
    Routing,
    Span,
)
from hocket_bus.messages.dispatch import MAX_MOVES
from hocket_bus.messages.types import MAX_REASONING_CHARS, MAX_UNSUPPORTED

BETWEEN = "\n"  # the answers of two parts
_MAX_BOUNDS = 256  # of a member's steps
_WAYS = ("home", "pair", "devices")


class _At(NamedTuple):
    """A part's result, and how many tokens and characters stand before it."""

    done: Done
    tokens: int
    characters: int


def joined(parts: Sequence[Done]) -> Done:
    """Return the whole's result: tokens and texts one after the other, shares and rates as means over tokens.

    There must be at least one part; the times are the last one's.
    """
    placed = list(_placed(parts))
    origins, by_token = _sources(parts)
    lacked = [(span, at.characters) for at in placed for span in at.done.unsupported]
    return replace(
        parts[-1],
        finish=_finish(parts),
        token_ids=[id for done in parts for id in done.token_ids],
        text=BETWEEN.join(done.text for done in parts if done.token_ids),
        outcome=_outcome(placed),
        sources=origins,
        token_sources=by_token,
        routing=_routing([done.routing for done in parts if done.routing is not None]),
        unsupported=[Span(span.start + before, span.end + before) for span, before in lacked[:MAX_UNSUPPORTED]],
        prompt_tokens=sum(done.prompt_tokens for done in parts),
        reasoning=BETWEEN.join(filter(None, (done.reasoning for done in parts)))[:MAX_REASONING_CHARS],
    )


def _placed(parts: Sequence[Done]) -> Iterator[_At]:
    tokens = characters = 0
    for done in parts:
        yield _At(done, tokens, characters)
        tokens += len(done.token_ids)
        characters += len(done.text) + len(BETWEEN) if done.token_ids else 0


def _finish(parts: Sequence[Done]) -> Finish:
    """Return how the whole ended: as its last part did, and "unknown" only where nothing was found for any."""
    last = parts[-1].finish
    return "eos" if last == "unknown" and any(done.finish != "unknown" for done in parts) else last


def _sources(parts: Sequence[Done]) -> tuple[list[Origin], list[list[float]]]:
    """Return the origins of all parts, each once, by falling share, and each token's shares in their order."""
    sourced = sum(len(done.token_ids) for done in parts if done.sources)
    shares: dict[Origin, float] = {}
    scores: dict[Origin, float] = {}
    for done in parts:
        for origin in done.sources:
            key = _same(origin)
            shares[key] = shares.get(key, 0.0) + origin.share * len(done.token_ids) / max(1, sourced)
            scores[key] = max(scores.get(key, origin.score), origin.score)
    ranked = sorted(shares, key=lambda origin: -shares[origin])[:MAX_ORIGINS]
    origins = [replace(origin, share=shares[origin], score=scores[origin]) for origin in ranked]
    if len(shares) > len(ranked) or any(done.sources and not done.token_sources for done in parts):
        return origins, []
    place = {origin: at for at, origin in enumerate(ranked)}
    return origins, [row for done in parts for row in _rows(done, place)]


def _same(origin: Origin) -> Origin:
    """Return what is the same of a passage in all parts: its share is not, nor its score, which is against a part."""
    return replace(origin, share=0.0, score=0.0)


def _rows(done: Done, place: dict[Origin, int]) -> Iterator[list[float]]:
    at = [place[_same(origin)] for origin in done.sources]
    for shares in done.token_sources or [[]] * len(done.token_ids):
        row = [0.0] * len(place)
        for index, share in zip(at, shares, strict=False):
            row[index] = share
        yield row


def _outcome(parts: Sequence[_At]) -> Outcome | None:
    aggregated = [(at, at.done.outcome) for at in parts if isinstance(at.done.outcome, AggregationOutcome)]
    if aggregated:
        return _aggregated(aggregated)
    dispatched = [(at, at.done.outcome) for at in parts if isinstance(at.done.outcome, DispatchOutcome)]
    if not dispatched:
        return None
    moves = [replace(each, step=each.step + at.tokens) for at, one in dispatched for each in one.migrations]
    return DispatchOutcome(
        winner=next((one.winner for _, one in dispatched if one.winner), None),
        device_tokens=sum(one.device_tokens for _, one in dispatched),
        cloud_tokens=sum(one.cloud_tokens for _, one in dispatched),
        migrations=moves[:MAX_MOVES],
    )


def _aggregated(parts: Sequence[tuple[_At, AggregationOutcome]]) -> AggregationOutcome:
    def mean(name: str) -> float | None:
        return _mean([(getattr(one, name), len(at.done.token_ids)) for at, one in parts])

    return AggregationOutcome(
        method=next((one.method for _, one in parts if one.method != "alone"), "alone"),
        accept_device=mean("accept_device"),
        accept_cloud=mean("accept_cloud"),
        solo_steps=[step + at.tokens for at, one in parts for step in one.solo_steps],
        drafts_device=sum(one.drafts_device for _, one in parts),
        drafts_cloud=sum(one.drafts_cloud for _, one in parts),
        expect_device=mean("expect_device"),
        expect_cloud=mean("expect_cloud"),
        members=_members(parts),
    )


def _members(parts: Sequence[tuple[_At, AggregationOutcome]]) -> list[MemberOutcome]:
    names = dict.fromkeys(each.name for _, one in parts for each in one.members)
    found = {name: [(at, each) for at, one in parts for each in one.members if each.name == name] for name in names}
    return [
        MemberOutcome(
            name=name,
            steps=[step + at.tokens for at, each in of for step in each.steps][:_MAX_BOUNDS],
            accept=_mean([(each.accept, sum(each.steps[1::2]) - sum(each.steps[::2])) for _, each in of]),
            drafts=sum(each.drafts for _, each in of),
        )
        for name, of in found.items()
    ]


def _mean(values: Sequence[tuple[float | None, int]]) -> float | None:
    """Return the mean of the values that are known, by their weights; None where none is."""
    known = [(value, weight) for value, weight in values if value is not None]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def _routing(routes: Sequence[Routing]) -> Routing | None:
    """Return the route of the part that went farthest, with all devices that were matched."""
    farthest = max(routes, key=lambda each: _WAYS.index(each.way), default=None)
    if farthest is None:
        return None
    return replace(farthest, matched=list(dict.fromkeys(name for each in routes for name in each.matched))[:16])
