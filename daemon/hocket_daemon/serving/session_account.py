"""The account of one answer's words: what each discloses is charged as it is drawn, and given back if it stays here.

A word leaves as a word of the answer, and no other way: what this side drew and another side's word replaced, or what
was drafted ahead and thrown away, has left nothing.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from hocket_bus.errors import Unavailable

from ..engine.sampling.capped import Law, capped, charge
from ..engine.sampling.heads import Probabilities
from ..privacy.disclosure_account import DisclosureAccount

_NEXT_TO_NOTHING = 0.01  # of a bit


class SessionAccount:
    """The account of a session. Words are drawn on the compute thread, and confirmed on the main thread."""

    def __init__(self, account: DisclosureAccount, peer: str) -> None:
        """Begin; `peer` is who hears the answer."""
        self.spent: dict[str, float] = defaultdict(float)  # bits of each document that left with this answer
        self._account, self._peer = account, peer
        self._documents: list[str] = []  # of the rows
        self._lock = threading.Lock()
        self._pending: dict[int, list[tuple[str, dict[str, float]]]] = {}  # by step, with the day
        self._closed = False

    def read(self, documents: Sequence[str]) -> None:
        """Note the documents of the rows, before anything is drawn."""
        self._documents = list(documents)

    @property
    def exhausted(self) -> list[str]:
        """The documents that were read and may disclose no more."""
        return [name for name in dict.fromkeys(self._documents) if self._account.left(name) < _NEXT_TO_NOTHING]

    def begin(self, step: int) -> None:
        """Begin the draft of a step: earlier ones of it, and of those behind it, are void."""
        with self._lock:
            self._give_back([each for each in self._pending if each >= step])

    def capped(self, rows: Law, alone: Law) -> Law:
        """Return the passages' laws [rows, n], capped to what each one's document may still disclose."""
        left = {name: self._account.left(name) for name in self._documents}
        return np.stack([capped(row, alone, left[name]) for row, name in zip(rows, self._documents, strict=True)])

    def charge(self, step: int, rows: Probabilities, alone: float, weights: Sequence[float]) -> None:
        """Charge what was drawn for a step. Raises Unavailable where that cannot be written down."""
        names, weighed = np.array(self._documents, dtype=object), np.array(weights)
        bits = {name: charge(rows, alone, weighed, names == name) for name in dict.fromkeys(self._documents)}
        day = self._account.charge(self._peer, bits)
        with self._lock:
            if self._closed:
                self._account.refund(day, self._peer, bits)
            else:
                self._pending.setdefault(step, []).append((day, bits))

    def confirm(self, step: int, *, own: bool) -> None:
        """Settle a step of the answer; `own` says that its word is the one drawn here."""
        with self._lock:
            if not own:
                self._give_back([step] if step in self._pending else [])
                return
            for _, bits in self._pending.pop(step, []):
                for name, each in bits.items():
                    self.spent[name] += each

    def close(self) -> None:
        """Give back what was drafted and did not become part of the answer."""
        with self._lock:
            self._closed = True
            self._give_back(list(self._pending))
        with suppress(Unavailable):  # then the file has too much, and not too little
            self._account.write()

    def _give_back(self, steps: Sequence[int]) -> None:
        for step in steps:
            for day, bits in self._pending.pop(step):
                self._account.refund(day, self._peer, bits)
