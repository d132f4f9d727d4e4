"""Redaction of a query before it leaves: what is about somebody goes, as no document is found by it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hocket_bus.errors import BadConfiguration

_ALWAYS = (
    re.compile(r"[^\s@<>]+@[^\s@<>]+"),  # mail addresses
    re.compile(r"\d(?:[\s./()+-]*\d){5,}"),  # numbers of six digits and more, however they are grouped
)
_GONE = "…"


class Redaction:
    """The redaction of mail addresses, long numbers, and what the owner names."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Compile the owner's regular expressions. Raises BadConfiguration."""
        try:
            self._patterns = (*_ALWAYS, *(re.compile(pattern) for pattern in patterns))
        except re.error as error:
            raise BadConfiguration(f"[composition] redact: {error}", "correct the regular expression") from error

    def __call__(self, text: str) -> str:
        """Return the text with … in place of what is redacted."""
        for pattern in self._patterns:
            text = pattern.sub(_GONE, text)
        return text
