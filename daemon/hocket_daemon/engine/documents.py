"""Documents at the beginning of rows: copied in where their KV is kept, computed where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from .entry import KV
from .model import LanguageModel
from .preemption import Interrupt, Preempted
from .prompt import Layout, layout_for
from .stored import Prefix


class Ahead(NamedTuple):
    """How far `compute_ahead` came: texts that are done, and whether more can be kept."""

    done: int
    room: bool


def prefix_of(model: LanguageModel, layout: Layout, text: str) -> Prefix:
    """A document as the model reads it, at most as long as a row."""
    return Prefix(text, layout.document(model.tokenizer, text)[: model.slots.context])


def write_documents(
    model: LanguageModel, block: slice, prefixes: Sequence[Prefix], space: int
) -> list[tuple[int, Prefix]]:
    """Begin row i of `block` with the first `space` ids of prefix i.

    Returns the rows that hold a whole document which is not kept yet, for `keep_documents`.
    """
    missing = []
    for row, prefix in enumerate(prefixes, start=block.start):
        kv = model.stored.find(prefix) if model.stored is not None and prefix.text else None
        if kv is not None:
            model.slots.copy_in(row, kv, min(len(prefix.ids), space), model.device)
        elif prefix.ids:
            missing.append((row, prefix))
    for _, neighbours in groupby(enumerate(missing), key=lambda item: item[1][0] - item[0]):
        run = [item for _, item in neighbours]
        model.write(slice(run[0][0], run[-1][0] + 1), [prefix.ids[:space] for _, prefix in run])
    return [(row, prefix) for row, prefix in missing if prefix.text and len(prefix.ids) <= space]


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
    block = model.slots.take(1)
    try:
        model.write(block, [prefix.ids], interrupt)
        return model.slots.copy_out(block.start, len(prefix.ids))
    finally:
        model.slots.give_back(block)
