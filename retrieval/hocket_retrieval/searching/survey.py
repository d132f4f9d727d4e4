"""Find the documents that have some words or are of some time, or count all, for questions about the collection."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import date
from pathlib import PurePath
from typing import Literal, NamedTuple

from ..stores.folders import folder_of
from ..stores.protocol import Moment
from ..text.dates import Period, asked_days
from ..text.heads import searched
from ..text.lexical import language_of, telling_stems, telling_words
from .recency import BEGINNING, document_time

Order = Literal["name", "newest", "oldest"]
MAX_LOOKED = 2_000  # passages that have one of the words
MAX_KINDS = 64
MAX_DATED = 2_000  # documents whose beginning is read for its day: those that were ingested last


class Surveyed(NamedTuple):
    """Names of documents, in their order, and how many end in each suffix, the most frequent first.

    `whole` is false where more than MAX_LOOKED passages have one of the words, or more than MAX_DATED documents are to
    be dated. `days` are the documents' own and `when` is the time, where it was asked for and understood.
    """

    names: list[str]
    kinds: list[tuple[str, int]]
    whole: bool
    days: Sequence[str] = ()
    when: str = ""


def survey(
    moment: Moment,
    text: str,
    suffixes: Sequence[str],
    within: tuple[str, ...],
    when: str = "",
    *,
    folder: str = "",
    order: Order = "name",
    today: date,
) -> Surveyed:
    """Return the documents within some folders that have all significant words of `text`; all where it is empty.

    Only those of the time that `when` says, if it says one, and below a `folder` whose path ends so, in either case.
    """
    days = asked_days(when, today) if when else None
    if when and days is None:
        return Surveyed([], [], whole=False)
    names, whole = _having(moment, text, within) if text else (_inside(moment, within), True)
    wanted, parts = frozenset(suffix.lower() for suffix in suffixes), PurePath(folder.casefold()).parts
    kept = sorted(name for name in names if (not wanted or _suffix(name) in wanted) and _is_below(name, parts))
    if order == "name" and days is None:
        return Surveyed(kept, _kinds(kept), whole)
    times = _times(moment, kept, today)
    if days is not None:
        times = {name: time for name, time in times.items() if days.first <= _first(time) <= days.last}
    ordered = list(times)
    if order != "name":
        ordered.sort(key=lambda name: _first(times[name]), reverse=order == "newest")
    told = [times[name].text for name in ordered]
    return Surveyed(ordered, _kinds(ordered), whole and len(kept) <= MAX_DATED, told, days.text if days else "")


def _is_below(name: str, parts: Sequence[str]) -> bool:
    """Tell whether a document lies below a folder whose path ends in these parts; below any for none."""
    folders = PurePath(name.casefold()).parent.parts
    return any(folders[at : at + len(parts)] == tuple(parts) for at in range(len(folders) - len(parts) + 1))


def _times(moment: Moment, names: Collection[str], today: date) -> dict[str, Period]:
    """Return the times of documents, as far as anything tells them; MAX_DATED are looked at."""
    wanted = frozenset(names)
    infos = sorted((each for each in moment.documents() if each.name in wanted), key=lambda each: -each.ingested_at)
    found = dict[str, Period]()
    for each in sorted(infos[:MAX_DATED]):
        document = moment.document(each.name)
        beginning = document.text[:BEGINNING] if document is not None else ""
        if (time := document_time(each.name, each.title, beginning, today)) is not None and time.year:
            found[each.name] = time
    return found


def _first(time: Period) -> date:
    return time.first or date.min


def _kinds(names: Iterable[str]) -> list[tuple[str, int]]:
    return Counter(map(_suffix, names)).most_common(MAX_KINDS)


def _inside(moment: Moment, within: tuple[str, ...]) -> Iterable[str]:
    folders = [folder_of(path) for path in within]
    names = (document.name for document in moment.documents())
    return [name for name in names if not folders or any(name == f.name or name.startswith(f.first) for f in folders)]


def _having(moment: Moment, text: str, within: tuple[str, ...]) -> tuple[Iterable[str], bool]:
    found = moment.by_words(text, MAX_LOOKED, within)
    missing = defaultdict[str, set[str]](lambda: {*telling_words(text)})
    for chunk in moment.chunks(found):
        said = searched(chunk)
        language = language_of(said)
        has = {*telling_stems(said, language), *telling_words(said)}
        missing[chunk.document] -= {word for word in missing[chunk.document] if _is_in(word, has, language)}
    return [name for name, left in missing.items() if not left], len(found) < MAX_LOOKED


def _is_in(word: str, has: set[str], language: str) -> bool:
    return word in has or not has.isdisjoint(telling_stems(word, language))


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()
