"""The bytes of single tokens: those of an answer's tokens, joined, are the bytes of its text."""

from __future__ import annotations

import re
from functools import cached_property

from .spelling import AnyTokenizer

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")  # how a vocabulary with a fallback names a byte
_HALF = "\ufffd"
_BEFORE = "a"  # a word behind which a token reads as it does inside a text


class TokenBytes:
    """The bytes of each token of one tokenizer. Usable from any thread."""

    def __init__(self, tokenizer: AnyTokenizer) -> None:
        self._tokenizer = tokenizer

    def of(self, id: int) -> bytes:
        """The bytes of a token; of an added one its name; none of an id that the vocabulary leaves out."""
        name = self._names.get(id, "")
        if id in self._added:
            return name.encode()
        if found := _BYTE.fullmatch(name):
            return bytes([int(found[1], 16)])
        text = self._decode([*self._before, id])[len(self._decode(self._before)) :]
        return named_bytes(name) or text.encode() if _HALF in text else text.encode()

    @cached_property
    def _names(self) -> dict[int, str]:
        return {id: name for name, id in self._tokenizer.get_vocab().items()}

    @cached_property
    def _added(self) -> frozenset[int]:
        return frozenset(self._tokenizer.added_tokens_decoder)

    @cached_property
    def _before(self) -> list[int]:
        return list(self._tokenizer(_BEFORE, add_special_tokens=False)["input_ids"])

    def _decode(self, ids: list[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def named_bytes(name: str) -> bytes:
    """Return the bytes that a byte-level vocabulary writes as `name`; none where it is no such name."""
    return bytes(_BYTES[each] for each in name) if all(each in _BYTES for each in name) else b""


def _byte_characters() -> dict[str, int]:
    """The characters by which byte-level vocabularies write bytes.

    Printable ones of Latin-1 stand for themselves, all others, in order, for those from U+0100 on.
    """
    own = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(0x100 + at): byte for at, byte in enumerate(others)}


_BYTES = _byte_characters()
