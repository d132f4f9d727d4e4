"""Questions about the collection itself, in English and German: counts, lists, and a file by its name. Pure.

No passage tells how many notes there are, and a model that is asked for it invents a number. Such a question is known
by its whole form, so that a question about what documents say is never taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Literal, NamedTuple

from hocket_bus.messages import Surveyed
from hocket_bus.visible import visible_line

MAX_NAMED = 12  # files that an answer names
_MAX_WORDS = 8  # of what documents are asked for by; more are a question of its own
_KINDS = {
    r"pdfs?|pdf[ -](?:files?|documents?|dateien|dokumente)": (".pdf",),
    r"e-?mails?|mails|messages": (".eml", ".msg", ".mbox"),
    r"spreadsheets?|excel files?|tabellen": (".xlsx", ".xls", ".ods", ".csv", ".tsv"),
    r"presentations?|slide decks?|präsentationen": (".pptx", ".ppt", ".odp"),
    r"word (?:files?|documents?)|word-(?:dateien|dokumente)": (".docx", ".doc", ".odt"),
    r"markdown (?:files?|notes?)|markdown-dateien": (".md", ".markdown"),
    r"text files?|textdateien": (".txt",),
    r"notes?|files?|documents?|docs|notizen|dateien|dokumente|unterlagen": (),
}
_NOUN = rf"(?:(?:of )?(?:my|the|our|your|these|meine|meiner|der|die) )?(?P<noun>{'|'.join(_KINDS)})"
_HERE = (
    r"(?: do (?:i|we|you) have(?: here)?| have (?:i|we)(?: got)?| are (?:there|here|in here|ingested|stored)"
    r"| did (?:i|we) ingest| (?:do|can) you (?:know|see|read)| (?:are )?in (?:my|the|this|our) "
    r"(?:collection|library|notes|documents|files|folder)| habe ich| haben wir| gibt es(?: hier)?| sind (?:hier|da))"
)
_HAVE = (
    r"(?: (?:that|which|do|where|die))?(?: (?:i|we))? ?(?:mention(?:s|ing)?|contain(?:s|ing)?|talk(?:s|ing)? about"
    r"|speak(?:s|ing)? (?:of|about)|refer(?:s|ring)? to|(?:is|are) about|about|(?:have|with|has) the words?"
    r"|say something about|erwähnen|enthalten|nennen|handeln von|sprechen von|über|zu) (?:the words? )?"
    r"(?:the |my |our |a |an )?(?P<text>.+)"
)
_ENDS = r"(?: in total| in all| altogether| insgesamt| here| hier)?"
_FILE = r"[\"'“”‘’«»`]?(?P<file>[^\"“”«»`?]+?)[\"'“”‘’«»`]?"
_NAMED = r"[\"'“”‘’«»`]?(?P<file>[^\s\"“”«»`?][^\"“”«»`?]*\.[a-z][a-z0-9]{1,7})[\"'“”‘’«»`]?"


def _forms(*forms: str) -> list[re.Pattern[str]]:
    return [re.compile(form, re.IGNORECASE) for form in forms]


_COUNTS = _forms(
    rf"how many {_NOUN}(?:{_HERE})?{_ENDS}",
    rf"how many {_NOUN}(?:{_HERE})?{_HAVE}",
    rf"wie ?viele {_NOUN}(?:{_HERE})?{_ENDS}",
    rf"(?:in )?wie ?viele[nr]? {_NOUN}(?:{_HERE})?{_HAVE}",
)
_LISTS = _forms(
    rf"(?:which|what) {_NOUN}{_HERE}{_ENDS}",
    rf"(?:which|what) {_NOUN}(?:{_HERE})?{_HAVE}",
    rf"(?:which|what) {_NOUN}{_HERE} on (?P<text>.+)",
    rf"(?:list|show)(?: me)?(?: all| every)?(?: of)? {_NOUN}{_ENDS}",
    rf"(?:list|show|find)(?: me)?(?: all| every)?(?: of)? {_NOUN}{_HAVE}",
    rf"in (?:which|what) {_NOUN} (?:is|are|do i mention|did i mention) (?P<text>.+?)(?: mentioned| named)?",
    r"where (?:do|did|have) (?:i|we) (?:mention(?:ed)?|write about|written about|wrote about|note|noted) (?P<text>.+)",
    rf"welche {_NOUN}{_HERE}{_ENDS}",
    rf"welche {_NOUN}(?:{_HERE})?{_HAVE}",
    rf"in welchen {_NOUN} (?:steht|stehen|wird|werden|kommt|kommen) (?P<text>.+?)(?: erwähnt| genannt| vor)?",
    rf"(?:zeige?(?: mir)?|liste)(?: alle)? {_NOUN}(?: auf)?",
)
_SUMMARIES = _forms(
    rf"(?:please )?(?:summari[sz]e|sum up|give me a summary of|make a summary of)(?: the (?:file|note))? {_FILE}",
    rf"what(?:'s|’s| is| does it say) in(?: the (?:file|note))? {_NAMED}",
    rf"what (?:is|does)(?: the (?:file|note))? {_NAMED} (?:about|say|contain)",
    rf"(?:bitte )?fass(?:e|en sie)? (?:die (?:datei|notiz) )?{_FILE} zusammen",
    rf"was steht in(?: der (?:datei|notiz))? {_NAMED}",
)
Kind = Literal["count", "list", "summary"]


class Asked(NamedTuple):
    """A question about documents with the words of `text` and with some suffixes, or about one file."""

    kind: Kind
    text: str = ""
    suffixes: tuple[str, ...] = ()
    file: str = ""
    german: bool = False


def asked_of_collection(query: str) -> Asked | None:
    """Recognise a question about the collection; None where it asks for what documents say."""
    said = " ".join(query.split()).rstrip("?.! ")
    kinds: tuple[tuple[Kind, list[re.Pattern[str]]], ...] = (
        ("count", _COUNTS),
        ("list", _LISTS),
        ("summary", _SUMMARIES),
    )
    for kind, forms in kinds:
        for form in forms:
            if found := form.fullmatch(said):
                asked = _asked(kind, found)
                return asked if len(asked.text.split()) <= _MAX_WORDS else None
    return None


def _asked(kind: Kind, found: re.Match[str]) -> Asked:
    parts = found.groupdict()
    noun = (parts.get("noun") or "").lower()
    suffixes = next((ends for form, ends in _KINDS.items() if noun and re.fullmatch(form, noun)), ())
    text = (parts.get("text") or "").strip(" \"'“”‘’«»`")
    german = re.match(r"(?:in )?(?:wie|welche|zeig|liste|bitte|fass|was steht)", found[0], re.IGNORECASE) is not None
    file = (parts.get("file") or "").strip()
    return Asked(kind, text or PurePath(file).stem, suffixes, file, german)


def files_named(name: str, documents: Sequence[str]) -> list[str]:
    """Return the documents whose file has that name, with its suffix or without."""
    wanted = name.casefold()
    whole = [each for each in documents if PurePath(each).name.casefold() == wanted or each == name]
    return whole or [each for each in documents if PurePath(each).stem.casefold() == wanted]


class _Phrases(NamedTuple):
    one: str
    several: str
    none: str
    have_one: str
    have_several: str
    have_none: str
    at_least: str
    more: str
    joined: str


_ENGLISH = _Phrases(
    "There is one document here: {names}.",
    "There are {total} documents here ({kinds}).",
    "There are no such documents here.",
    "One document has “{text}” in it: {names}.",
    "{total} documents have “{text}” in them: {names}.",
    "No document here has “{text}” in it.",
    "At least ",
    "{} more",
    " and ",
)
_GERMAN = _Phrases(
    "Hier ist ein Dokument: {names}.",
    "Hier sind {total} Dokumente ({kinds}).",
    "Hier sind keine solchen Dokumente.",
    "In einem Dokument steht „{text}“: {names}.",
    "In {total} Dokumenten steht „{text}“: {names}.",
    "In keinem Dokument hier steht „{text}“.",
    "Mindestens: ",
    "{} weitere",
    " und ",
)


def answer(asked: Asked, found: Surveyed) -> str:
    """Return a count or a list as a sentence, with the names of the first MAX_NAMED files."""
    phrases = _GERMAN if asked.german else _ENGLISH
    forms = phrases[3:6] if asked.text else phrases[:3]
    form = forms[2] if not found.total else forms[0] if found.total == 1 else forms[1]
    names = _listed(found.names, found.total, phrases)
    kinds = _joined([f"{each.documents} {each.suffix or '?'}" for each in found.kinds], phrases)
    said = form.format(total=found.total, names=names, kinds=kinds, text=visible_line(asked.text))
    if asked.kind == "list" and not asked.text and found.total > 1:
        said = f"{said[:-1]}: {names}."
    return said if found.whole or not found.total else f"{phrases.at_least}{said[0].lower()}{said[1:]}"


def _listed(names: Sequence[str], total: int, phrases: _Phrases) -> str:
    shown = [visible_line(_short(names)(name)) for name in names[:MAX_NAMED]]
    return _joined(shown + ([phrases.more.format(total - len(shown))] if total > len(shown) else []), phrases)


def _joined(parts: Sequence[str], phrases: _Phrases) -> str:
    return phrases.joined.join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _short(names: Sequence[str]) -> Callable[[str], str]:
    """Return a function that shortens documents to their file names, or keeps the whole path where two share one."""
    files = [PurePath(name).name for name in names]
    return lambda name: name if files.count(PurePath(name).name) > 1 else PurePath(name).name
