"""Captured graphs of a GPU: what hundreds of launches cost is paid once. Their shapes are fixed."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

Step: TypeAlias = Callable[[], Tensor]
TRIES = 5
Capture: TypeAlias = Callable[[Step], Step]


def cuda_graphs() -> Capture:
    """Return a function that captures what a step launches; its result launches that again, into the same tensors.

    All captures share the memory that they compute in: a result is to be taken before the next one is launched.
    """
    pool = torch.cuda.graph_pool_handle()

    def capture(step: Step) -> Step:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries set themselves up at a first call, which no graph may hold
            step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):  # others may use the device
            result = step()

        def replay() -> Tensor:
            graph.replay()
            return result

        return replay

    return capture


def doubled(minimum: int, maximum: int) -> list[int]:
    """Return `minimum`, doubled until `maximum`, which is the last."""
    bounds = [min(minimum, maximum)]
    while bounds[-1] < maximum:
        bounds.append(min(2 * bounds[-1], maximum))
    return bounds


def bound(bounds: Sequence[int], number: int) -> int:
    """The least of the ascending `bounds` that is no less than `number`."""
    return bounds[bisect_left(bounds, number)]


def seconds(replay: Callable[[], object], device: torch.device) -> float:
    """Return the seconds that a graph takes on its device, the least of a few tries."""
    took_s = []
    for _ in range(TRIES):
        _finish(device)
        began_s = time.monotonic()
        replay()
        _finish(device)
        took_s.append(time.monotonic() - began_s)
    return min(took_s)


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
