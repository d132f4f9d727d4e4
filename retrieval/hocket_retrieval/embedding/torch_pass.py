"""Passes of torch over batches of texts, as unit vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
Features: TypeAlias = dict[str, Any]  # what a model is called with
Call: TypeAlias = Callable[[Features], torch.Tensor]
_BATCH = 32


def of_texts(texts: Sequence[str], width: int, encode: Callable[[list[str]], Vectors]) -> Vectors:
    """Return the vectors of texts, [texts, width], which are encoded in batches of like lengths: these pad little."""
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    rows = np.empty((len(texts), width), dtype=np.float32)
    for first in range(0, len(order), _BATCH):
        batch = order[first : first + _BATCH]
        rows[batch] = encode([texts[row] for row in batch])
    return rows


def encoded(call: Call, tokens: Features, device: torch.device, *, threads: int, bfloat16: bool) -> Vectors:
    """Return the unit vectors of tokens, computed on the `device`, on a CPU with so many threads."""
    moved = {key: value.to(device) for key, value in tokens.items() if torch.is_tensor(value)}
    torch.set_num_threads(threads)  # of this thread
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
        vectors = call(tokens | moved).float()
        unit: Vectors = torch.nn.functional.normalize(vectors, dim=1).cpu().numpy()
    return unit


def in_bfloat16(precision: str, device: torch.device) -> bool:
    """Tell whether texts are computed in bfloat16 on the `device`, by the setting `precision`."""
    return precision == "bfloat16" or (precision == "auto" and device.type == "cpu" and computes_bfloat16())


def computes_bfloat16(processor: Path = Path("/proc/cpuinfo")) -> bool:
    """Tell whether this machine's processor has instructions for products of bfloat16; False where that is unknown."""
    try:
        flags = {*processor.read_text(encoding="utf-8").split()}
    except OSError:
        return False
    return not flags.isdisjoint({"avx512_bf16", "amx_bf16"})
