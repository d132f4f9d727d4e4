"""Linear layers for few rows at a time, as a query has, their weights laid out beforehand as oneDNN reads them.

What an ordinary layer does then is bound by reading its weights in an order that suits many rows.
"""

from __future__ import annotations

import copy
from itertools import chain
from typing import TypeVar

import torch
from torch import Tensor, nn

M = TypeVar("M", bound=nn.Module)
_ROWS = 12  # tokens of a query; others work as well


class PackedLinear(nn.Module):
    """Computes what `linear` does, in float32 on a CPU; its weight is still there for code that looks at it."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        self._packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), _ROWS)

    def forward(self, rows: Tensor) -> Tensor:
        """[…, in] to […, out]."""
        out: Tensor = torch.ops.mkldnn._linear_pointwise(rows, self._packed, self.bias, "none", [], "")
        return out


def packed(model: M) -> M:
    """A copy of `model` with packed layers, which shares all other memory with it; `model` where oneDNN is wanting."""
    if not torch.backends.mkldnn.is_available() or any(weight.device.type != "cpu" for weight in model.parameters()):
        return model
    shared = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    twin: M = copy.deepcopy(model, shared)
    for module in list(twin.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Linear) and child.weight.dtype == torch.float32:
                setattr(module, name, PackedLinear(child))
    return twin
