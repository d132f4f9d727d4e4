"""Details that questions ask for by their own word, and what a passage must contain to answer one. Pure.

A small model that is asked for the fax number of a firm gives its telephone number. This module cannot tell whether a
passage answers a question. It can tell that none does, where a detail has few names and a shape of its own: a passage
without such a name, and without a thing of that shape, has no answer. Details with many other words are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from hocket_bus.messages import Passages, Prompt
from hocket_retrieval.text.heads import searched

_YEAR = r"\b1\d{3}\b|\b20\d\d\b"
_DIGITS = r"\d"
_NUMBER_WORDS = r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|thousand)\b"
_DAYS = r"monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MONTHS = r"january|february|march|april|may|june|july|august|september|october|november|december"
_NO_NAME = re.compile(rf"(?:{_DAYS}|{_MONTHS}|easter|christmas|i)s?")
_NAME = re.compile(r"(?<=[^\W\d_]|,) +([A-Z][\w'’-]+)")  # a capital within a sentence
_WORD = re.compile(r"[^\W_]+")
_CHANNELS = "instagram|facebook|twitter|linkedin|whatsapp|skype|tiktok|youtube|telegram|mastodon"


class Attribute(NamedTuple):
    """A detail: the pattern that asks for it, the one that answers it, and whether somebody's name may answer it."""

    name: str
    asked: re.Pattern[str]
    told: re.Pattern[str]
    is_somebody: bool = False


def _attribute(name: str, asked: str, told: str, *, is_somebody: bool = False) -> Attribute:
    return Attribute(name, re.compile(asked, re.IGNORECASE), re.compile(told, re.IGNORECASE), is_somebody)


ATTRIBUTES = (
    _attribute("a fax number", r"\b(?:tele)?fax|\bfacsimile", r"fax|facsimile"),
    _attribute("an e-mail address", r"\be-?mail[ -]?address|\be-?mail of\b", r"@|e-?mail"),
    _attribute(
        "a web address",
        r"\bweb ?sites?\b|\bweb(?: page| address)|\bhome ?page|\burl\b",
        r"https?:|www\.|\w\.(?:com|org|net|info|eu|de|uk|fr|nl|it|es|ch|at|se|no|dk|io)\b"
        r"|\bweb|home ?page|\burl\b|online",
    ),
    _attribute("a telephone number", r"\b(?:tele|cell ?)?phone number|\bmobile number", r"\d(?:[ ()/.-]*\d){4}"),
    _attribute("an account there", rf"\b(?:{_CHANNELS})\b", rf"{_CHANNELS}|social media"),
    _attribute("a bank account", r"\biban\b|\bbank account\b", r"iban|bank|account|\b[A-Z]{2}\d{2} ?\d{4}"),
    _attribute("a passport's number", r"\bpassport number", r"passport|\bpass\b"),
    _attribute("a tax number", r"\b(?:vat|tax) (?:number|id|no\b)", r"\bvat\b|\btax|\bust|mwst"),
    _attribute(
        "when it began",
        r"\b(?:when|what year|which year)\b.*\b(?:founded|established|incorporated|built|launched)\b"
        r"|\bfounding (?:year|date)\b",
        rf"{_YEAR}|\d0s\b|\bdat(?:e|ed|es|ing)\b|\bbuil[dt]|construct|\bfound|\bestablish|incorporat|\bstart|\bbegan\b|\bbegun\b|\bopen(?:ed|ing)\b"
        r"|creat|\bset up\b|\bsince\b"
        r"|\b(?:years?|decades?|generations?|century|centuries)\b|histor|launch|\bborn\b|anniversar",
    ),
    _attribute(
        "who founded it", r"\bwho (?:founded|established)\b|\bfounders?\b", r"\bfound|\bestablish", is_somebody=True
    ),
    _attribute(
        "an owner",
        r"\bowners?\b|\bwho owns\b|\bproprietors?\b",
        r"\bown(?:s|ed|er|ers|ing)?\b|belong|proprietor|propert|landlord|landlady|\bb(?:ought|uy)|purchas|holder|['’]s\b|\bmy\b"
        r"|\bour\b|\bhis\b|\bher\b",
        is_somebody=True,
    ),
    _attribute(
        "who leads it",
        r"\bwho (?:is|was) the (?:manager|director|boss|chairman|chairwoman|chair|ceo|president)\b|\bwho manages\b",
        r"manag|direct(?:or|s|ed)|\bboss|\bchair|\bceo\b|president|\bhead|\bchief|\bleads?\b|\bled by\b"
        r"|\brun(?:s|ning)?\b",
        is_somebody=True,
    ),
    _attribute(
        "how many work there",
        r"\bhow many (?:employees|workers|staff)\b|\bhow many people work\b",
        r"employ|\bstaff|worker|\bwork(?:s|ing)?\b|people|\bteam|\bcrew|colleague|person|apprentice|\b(?:wo)?m[ae]n\b",
    ),
    _attribute(
        "a price",
        r"\bhow much (?:does|do|did|is|are|was|were)\b.*\bcosts?\b|\b(?:price|fee|fare) (?:of|for)\b",
        rf"{_DIGITS}|{_NUMBER_WORDS}|\bfree\b|gratis|no charge|includ",
    ),
    _attribute(
        "an age",
        r"\bhow old\b|\bbirthday\b|\bdate of birth\b",
        rf"{_DIGITS}|{_NUMBER_WORDS}|\bborn\b|birth|\bage|\bturn",
    ),
    _attribute("a measure", r"\bhow (?:tall|heavy|wide)\b", rf"{_DIGITS}|{_NUMBER_WORDS}|\bhalf\b|\bfew\b|\bcouple\b"),
    _attribute("a year", r"\b(?:what|which) year\b", rf"{_DIGITS}|\bago\b|\byear"),
)


def untold_line(prompt: Prompt, found: Passages) -> str:
    """Return the notice that no passage tells a detail that is asked for; empty elsewhere, and without passages."""
    if not found.passages:
        return ""
    said = [part for turn in prompt.turns for part in (turn.query, turn.answer)]
    read = list(map(searched, found.passages))
    name = untold(prompt.query, [*read, *said])
    return f"probably not in your documents: no passage that was read mentions {name}" if name else ""


def untold(query: str, texts: Iterable[str]) -> str:
    """Return the detail that `query` asks for and none of `texts` can tell; empty where there is none, or one may."""
    asked = [each for each in ATTRIBUTES if each.asked.search(query)]
    if not asked:
        return ""
    read = list(texts)
    return next((each.name for each in asked if not any(_tells(each, text, query) for text in read)), "")


def _tells(attribute: Attribute, text: str, query: str) -> bool:
    return attribute.told.search(text) is not None or (attribute.is_somebody and _names_somebody(text, query))


def _names_somebody(text: str, query: str) -> bool:
    """Tell whether a text has a name that the question has not."""
    known = {word.casefold() for word in _WORD.findall(query)}
    names = (found.casefold().removesuffix("'s").removesuffix("’s") for found in _NAME.findall(text))
    return any(name not in known and not _NO_NAME.fullmatch(name) for name in names)
