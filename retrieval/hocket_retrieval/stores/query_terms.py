"""A question as the words that an index is asked for, whatever the index's language."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..lexical import match_expression

_PART = re.compile(r"(plain|forms) : \(([^)]*)\)")
_TERM = re.compile(r'"([^"]*)"(\*?)')


class QueryTerms(NamedTuple):
    """Words for the plain column, those of them that may begin a pair there, and words for the column of forms."""

    plain: tuple[str, ...]
    prefixes: tuple[str, ...]
    forms: tuple[str, ...]


def query_terms(query: str) -> QueryTerms:
    """The terms of a question; all empty where no word is."""
    parts = {column: _TERM.findall(terms) for column, terms in _PART.findall(match_expression(query) or "")}
    plain = parts.get("plain", [])
    return QueryTerms(
        tuple(word for word, _ in plain),
        tuple(word for word, begins in plain if begins),
        tuple(word for word, _ in parts.get("forms", [])),
    )
