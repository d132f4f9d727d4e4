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
from msgspec.structs import replace

from hocket_bus.errors import Unavailable
from hocket_bus.messages import Passages

from ..engine.sampling.capped import Law, capped, charge
from ..engine.sampling.heads import Probabilities
from ..privacy.disclosure_account import DisclosureAccount

MORE_BITS = "ask with --alone, or raise bits_a_day or bits_a_document under [egress]"
NEXT_TO_NOTHING = 0.01  # of a bit: a document with less left says what the question alone does


class SessionAccount:
    """The account of a session. Words are drawn on the compute thread, and confirmed on the main thread."""

    def __init__(self, account: DisclosureAccount, peer: str) -> None:
        """Begin; `peer` is who hears the answer."""
        self.spent: dict[str, float] = defaultdict(float)  # bits of each document that left with this answer
        self.by_step: dict[int, float] = {}  # bits of each step whose word is the one drawn here
        self.left_out: list[str] = []  # documents that were found and had too few bits left
        self._lines: list[str] = []  # that the reader knows
        self._account, self._peer = account, peer
        self._documents: list[str] = []  # of the rows
        self._lock = threading.Lock()
        self._pending: dict[int, list[tuple[str, dict[str, float]]]] = {}  # by step, with the day
        self._settled: list[tuple[str, dict[str, float]]] = []  # of the answer's words, with the day
        self._closed = False

    def without_exhausted(self, passages: Passages) -> Passages:
        """Leave out passages of documents that have too few bits left to say anything, and note the others as read."""
        exhausted = {each.document for each in passages.passages if not self._account.may_begin(each.document)}
        self.left_out = sorted(exhausted)
        left = [each for each in passages.passages if each.document not in exhausted]
        self.read([each.document for each in left])
        return replace(passages, passages=left)

    def read(self, documents: Sequence[str]) -> None:
        """Note the documents of the rows, before anything is drawn."""
        self._documents = list(documents)

    def news(self) -> list[str]:
        """Return what the reader should know, each line once: which documents may say nothing, or nothing more."""
        ended = {name for name in self._documents if self._account.left(name) < NEXT_TO_NOTHING}
        lines = [f"{name} has too few bits left, so it is left out: {MORE_BITS}" for name in self.left_out]
        lines += [f"{name} has disclosed its last bits: what follows may be invented" for name in sorted(ended)]
        new = [line for line in lines if line not in self._lines]
        self._lines += new
        return new

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
            charged = self._pending.pop(step, [])
            self._settled += charged
            self.by_step[step] = sum(sum(bits.values()) for _, bits in charged)
            for _, bits in charged:
                for name, each in bits.items():
                    self.spent[name] += each

    def give_back(self) -> None:
        """Give back all that was charged: nobody else has heard any of the answer."""
        with self._lock:
            for day, bits in self._settled:
                self._account.refund(day, self._peer, bits)
            self._settled.clear()
            self.spent.clear()
            self.by_step.clear()

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


def withholds(account: SessionAccount | None) -> bool:
    """Tell whether documents that were found are left out, as they have too few bits left."""
    return account is not None and bool(account.left_out)
