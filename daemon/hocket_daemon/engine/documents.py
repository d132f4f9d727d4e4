"""Documents at the beginning of rows: copied in where their KV is kept, computed where it is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .entry import KV
from .preemption import Interrupt, Preempted
from .prompt import Layout, layout_for
from .slots import Segment
from .stored import Prefix
from .transformers_voice import LanguageModel


class Ahead(NamedTuple):
    """How far `compute_ahead` came: texts that are done, and whether more can be kept."""

    done: int
    room: bool


def prefix_of(model: LanguageModel, layout: Layout, text: str) -> Prefix:
    """A document as the model reads it, at most as long as a row."""
    return Prefix(text, layout.document(model.tokenizer, text)[: model.slots.context])


def place_documents(
    model: LanguageModel, rows: Sequence[int], prefixes: Sequence[Prefix], space: int
) -> tuple[list[list[int]], list[tuple[int, Prefix]]]:
    """Copy into row i what is kept of the first `space` ids of prefix i.

    Returns the ids that are still to be read into each row, and the rows that will then hold a whole document which is
    not kept yet, for `keep_documents`.
    """
    missing: list[list[int]] = []
    for row, prefix in zip(rows, prefixes, strict=True):
        kv = model.stored.find(prefix) if model.stored is not None and prefix.text else None
        if kv is not None:
            model.slots.copy_in(row, kv, min(len(prefix.ids), space))
        missing.append([] if kv is not None else prefix.ids[:space])
    computed = [
        (row, prefix)
        for row, prefix, ids in zip(rows, prefixes, missing, strict=True)
        if ids and prefix.text and len(prefix.ids) <= space
    ]
    return missing, computed


def in_passes(rows: Sequence[int], tokens: Sequence[list[int]], most: int) -> Iterator[Segment]:
    """Append `tokens[i]` to row i in passes of at most `most` tokens, one row after the other."""
    feed, room = Segment([], []), most
    for row, ids in zip(rows, tokens, strict=True):
        at = 0
        while at < len(ids):
            part = ids[at : at + room]
            feed.rows.append(row)
            feed.tokens.append(part)
            at, room = at + len(part), room - len(part)
            if room == 0:
                yield feed
                feed, room = Segment([], []), most
    if feed.rows:
        yield feed


def keep_documents(model: LanguageModel, rows: Sequence[tuple[int, Prefix]]) -> None:
    """Copy documents out of rows and let the store write them on its own thread."""
    if model.stored is not None:
        for row, prefix in rows:
            model.stored.put_later(prefix, model.slots.copy_out(row, len(prefix.ids)))


def compute_ahead(model: LanguageModel, texts: Sequence[str], interrupt: Interrupt) -> Ahead:
    """Compute and keep what is not kept of `texts`, evicting nothing, until interrupted or out of room."""
    assert model.stored is not None
    layout = layout_for(model.tokenizer, "answer")
    for number, text in enumerate(texts):
        try:
            interrupt.heed()
            prefix = prefix_of(model, layout, text)
            if not model.stored.has(prefix):
                kv = _compute(model, prefix, interrupt)
                if not model.stored.put(prefix, kv, evict=False):
                    return Ahead(number, room=False)
        except Preempted:
            return Ahead(number, room=True)
    return Ahead(len(texts), room=True)


def _compute(model: LanguageModel, prefix: Prefix, interrupt: Interrupt) -> KV:
    rows = model.slots.take(1)
    try:
        for feed in in_passes(rows, [prefix.ids], model.prefill_tokens):
            model.read([feed], interrupt)
        return model.slots.copy_out(rows[0], len(prefix.ids))
    finally:
        model.slots.give_back(rows)
