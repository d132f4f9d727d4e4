"""A question as an FTS5 expression: its telling words, joined by OR; knows no tables."""

from __future__ import annotations

import re

MAX_TERMS = 16

# Words that occur in many chunks: they rank little and cost the most, as do the single letters that apostrophes leave.
_STOP_WORDS = """
    about after all also although am an and any are around as at be because been before being between both but by
    can could did do does doing during each either even ever few for from further get gets got had has have having
    he her here hers him his how however if in into is it its itself just let like made make makes many may me
    might more most much must my new no nor not of off on once one ones only or other our out over own said same
    see several she should since so some still such take than that the their them then there these they this those
    through to too under until up upon use used using very was we well were what when where whether which while who
    whom whose why will with within without would yet you your"""


def match_expression(query: str) -> str | None:
    """An FTS5 MATCH expression of at most 16 words; None when no word tells anything (meaning must find it then)."""
    longest = sorted(content_words(query), key=len, reverse=True)[:MAX_TERMS]
    return " OR ".join(f'"{word}"' for word in longest) or None


def content_words(query: str) -> list[str]:
    """The words that tell what a question is about, in lower case and in its order, each once."""
    words = dict.fromkeys(re.findall(r"[^\W_]+", query.lower()))
    stop_words = _STOP_WORDS.split()
    return [word for word in words if word not in stop_words and not ("a" <= word <= "z" and len(word) == 1)]
