"""Documents that a model keeps: out of the rows into the store, and from there into rows again."""

from __future__ import annotations

from typing import Protocol

from ..runtime.entry import KV
from ..runtime.stored import StoredKV
from ..text.tokenizer import Prefix


class CopiedRows(Protocol):
    """Rows whose beginnings can be copied."""

    def copy_out(self, row: int, length: int) -> KV:
        """What a row holds of its first `length` tokens; it may be cut to them."""

    def copy_in(self, row: int, kv: KV, length: int) -> bool:
        """Begin an empty row with the first `length` tokens of such a copy; False where it does not fit."""


class Keeping:
    """A model with such rows, and a store or none."""

    slots: CopiedRows
    stored: StoredKV | None

    def restore(self, row: int, prefix: Prefix, length: int) -> bool:
        """Begin an empty row with the first `length` ids of a document that is kept; False where it is not."""
        kv = self.stored.find(prefix) if self.stored is not None else None
        return kv is not None and self.slots.copy_in(row, kv, length)

    def keep(self, row: int, prefix: Prefix) -> None:
        """Copy the document out of a row's beginning and let the store write it on its own thread."""
        if self.stored is not None:
            self.stored.put_later(prefix, self.slots.copy_out(row, len(prefix.ids)))

    def keep_ahead(self, row: int, prefix: Prefix) -> bool:
        """Write it now where that evicts nothing; whether there was room. There is a store."""
        assert self.stored is not None
        return self.stored.put(prefix, self.slots.copy_out(row, len(prefix.ids)), evict=False)
