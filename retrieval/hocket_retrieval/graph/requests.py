"""Answers to what a cloud asks for its devices: its index of summaries, and scores of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

from hocket_bus import messages as m

from ..errors import QueryError
from .summary_index import Summary, SummaryIndex

PAGE_TEXTS = 200
PAGE_BYTES = 2**19

Asked = m.Keep | m.ListHeld | m.Expire | m.Match | m.Weigh


class Federated(Protocol):
    """The part of a collection that is used here."""

    summaries: SummaryIndex

    def weigh(self, query: str, texts: Sequence[str], scorer: str = "", names: Sequence[str] = ()) -> list[float]:
        """Score texts, perhaps with the names above each, against a query."""


def answered(collection: Federated, asked: Asked) -> m.Message:
    """The answer to one request. Raises QueryError."""
    index = collection.summaries
    match asked:
        case m.Weigh():
            scores = collection.weigh(asked.query, asked.texts, asked.scorer, asked.names)
            return m.Scores(request=asked.request, scores=scores)
        case m.Keep():
            return _held(index, asked)
        case m.ListHeld():
            return _texts(index, asked)
        case m.Expire():
            gone = index.expire(frozenset(asked.devices), asked.keep_s)
            return m.Removed(request=asked.request, removed=len(gone), missing=[])
        case m.Match():
            found = index.match(asked.query, asked.devices)
            matches = [m.Matching(device=each.device, subgraph=each.subgraph, score=each.score) for each in found]
            return m.Matched(request=asked.request, matches=matches)


def _held(index: SummaryIndex, asked: m.Keep) -> m.Held:
    """Store or drop a device's summaries; return those held afterwards, and the problem where there was no room."""
    problem = ""
    if asked.drop_all:
        index.drop(asked.device)
    else:
        try:
            new = [Summary(each.id, each.version, each.text) for each in asked.summaries]
            index.keep(asked.device, asked.store, new, asked.dropped)
        except QueryError as error:
            problem = str(error)
    held = [m.Summary(id=id, version=version) for id, version in index.held(asked.device)]
    return m.Held(request=asked.request, held=held, problem=problem)


def _texts(index: SummaryIndex, asked: m.ListHeld) -> m.Recalled:
    found = index.texts(asked.device, asked.after, PAGE_TEXTS)
    sizes = accumulate(len(each.text.encode()) for each in found)
    page = [each for each, size in zip(found, sizes, strict=True) if size <= PAGE_BYTES]
    return m.Recalled(
        request=asked.request,
        summaries=[m.Summary(id=each.id, version=each.version, text=each.text) for each in page],
        total=len(index.held(asked.device)),
    )
