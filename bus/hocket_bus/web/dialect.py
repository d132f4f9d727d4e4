"""Differences between servers with OpenAI's API: a field that one refuses gets another name, or is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

_REFUSALS = {400, 422}
_OTHER_NAMES = {"max_tokens": "max_completion_tokens"}
_OPTIONAL = ("stream_options", "seed", "top_p", "temperature", "chat_template_kwargs")


@dataclass(frozen=True, slots=True)
class Dialect:
    """Fields of a request that a server does not take: those renamed, and those left out."""

    renamed: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()

    def spoken(self, asked: Mapping[str, object]) -> dict[str, object]:
        """Return a request's fields as the server takes them."""
        return {
            _OTHER_NAMES[name] if name in self.renamed else name: value
            for name, value in asked.items()
            if name not in self.left_out
        }

    def after(self, status: int, refusal: bytes) -> Dialect | None:
        """Return the dialect to use after a refusal that names replaceable fields; None if it concerns others."""
        if status not in _REFUSALS:
            return None
        said = refusal.decode("utf-8", "replace")
        renamed = self.renamed | {name for name in _OTHER_NAMES if _names(said, name)}
        left_out = self.left_out | {name for name in _OPTIONAL if _names(said, name)}
        other = replace(self, renamed=renamed, left_out=left_out)
        return None if other == self else other

    def __str__(self) -> str:
        """Return a description for a log."""
        others = [f"{_OTHER_NAMES[name]} for {name}" for name in sorted(self.renamed)]
        return "; ".join([*others, *(f"no {name}" for name in sorted(self.left_out))])


PLAIN = Dialect()


def _names(said: str, field: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9_]){field}(?![A-Za-z0-9_])", said) is not None
