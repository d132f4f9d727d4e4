"""The likeliest ids of each place, found on the device: a vocabulary is long, and the way to the processor slow."""

from __future__ import annotations

import torch
from torch import Tensor

from ..sampling.heads import MASS, MAX_IDS, Heads
from ..segments import Wanted


def cut(probabilities: Tensor, wanted: Wanted) -> list[Heads]:
    """Of each segment as few ids as hold MASS, the crossing one included, and at most MAX_IDS.

    `probabilities` are float32, [places, vocabulary], behind all that a pass was asked for; a vocabulary has more ids.
    """
    places = [at for heads in wanted.heads for at in heads]
    given = [pair for pairs in wanted.given for pair in pairs]
    found = probabilities if len(places) == len(probabilities) else probabilities[places]
    values, ids = found.topk(MAX_IDS)
    beyond = values.cumsum(-1) - values >= MASS
    ids, order = ids.masked_fill(beyond, probabilities.shape[1]).sort()
    values = values.masked_fill(beyond, 0.0).gather(-1, order)
    at, named = torch.tensor(given, device=probabilities.device).T if given else (None, None)
    wanted_probabilities = probabilities[at, named] if given else probabilities.new_zeros(0)
    together = torch.cat([values.flatten(), ids.int().flatten().view(torch.float32), wanted_probabilities])
    return _shared(_on_the_processor(together), wanted, len(places))


def _on_the_processor(numbers: Tensor) -> Tensor:
    """Through memory that the device writes by itself."""
    if numbers.device.type == "cpu":
        return numbers
    here = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
    here.copy_(numbers, non_blocking=True)
    torch.cuda.current_stream().synchronize()
    return here


def _shared(numbers: Tensor, wanted: Wanted, places: int) -> list[Heads]:
    size = places * MAX_IDS
    values = numbers[:size].view(places, MAX_IDS).numpy()
    ids = numbers[size : 2 * size].view(torch.int32).view(places, MAX_IDS).numpy()
    wanted_probabilities, heads, first, start = numbers[2 * size :].numpy(), [], 0, 0
    for own, given in zip(wanted.heads, wanted.given, strict=True):
        last, end = first + len(own), start + len(given)
        heads.append(Heads(values[first:last], ids[first:last], wanted_probabilities[start:end]))
        first, start = last, end
    return heads
