"""Time in a search: of notes on the same thing the newest counts, or those of the time that is asked for.

A passage's day is that of the heading that it stands under, of its file's name, of what its document begins with, or of
its file. An older passage is left out for a newer one where that has all words of the question that the older one has,
is as near to the question and is about the same by its vector; not where the question asks for what was, or for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np

from ..stores.records import Chunk
from ..text.dates import Period, asked_period, period_in
from ..text.heads import searched
from ..text.languages import detect
from ..text.lexical import telling_stems, whole_words

AS_NEAR = 0.25  # how much nearer to the question the older one may be
SIMILAR = 0.55  # the least cosine of two passages about the same
_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods")
BEGINNING = 200  # characters of a document that may say its date


def _words(said: str) -> frozenset[str]:
    return frozenset(said.split())


_OF_THE_PAST = _words(
    "old older oldest former formerly previous previously earlier earliest before original originally first ago used "
    "history historical changed change compare difference was were "
    "alt alte alten alter älter ältere früher frühere vorher vorige ursprünglich erste ersten damals war waren hatte "
    "ancien ancienne avant premier était antes anterior primero era"
)
_OF_ALL = _words(
    "all every each ever often total sum altogether both list many different times "
    "alle alles jede jeder jedes oft insgesamt beide welche tous toutes chaque todos todas cada"
)
_OF_NOW = _words(
    "last latest newest recent recently current currently now today "
    "letzte letzten letzter letztes neueste neuesten aktuell aktuelle aktuellen jetzt heute"
)


class Candidate(NamedTuple):
    """A chunk that was found, its nearness to the question, and what its document begins with."""

    chunk: Chunk
    score: float
    beginning: str


class Older(NamedTuple):
    """A document that was left out for a newer one, and their times, as fully as they are told."""

    document: str
    time: Period
    newer: str
    newer_time: Period


class Settled(NamedTuple):
    """Indices of the candidates that count, in their order, and what was left out for newer ones."""

    kept: list[int]
    older: list[Older]


def settle(query: str, found: Sequence[Candidate]) -> Settled:
    """Leave out candidates of another time than is asked for, or older than one that says the same."""
    said = {*whole_words(query)}
    everything = list(range(len(found)))
    if (period := asked_period(query)) is not None:
        return Settled(_of_period(period, found) or everything, [])
    if said & (_OF_ALL if said & _OF_NOW else _OF_ALL | _OF_THE_PAST) or len(found) < 2:
        return Settled(everything, [])
    return _newest(query, found)


def _newest(query: str, found: Sequence[Candidate]) -> Settled:
    has = _AskedWords(query, found)
    time_at = cache(lambda at: time_of(found[at]))
    vectors = np.stack([each.chunk.vector for each in found])
    similar = vectors @ vectors.T
    kept, older = list[int](), list[Older]()
    for at, each in enumerate(found):
        rivals = [
            other
            for other, one in enumerate(found)
            if other != at
            and similar[at, other] >= SIMILAR
            and one.score >= each.score - AS_NEAR
            and has[at]
            and has[at] <= has[other]
        ]
        times = {other: time for other in [at, *rivals] if (time := time_at(other)) is not None} if rivals else {}
        days = {other: first for other, time in times.items() if (first := time.first) is not None}
        newest = max(days, key=lambda other: (days[other], -other), default=at)
        if at in days and days[newest] > days[at] and not times[at].holds(times[newest]):
            older.append(Older(each.chunk.document, times[at], found[newest].chunk.document, times[newest]))
        else:
            kept.append(at)
    return Settled(kept, older)


class _AskedWords(dict[int, frozenset[str]]):
    """The stems of the question's words that each candidate has, by its number; only some candidates are looked at."""

    def __init__(self, query: str, found: Sequence[Candidate]) -> None:
        super().__init__()
        self._language, self._found = detect(whole_words(query)), found
        self._asked = frozenset(telling_stems(query, self._language)) - _OF_NOW

    def __missing__(self, at: int) -> frozenset[str]:
        self[at] = self._asked.intersection(telling_stems(searched(self._found[at].chunk), self._language))
        return self[at]


def _of_period(period: Period, found: Sequence[Candidate]) -> list[int]:
    """Return the candidates of this time and of no known one, where one of this time is near; else none."""
    best = max((each.score for each in found), default=0.0)
    of = [_written(each) for each in found]
    in_time = [one is not None and one.year > 0 and period.holds(one) for one in of]
    if not any(here and each.score >= best - AS_NEAR for here, each in zip(in_time, found, strict=True)):
        return []
    first = [at for at, here in enumerate(in_time) if here]
    return first + [at for at, one in enumerate(of) if one is None]


def time_of(found: Candidate) -> Period | None:
    """The day, month or year that a passage is of; None where nothing tells."""
    return _written(found) or _changed(found.chunk.document)


def document_time(name: str, title: str, beginning: str, today: date) -> Period | None:
    """The day, month or year that a document is of, from its name, title, beginning or file; None if nothing tells.

    A day to come is one that it tells of, and a table begins with the day of a row.
    """
    is_table = PurePath(name).suffix.lower() in _TABLES
    written = _fullest((PurePath(name).stem, title), "" if is_table else beginning)
    return next((time for time in (written, _changed(name)) if time is not None and _has_begun(time, today)), None)


def _has_begun(time: Period, today: date) -> bool:
    return time.first is not None and time.first <= today


def _changed(document: str) -> Period | None:
    """The day on which a document's file was changed."""
    try:
        changed = Path(document).stat().st_mtime if document.startswith("/") else None
    except OSError:
        return None
    if changed is None:
        return None
    day = datetime.fromtimestamp(changed, UTC).astimezone()  # of whoever changed it here
    return Period(day.year, day.month, day.day)


def _written(found: Candidate) -> Period | None:
    """Return the fullest time that is given above a passage, or in full where its document begins."""
    place = found.chunk.place.partition("§ ")[2]
    return _fullest((place, PurePath(found.chunk.document).stem, found.chunk.title), found.beginning)


def _fullest(texts: Sequence[str], beginning: str) -> Period | None:
    above = [period_in(each) for each in texts]
    begins = period_in(beginning[:BEGINNING])
    said = [each for each in above if each is not None and each.year]
    said += [begins] if begins is not None and begins.year and begins.day else []
    return max(said, key=lambda period: sum(part > 0 for part in period), default=None)
