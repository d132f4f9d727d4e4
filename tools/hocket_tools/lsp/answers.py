"""Suggestions as editors take them: grey text, or items of a list."""

from __future__ import annotations

import re
from pathlib import PurePath

from lsprotocol.types import (
    CompletionItem,
    CompletionItemKind,
    CompletionList,
    InlineCompletionItem,
    InlineCompletionList,
    TextEdit,
)

from hocket_client import Suggestion

from .text import Text

_BEGUN = re.compile(r"\w*\Z")
_WORD = re.compile(r"\s*\S+")


def inline(text: Text, cursor: int, suggestion: Suggestion | None) -> InlineCompletionList:
    """The suggestion as grey text; nothing where there is none."""
    if suggestion is None or not suggestion.text:
        return InlineCompletionList([])
    return InlineCompletionList([InlineCompletionItem(suggestion.text, range=text.range(cursor, cursor))])


def listed(text: Text, cursor: int, suggestion: Suggestion | None) -> CompletionList:
    """Return the suggestion and its first word as items; each holds the begun word, too, by which editors filter."""
    begun = _BEGUN.search(text.before(cursor))
    whole = suggestion.text if suggestion is not None else ""
    word = _WORD.match(whole)
    if suggestion is None or word is None or begun is None:
        return CompletionList(is_incomplete=True, items=[])
    sources = ", ".join(f"{PurePath(each.document).name} ({each.side})" for each in suggestion.sources)
    where = text.range(cursor - len(begun[0]), cursor)
    items = [
        CompletionItem(
            label=(begun[0] + part).strip(),
            kind=CompletionItemKind.Text,
            detail=sources or None,
            sort_text=str(place),
            filter_text=begun[0] + part,
            text_edit=TextEdit(where, begun[0] + part),
        )
        for place, part in enumerate(dict.fromkeys([whole, word[0]]))
    ]
    return CompletionList(is_incomplete=True, items=items)
