"""The likeliest ids of each place, found on the device: a vocabulary is long, and the way to the processor slow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..sampling.heads import MASS, MAX_IDS, Heads
from ..segments import Wanted


def cut(probabilities: Tensor, wanted: Wanted) -> list[Heads]:
    """Return the likeliest ids of each segment, as `likeliest` finds them.

    `probabilities` are float32, [places, vocabulary], after all that a pass was asked for.
    """
    places = [at for heads in wanted.heads for at in heads]
    given = [pair for pairs in wanted.given for pair in pairs]
    found = probabilities if len(places) == len(probabilities) else probabilities[places]
    at, named = torch.tensor(given, device=probabilities.device).T if given else (None, None)
    wanted_probabilities = probabilities[at, named] if given else probabilities.new_zeros(0)
    heads, asked = sent(*likeliest(found), wanted_probabilities)()
    return _shared(heads, asked, wanted)


def likeliest(probabilities: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each place as few ids as hold MASS, at most MAX_IDS; all ids of a short vocabulary.

    The id that crosses MASS is included. Returns probabilities, and int32 ids that ascend; after them come 0, and an id
    that does not exist.
    """
    vocabulary = probabilities.shape[1]
    if vocabulary <= MAX_IDS:
        ids = torch.arange(vocabulary, dtype=torch.int32, device=probabilities.device)
        return probabilities, ids.expand_as(probabilities)
    values, ids = probabilities.topk(MAX_IDS)
    beyond = values.cumsum(-1) - values >= MASS
    ids, order = ids.masked_fill(beyond, vocabulary).sort()
    return values.masked_fill(beyond, 0.0).gather(-1, order), ids.int()


def sent(values: Tensor, ids: Tensor, beside: Tensor | None = None) -> Callable[[], tuple[Heads, NDArray[np.float32]]]:
    """Send heads, and numbers `beside` them, to the processor in one piece; the returned call waits for them."""
    size = values.numel()
    fragments = [values.flatten(), ids.flatten().view(torch.float32)]
    arrives = _on_its_way(torch.cat(fragments if beside is None else [*fragments, beside]))

    def arrived() -> tuple[Heads, NDArray[np.float32]]:
        numbers = arrives()
        here = numbers[size : 2 * size].view(torch.int32).view(ids.shape).numpy()
        return Heads(numbers[:size].view(values.shape).numpy(), here), numbers[2 * size :].numpy()

    return arrived


def _on_its_way(numbers: Tensor) -> Callable[[], Tensor]:
    """Copy numbers through memory that the device writes by itself; the returned call waits for them."""
    if numbers.device.type == "cpu":
        return lambda: numbers
    here = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
    here.copy_(numbers, non_blocking=True)
    there = torch.cuda.Event()
    there.record()

    def arrived() -> Tensor:
        there.synchronize()
        return here

    return arrived


def _shared(all_heads: Heads, asked: NDArray[np.float32], wanted: Wanted) -> list[Heads]:
    assert all_heads.ids is not None
    heads, first, start = list[Heads](), 0, 0
    for own, given in zip(wanted.heads, wanted.given, strict=True):
        last, end = first + len(own), start + len(given)
        heads.append(Heads(all_heads.probabilities[first:last], all_heads.ids[first:last], asked[start:end]))
        first, start = last, end
    return heads
