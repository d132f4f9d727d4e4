"""A question as an FTS5 expression: its telling words, joined by OR; knows no tables."""

from __future__ import annotations

import re

MAX_TERMS = 32

# Words that occur in most chunks: they rank nothing and cost the most.
_STOP_WORDS = """
    a about after all also am an and any are as at be because been before being both but by can could did do does doing
    during each few for from further had has have having he her here hers him his how i if in into is it its
    itself just me more most my no nor not of off on once only or other our out over own same she should so some such
    than that the their them then there these they this those through to too under until up very was we were what when
    where which while who whom whose why will with would you your"""


def match_expression(query: str) -> str | None:
    """An FTS5 MATCH expression of at most 32 words; None when no word tells anything (meaning must find it then)."""
    words = dict.fromkeys(re.findall(r"[^\W_]+", query.lower()))
    stop_words = _STOP_WORDS.split()
    telling = [word for word in words if word not in stop_words]
    longest = sorted(telling, key=len, reverse=True)[:MAX_TERMS]
    return " OR ".join(f'"{word}"' for word in longest) or None
