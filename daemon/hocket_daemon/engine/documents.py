"""Documents at the beginning of rows: copied in where their KV is kept, computed where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .preemption import Interrupt, Preempted
from .prompt import Layout, Prefix
from .segments import in_passes
from .voice import Voice


class Ahead(NamedTuple):
    """How far `compute_ahead` came: texts that are done, and whether more can be kept."""

    done: int
    room: bool


def prefix_of(voice: Voice, layout: Layout, text: str) -> Prefix:
    """A document as the voice reads it, at most as long as a row."""
    return Prefix(text, layout.document(text)[: voice.slots.context])


def place_documents(
    voice: Voice, rows: Sequence[int], prefixes: Sequence[Prefix], space: int
) -> list[tuple[int, Prefix]]:
    """Copy into row i what is kept of the first `space` ids of prefix i.

    Returns the rows that will hold a whole document which is not kept yet, once they are read.
    """
    return [
        (row, prefix)
        for row, prefix in zip(rows, prefixes, strict=True)
        if prefix.text and not voice.restore(row, prefix, min(len(prefix.ids), space)) and 0 < len(prefix.ids) <= space
    ]


def compute_ahead(voice: Voice, texts: Sequence[str], interrupt: Interrupt) -> Ahead:
    """Compute and keep what is not kept of `texts`, evicting nothing, until interrupted or out of room."""
    assert voice.stored is not None
    layout = voice.layout("answer")
    for number, text in enumerate(texts):
        try:
            interrupt.heed()
            prefix = prefix_of(voice, layout, text)
            if not voice.stored.has(prefix) and not _compute(voice, prefix, interrupt):
                return Ahead(number, room=False)
        except Preempted:
            return Ahead(number, room=True)
    return Ahead(len(texts), room=True)


def _compute(voice: Voice, prefix: Prefix, interrupt: Interrupt) -> bool:
    """Whether there was room for it."""
    rows = voice.slots.take(1)
    try:
        for segment in in_passes(rows, [prefix.ids], voice.prefill_tokens):
            voice.read([segment], interrupt)
        return voice.keep_ahead(rows[0], prefix)
    finally:
        voice.slots.give_back(rows)
