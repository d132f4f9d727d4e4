"""Linear layers whose weights are laid out beforehand as oneDNN reads them, which suits few rows at a time.

What an ordinary layer does with few rows is bound by reading its weights in an order that suits many. For every number
of rows oneDNN compiles code that it keeps, half a MiB for each shape of a layer; so numbers of rows are few.
"""

from __future__ import annotations

import copy
import mmap
from itertools import chain
from typing import TypeVar

import structlog
import torch
from torch import Tensor, nn
from torch.nn import functional

log = structlog.get_logger(__name__)
M = TypeVar("M", bound=nn.Module)
UNPACKED = "layers are not packed, and slower for it"
NO_CODE = "the system forbids code made at run time"
ALLOW_CODE = "allow it to the service: systemctl edit hocket-device, MemoryDenyWriteExecute=no"
_ROWS = 16  # that the layout is for; others work as well
_PRECISIONS = (torch.float32, torch.bfloat16)


def rounded(rows: int) -> int:
    """Round a number of rows up to one that products are computed for. Fewer than four take no less time than four."""
    step = 2 if rows <= 32 else 4 if rows <= 64 else 16 if rows <= 192 else 64
    return max(4, -(-rows // step) * step)


class PackedLinear(nn.Module):
    """A layer that computes what `linear` does on a CPU, without its weight. Raises RuntimeError where it cannot."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = linear.weight.detach().to("meta")  # some architectures ask for its precision
        self.bias = linear.bias
        self._packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), _ROWS)

    def forward(self, rows: Tensor) -> Tensor:
        """Turn rows […, in] into […, out]."""
        number = rows.numel() // rows.shape[-1]
        more = rounded(number) - number
        if not more:
            return self._product(rows)
        flat = functional.pad(rows.reshape(number, -1), (0, 0, 0, more))
        return self._product(flat)[:number].view(*rows.shape[:-1], -1)

    def _product(self, rows: Tensor) -> Tensor:
        out: Tensor = torch.ops.mkldnn._linear_pointwise.default(rows, self._packed, self.bias, "none", [], "")
        return out


def may_make_code() -> bool:
    """Tell whether the system lets this process make code at run time, which oneDNN does."""
    try:
        mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()
    except PermissionError:
        return False
    return True


def pack(model: nn.Module) -> str:
    """Pack the linear layers of `model` for oneDNN, if it is there; the model cannot be trained or saved afterwards.

    Returns a line about the layers that could not be packed; empty where there are none.
    """
    if not torch.backends.mkldnn.is_available() or any(weight.device.type != "cpu" for weight in model.parameters()):
        return ""
    parents = [module for module in model.modules() if not isinstance(module, nn.Linear)]  # so that these are freed
    faults: list[str] = []
    for module in parents:
        for name, child in module.named_children():
            if isinstance(child, nn.Linear) and child.weight.dtype in _PRECISIONS:
                try:
                    setattr(module, name, PackedLinear(child))
                except RuntimeError as error:  # no instructions for the precision, or no leave to make code at run time
                    faults.append(str(error))
    if not faults:
        return ""
    reason = faults[0][:200] if may_make_code() else f"{NO_CODE}; {ALLOW_CODE}"
    log.warning(UNPACKED, layers=len(faults), reason=reason)
    return f"{UNPACKED}: {reason}"


def packed(model: M) -> M:
    """A copy of `model` with packed layers, which shares all other memory with it."""
    shared: dict[int, object] = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    for module in model.modules():  # a tokenizer may take more memory than all layers
        shared |= {id(value): value for value in vars(module).values() if not isinstance(value, dict)}
    twin: M = copy.deepcopy(model, shared)
    pack(twin)
    return twin
