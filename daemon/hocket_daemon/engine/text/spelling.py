"""User text as token ids without added tokens, so that no passage can close the user's turn.

An added token is one that a tokenizer looks for in the text before anything else, whether it is called special or not.
Its name in a text is text like any other: it is spelled with the tokens of the vocabulary itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from tokenizers import Tokenizer

from .file_tokenizer import FileTokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

AnyTokenizer: TypeAlias = "PreTrainedTokenizerBase | FileTokenizer"

_NOT_A_CHARACTER = "\ufdd0"


class Spelling:
    """A tokenizer, and the same one without its added tokens."""

    def __init__(self, tokenizer: AnyTokenizer) -> None:
        self.tokenizer = tokenizer
        self._names = tokenizer.added_tokens_decoder

    def ids(self, before: str, text: str, behind: str) -> list[int]:
        """Return the ids of `text` in its layout: in one piece with it, unless an added token's name is in the text.

        What the vocabulary has no other token for is left out.
        """
        parts = self._tokens(before), self._tokens(behind)
        if not self._added(self._tokens(text)):
            whole = self._tokens(before + text + behind)
            if self._added(whole) == [id for part in parts for id in self._added(part)]:
                return whole
        return [*parts[0], *self.spelled(text), *parts[1]]

    def spelled(self, text: str) -> list[int]:
        """The ids of `text` alone; none of them is an added token's."""
        ids = self._split(text) if self._bare is None else self._bare.encode(text, add_special_tokens=False).ids
        return [id for id in ids if id not in self._names]

    @cached_property
    def _bare(self) -> Tokenizer | None:
        """The tokenizer without added tokens; None for one written in Python, which can leave them out itself."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None:
            return None
        return Tokenizer.from_str(json.dumps(without_added(json.loads(backend.to_str()), self._names)))

    def _tokens(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"]) if text else []

    def _split(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])

    def _added(self, ids: list[int]) -> list[int]:
        return [id for id in ids if id in self._names]


def without_added(described: dict[str, Any], added: Mapping[int, object]) -> dict[str, Any]:
    """Return a tokenizer's description without the `added` tokens, of which each reads as its name."""
    model = _without(described["model"], {str(token) for token in added.values()})
    none: dict[str, Any] = {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    return described | none | {"model": model}


def _without(model: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Return a model's description in which no text becomes one of `names`: each is renamed, and no merge makes it.

    Their numbers stay taken, since those of all other tokens depend on it.
    """

    def renamed(piece: str | None) -> str | None:
        return _NOT_A_CHARACTER + piece if piece in names else piece

    vocabulary = model["vocab"]
    if isinstance(vocabulary, dict):
        changed: Any = {renamed(piece): id for piece, id in vocabulary.items()}
    else:
        changed = [[renamed(piece), score] for piece, score in vocabulary]
    others: dict[str, Any] = {"vocab": changed}
    if "unk_token" in model:
        others["unk_token"] = renamed(model["unk_token"])
    if "merges" in model:
        others["merges"] = [pair for pair in model["merges"] if names.isdisjoint((*pair, "".join(pair)))]
    return model | others
