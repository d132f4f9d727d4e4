"""Storage of a model's documents: copied out of the rows into the store, and from there into rows again."""

from __future__ import annotations

from typing import Protocol

from ..runtime.entry import KV
from ..runtime.stored import StoredKV
from ..text.tokenizer import Prefix


class CopiedRows(Protocol):
    """Rows whose beginnings can be copied."""

    def copy_out(self, row: int, length: int) -> KV:
        """Return the keys and values of a row's first `length` tokens; the row may be cut to them."""

    def copy_in(self, row: int, kv: KV, length: int) -> bool:
        """Begin an empty row with the first `length` tokens of such a copy; False where it does not fit."""


class Keeping:
    """A model with rows that can be copied, and a store or none."""

    slots: CopiedRows
    stored: StoredKV | None

    def restore(self, row: int, prefix: Prefix, length: int) -> bool:
        """Begin an empty row with the first `length` ids of a stored document; return False where it is not stored."""
        kv = self.stored.find(prefix) if self.stored is not None else None
        return kv is not None and self.slots.copy_in(row, kv, length)

    def keep(self, row: int, prefix: Prefix) -> None:
        """Copy the document out of a row's beginning and let the store write it on its own thread."""
        if self.stored is not None:
            self.stored.put_later(prefix, self.slots.copy_out(row, len(prefix.ids)))

    def keep_ahead(self, row: int, prefix: Prefix) -> bool:
        """Write the document now if that evicts nothing; tell whether there was room. There must be a store."""
        assert self.stored is not None
        return self.stored.put(prefix, self.slots.copy_out(row, len(prefix.ids)), evict=False)
