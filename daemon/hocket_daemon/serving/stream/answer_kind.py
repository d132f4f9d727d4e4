"""Kinds of answers that questions ask for by their first words, and answers that have nothing of the kind. Pure.

A small model that is asked who built a bridge tells when it was built, if that is all it has read. An answer to "who"
names somebody, so it has a word that the question has not; an answer to "how many" has a number. A question that
begins otherwise is left alone.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hocket_retrieval.text.lexical import missing_words

_NUMBERS = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|hundreds?|thousands?"
    r"|millions?|billions?|dozens?|half|quarter|double|triple|pair|couple|single|several|many|few|fewer|all|most|more"
    r"|less|some|any|every|each|both|another|first|second|third|last|no|none|not|never|nothing|zero|once|twice|same"
    r"|than|free|full|whole|until|forever|always|permanent\w*|indefinite\w*|centur\w+|decades?|years?|months?|weeks?"
    r"|days?|hours?|minutes?|seconds?|majority|minority|percent|\w*ein[se]?|eine[rmns]?|zwei|drei|vier|fünf|sechs"
    r"|sieben|acht|neun|zehn|elf|zwölf|\w*hundert|\w*tausend|keine?[rsn]?|nicht|viele|wenige|alle|beide|mehr|weniger"
    r"|halb\w*|immer|bis|jahre?n?|monate?n?|wochen?|tagen?|stunden?|minuten?|dutzend\w*)\b"
)
_TIMES = (
    _NUMBERS + r"|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|spring|summer|autumn|fall|winter|morning|noon|afternoon|evening|night"
    r"|midnight|daily|weekly|monthly|yearly|annually|today|tomorrow|yesterday|before|after|during|when|while|since"
    r"|soon|following|ago|period|age|early|earlier|late|later|start|end|beginning|time|easter|christmas"
    r"|\w+tags?|januar|februar|märz|mai|juni|juli|oktober|dezember|frühling|frühjahr|sommer|herbst|morgens?|mittags?"
    r"|abends?|nachts?|heute|gestern|täglich|vor|nach|während|wenn|als|seit|bald|ostern|weihnachten|anfang|ende)\b"
)
_COLOURS = (
    r"\b(?:red|green|blue|yellow|black|white|gr[ea]y|brown|orange|purple|violet|pink|silver|gold|beige|turquoise|cream"
    r"|dark|light|colou?rless|rot|grün|blau|gelb|schwarz|weiß|grau|braun|lila|rosa|golden|silbern|hell|dunkel)\w*"
)
_LETTERS = re.compile(r"[^\W\d_]+")


class _Kind(NamedTuple):
    asked: re.Pattern[str]
    told: re.Pattern[str] | None  # None: any word that the question has not, but a number
    lack: str


def _kind(asked: str, told: str | None, lack: str) -> _Kind:
    start = r"\W*(?:(?:and|und|in|for|by|at|to|of|with|from|für|von|mit|zu|an|bei|seit) )?"
    has = re.compile(told, re.IGNORECASE) if told is not None else None
    return _Kind(re.compile(start + asked, re.IGNORECASE), has, lack)


_KINDS = (
    _kind(r"(?:who(?:m|se)?|we[rmn]|wessen)\b", None, "the question asks who, and the answer names nobody"),
    _kind(r"(?:where|wo|wohin|woher)\b", None, "the question asks where, and the answer names no place"),
    _kind(
        r"(?:(?:what|which) colou?r|welche[rn]? farbe)\b",
        _COLOURS,
        "the question asks a colour, and the answer has none",
    ),
    _kind(
        r"(?:how (?:many|long|old|far|high|tall|deep|large|big|wide|heavy|fast)"
        r"|wie (?:viele|lange|alt|weit|hoch|tief|groß|breit|schwer|schnell))\b",
        _NUMBERS,
        "the question asks how much or how many, and the answer has no number",
    ),
    _kind(
        r"(?:when (?:did|was|were|is|are|does|do|will|has|had)|wann)\b",
        _TIMES,
        "the question asks when, and the answer has no time",
    ),
)


def lacking_kind(query: str, answer: str) -> str:
    """Return a line about what an answer lacks that its question asks for; empty where nothing is known to lack."""
    kind = next((kind for kind in _KINDS if kind.asked.match(query)), None)
    if kind is None or not answer.strip():
        return ""
    has = kind.told.search(answer) if kind.told is not None else _names_more(query, answer)
    return "" if has else f"{kind.lack}: it may be in no document"


def _names_more(query: str, answer: str) -> bool:
    """Tell whether an answer has a telling word that its question has not, but a number, or one behind a sign."""
    letters = " ".join(_LETTERS.findall(answer))
    return bool(missing_words(letters, [query]))
