"""Questions about the collection itself, in English and German: counts, lists, what is new, a file by its name. Pure.

No passage tells how many notes there are, and a model that is asked for it invents a number. Such a question is known
by its whole form, so that a question about what documents say is never taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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
    r"(?:md|markdown)[ -](?:files?|notes?|dateien)": (".md", ".markdown"),
    r"(?:txt|text) files?|textdateien": (".txt",),
    r"notes?|files?|documents?|docs|notiz(?:en)?|dateien?|dokumente?|unterlagen": (),
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
_QUOTES = "\"'“”„‘’‚«»`"
_QUOTE = f"[{_QUOTES}]?"
_PLAIN = r"[^\"“”„«»`?]"  # within quotation marks, where an apostrophe may stand
_SOLID = r"[^\s\"“”„«»`?]"
_FOLDER = (
    r"(?: (?:are|is|lie|lies|sind|ist|liegen|liegt|do (?:i|we) have|have (?:i|we)(?: got)?|habe ich|haben wir"
    r"|gibt es))?(?: there)? (?:in|inside|under|below|from|im|in dem|in meinem|unter|aus dem) "
    r"(?:the |my |our |dem |meinem |unserem )?"
    rf"(?:(?:folder|directory|ordner|verzeichnis)(?: (?:called|named|namens))? {_QUOTE}(?P<folder>{_PLAIN}+?){_QUOTE}"
    rf"|{_QUOTE}(?P<directory>{_SOLID}+(?: {_SOLID}+)?){_QUOTE} (?:folder|directory)"
    rf"|{_QUOTE}(?P<path>{_SOLID}*/{_SOLID}*){_QUOTE})"
)
_ENDS = r"(?: in total| in all| altogether| insgesamt| here| hier)?"
_FILE = rf"{_QUOTE}(?P<file>{_PLAIN}+?){_QUOTE}"
_NAMED = rf"{_QUOTE}(?P<file>{_SOLID}{_PLAIN}*\.[a-z][a-z0-9]{{1,7}}){_QUOTE}"


def _forms(*forms: str) -> list[re.Pattern[str]]:
    return [re.compile(form, re.IGNORECASE) for form in forms]


_COUNTS = _forms(
    rf"(?:how many|wie ?viele) {_NOUN}{_FOLDER}{_ENDS}",
    rf"how many {_NOUN}(?:{_HERE})?{_ENDS}",
    rf"how many {_NOUN}(?:{_HERE})?{_HAVE}",
    rf"wie ?viele {_NOUN}(?:{_HERE})?{_ENDS}",
    rf"(?:in )?wie ?viele[nr]? {_NOUN}(?:{_HERE})?{_HAVE}",
)
_LISTS = _forms(
    rf"(?:which|what|welche) {_NOUN}{_FOLDER}{_ENDS}",
    rf"(?:list|show|find|zeige?|liste)(?: me| mir)?(?: all| every| alle)?(?: of)? {_NOUN}{_FOLDER}(?: auf)?",
    rf"(?:what(?:'s|’s)?|was){_FOLDER}{_ENDS}",
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
_NEW = r"(?:newest|latest|most recent|last|neu[e]?ste[ns]?|letzte[ns]?|aktuellste[ns]?|jüngste[ns]?)"
_NUMBERS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "ten": 10,
    "zwei": 2,
    "drei": 3,
    "vier": 4,
    "fünf": 5,
    "zehn": 10,
}
_NUMBER = rf"(?:[1-9]\d?|{'|'.join(_NUMBERS)})"
_MINE = r"(?:my|the|our|meine?[rn]?|unsere?[rn]?|die|der|das|den)"
_KIND = rf"(?P<noun>{'|'.join(_KINDS)})"
_OLD = r"(?:oldest|earliest|älteste[ns]?|früheste[ns]?)"


def _by_age(age: str) -> tuple[str, ...]:
    noun = rf"(?:{_MINE} )?(?:(?P<number>{_NUMBER}) {age}|{age}(?: (?P<count>{_NUMBER}))?) {_KIND}"
    return (
        rf"(?:(?:which|what)(?:'s|’s| is| are)(?: the names? of)?|(?:list|show)(?: me)?|wie hei(?:ß|ss)(?:t|en)"
        rf"|(?:was|welche[sr]?) (?:ist|sind)|zeige?(?: mir)?|liste) {noun}(?: auf)?{_ENDS}",
        noun,
        rf"(?:which|what) {_NOUN} (?:is|are) (?:the |my )?{age}",
        rf"welche {_NOUN} (?:ist|sind) (?:(?:die|das|am) )?{age}",
    )


_OLDEST = _forms(*_by_age(_OLD))
_NEWEST = _forms(
    *_by_age(_NEW),
    rf"(?:which|what) {_NOUN} (?:is|are) (?:the |my )?new",
    rf"(?:which|what) {_NOUN} (?:was|were|have been|has been|did (?:i|we)) (?:last |most recently )?"
    r"(?:added|add|written|write|changed|change|edited|edit)(?: last| most recently| recently)?",
    r"what (?:did|have) (?:i|we) (?:last |most recently )?(?:write|written|change|changed|add|added)"
    r" (?:last|most recently|recently|lately)",
    r"what (?:did|have) (?:i|we) last (?:write|written|change|changed|add|added)",
    r"was (?:habe ich|haben wir) zuletzt (?:geschrieben|geändert|hinzugefügt)",
)
_FROM = r"(?:from|of|dated|in|on|vom|von|aus(?: dem)?|im|am)"
_WHEN = r"(?P<when>.{4,30}?)"
_DONE = r"(?:were |was |have been )?(?:written|changed|added|made|taken|edited)"
_DATED = _forms(
    rf"(?:which|what|how many) {_NOUN} {_DONE}(?: {_FROM})? {_WHEN}",
    rf"(?:which|what|how many) {_NOUN} (?:did|have) (?:i|we) (?:write|make|add|take|change|written|added)(?: {_FROM})?"
    rf" {_WHEN}",
    rf"(?:list|show|find)(?: me)?(?: all)? {_NOUN} (?:{_FROM} )?{_WHEN}",
    rf"what (?:did|have) (?:i|we) (?:write|written|change|changed|add|added)(?: {_FROM})? {_WHEN}",
    rf"(?:welche|wie ?viele) {_NOUN}(?:{_HERE})?(?: (?:sind|stammen))?(?: {_FROM})? {_WHEN}(?: geschrieben| geändert)?",
    rf"was (?:habe ich|haben wir)(?: {_FROM})? {_WHEN} (?:geschrieben|geändert)",
    rf"(?:which|what|how many) {_NOUN}(?:{_HERE})? (?:(?:are|were|date) )?(?:{_FROM} )?{_WHEN}",
)
_TIME = re.compile(  # what words for a time have, in any case; the store knows better
    r"\d|\b(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|o[ck]t|nov|de[cz]|today|yesterday|heute|gestern"
    r"|vorgestern|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\w+tag\b|mittwoch)|day|week|month|year|tag|woche|monat|jahr",
    re.IGNORECASE,
)
_SINGULAR = frozenset(["note", "file", "document", "doc", "notiz", "datei", "dokument", "mail", "email", "e-mail"])
_FEW = 5  # of the newest documents, where many are asked for and no number is said
Kind = Literal["count", "list", "summary", "newest", "oldest", "dated"]


class Asked(NamedTuple):
    """A question about documents with the words of `text`, some suffixes, of a time or in a folder, or about one file.

    `number` documents are asked for; 0: all. A `folder` is named by the last parts of its path, joined by "/".
    """

    kind: Kind
    text: str = ""
    suffixes: tuple[str, ...] = ()
    file: str = ""
    german: bool = False
    when: str = ""
    number: int = 0
    folder: str = ""


def asked_of_collection(query: str) -> Asked | None:
    """Recognise a question about the collection; None where it asks for what documents say."""
    said = " ".join(query.split()).rstrip("?.! ")
    kinds: tuple[tuple[Kind, list[re.Pattern[str]]], ...] = (
        ("count", _COUNTS),
        ("list", _LISTS),
        ("summary", _SUMMARIES),
        ("newest", _NEWEST),
        ("oldest", _OLDEST),
        ("dated", _DATED),
    )
    for kind, forms in kinds:
        for form in forms:
            if found := form.fullmatch(said):
                asked = _asked(kind, found)
                is_asked = len(asked.text.split()) <= _MAX_WORDS and (kind != "dated" or _TIME.search(asked.when))
                return asked if is_asked else None
    return None


def _asked(kind: Kind, found: re.Match[str]) -> Asked:
    parts = found.groupdict()
    noun = (parts.get("noun") or "").lower()
    suffixes = next((ends for form, ends in _KINDS.items() if noun and re.fullmatch(form, noun)), ())
    text = (parts.get("text") or "").strip(f" {_QUOTES}")
    german = _GERMAN_START.match(found[0]) is not None
    file, when = ((parts.get(name) or "").strip() for name in ("file", "when"))
    number = _number(parts.get("number") or parts.get("count")) or (1 if noun.rpartition(" ")[2] in _SINGULAR else _FEW)
    return Asked(
        kind,
        text or PurePath(file).stem,
        suffixes,
        file,
        german,
        when,
        number if kind in ("newest", "oldest") else 0,
        _folder(parts),
    )


def _folder(parts: Mapping[str, str | None]) -> str:
    """Return the folder that was named, without what stands for the home folder and without slashes at its ends."""
    named = next((value for name in ("folder", "directory", "path") if (value := parts.get(name))), "")
    return named.strip(" ").removeprefix("~").removeprefix("./").strip("/")


def _number(said: str | None) -> int:
    return _NUMBERS.get((said or "").lower()) or int(said or 0)


def files_named(name: str, documents: Sequence[str]) -> list[str]:
    """Return the documents whose file has that name, with its suffix or without."""
    wanted = name.casefold()
    whole = [each for each in documents if PurePath(each).name.casefold() == wanted or each == name]
    return whole or [each for each in documents if PurePath(each).stem.casefold() == wanted]


_GERMAN_START = re.compile(
    r"(?:in )?(?:wie|welche|zeig|liste|bitte|fass|was (?:steht|ist|sind|habe|haben)|meine|die |das |neu|letzte|zwei"
    r"|drei)",
    re.IGNORECASE,
)


class _Phrases(NamedTuple):
    here: str
    inside: str
    one: str
    several: str
    none: str
    have_one: str
    have_several: str
    have_none: str
    at_least: str
    more: str
    joined: str
    newest: str
    newest_few: str
    oldest: str
    oldest_few: str
    one_dated: str
    dated: str
    none_dated: str


_ENGLISH = _Phrases(
    "here",
    "in “{folder}”",
    "There is one document {where}: {names}.",
    "There are {total} documents {where} ({kinds}).",
    "There are no such documents {where}.",
    "One document has “{text}” in it: {names}.",
    "{total} documents have “{text}” in them: {names}.",
    "No document here has “{text}” in it.",
    "At least ",
    "{} more",
    " and ",
    "The newest document here is {names}.",
    "The newest documents here are {names}.",
    "The oldest document here is {names}.",
    "The oldest documents here are {names}.",
    "One document here is from {when}: {names}.",
    "{total} documents here are from {when}: {names}.",
    "No document here is from {when}.",
)
_GERMAN = _Phrases(
    "Hier",
    "In „{folder}“",
    "{where} ist ein Dokument: {names}.",
    "{where} sind {total} Dokumente ({kinds}).",
    "{where} sind keine solchen Dokumente.",
    "In einem Dokument steht „{text}“: {names}.",
    "In {total} Dokumenten steht „{text}“: {names}.",
    "In keinem Dokument hier steht „{text}“.",
    "Mindestens: ",
    "{} weitere",
    " und ",
    "Das neueste Dokument hier ist {names}.",
    "Die neuesten Dokumente hier sind {names}.",
    "Das älteste Dokument hier ist {names}.",
    "Die ältesten Dokumente hier sind {names}.",
    "Ein Dokument hier ist aus {when}: {names}.",
    "{total} Dokumente hier sind aus {when}: {names}.",
    "Kein Dokument hier ist aus {when}.",
)


def answer(asked: Asked, found: Surveyed, most: int = MAX_NAMED) -> str:
    """Return a count or a list as a sentence, with the names of the first files, `most` of them."""
    phrases = _GERMAN if asked.german else _ENGLISH
    if asked.kind in ("newest", "oldest", "dated"):
        return _by_day(asked, found, phrases, most)
    counted = (phrases.none, phrases.one, phrases.several)
    having = (phrases.have_none, phrases.have_one, phrases.have_several)
    form = (having if asked.text else counted)[min(2, found.total)]
    where = phrases.inside.format(folder=visible_line(asked.folder)) if asked.folder else phrases.here
    names = _listed(found.names, found.total, phrases, most)
    kinds = _joined([f"{each.documents} {each.suffix or '?'}" for each in found.kinds], phrases)
    said = form.format(total=found.total, names=names, kinds=kinds, text=visible_line(asked.text), where=where)
    if asked.kind == "list" and not asked.text and found.total > 1:
        said = f"{said[:-1]}: {names}."
    return said if found.whole or not found.total else f"{phrases.at_least}{said[0].lower()}{said[1:]}"


def _by_day(asked: Asked, found: Surveyed, phrases: _Phrases, most: int) -> str:
    """Return documents with their days, as a sentence."""
    number = asked.number or len(found.names)
    short = _short(found.names)
    named = [f"{short(name)} ({day})" for name, day in zip(found.names[:number], found.days, strict=False)]
    names = _listed_as(named, min(asked.number or found.total, found.total), phrases, most)
    if not named:
        return (phrases.none_dated if found.when else phrases.none).format(when=found.when, where=phrases.here)
    forms = {
        "newest": (phrases.newest, phrases.newest_few),
        "oldest": (phrases.oldest, phrases.oldest_few),
        "dated": (phrases.one_dated, phrases.dated),
    }
    said = forms[asked.kind][len(named) > 1].format(names=names, when=found.when, total=found.total)
    return said if found.whole or asked.kind != "dated" else f"{phrases.at_least}{said[0].lower()}{said[1:]}"


def _listed(names: Sequence[str], total: int, phrases: _Phrases, most: int) -> str:
    short = _short(names)
    return _listed_as([short(name) for name in names], total, phrases, most)


def _listed_as(names: Sequence[str], total: int, phrases: _Phrases, most: int) -> str:
    shown = list(map(visible_line, names[:most]))
    return _joined(shown + ([phrases.more.format(total - len(shown))] if total > len(shown) else []), phrases)


def _joined(parts: Sequence[str], phrases: _Phrases) -> str:
    return phrases.joined.join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _short(names: Sequence[str]) -> Callable[[str], str]:
    """Return a function that shortens documents to their file names, or keeps the whole path where two share one."""
    files = [PurePath(name).name for name in names]
    return lambda name: name if files.count(PurePath(name).name) > 1 else PurePath(name).name
