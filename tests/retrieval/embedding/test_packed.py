"""Laws of packed layers: they compute what the ordinary ones do, and cost no memory but their own."""

import subprocess
import sys
import weakref
from typing import Any

import pytest
import torch
from structlog.testing import capture_logs
from torch import nn
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

import hocket_retrieval.embedding.packed as packing
from hocket_retrieval.embedding.packed import PackedLinear, pack, packed, rounded
from waiting import WAIT_S


@pytest.mark.parametrize("rows", [1, 7, 12, 40, 300])
@pytest.mark.parametrize("bias", [True, False])
def test_a_packed_layer_computes_what_the_ordinary_one_does(rows: int, bias: bool) -> None:
    """For any number of rows."""
    torch.manual_seed(rows)
    linear = nn.Linear(48, 80, bias=bias)
    given = torch.randn(2, rows, 48)
    with torch.inference_mode():
        torch.testing.assert_close(PackedLinear(linear)(given), linear(given), rtol=1e-5, atol=1e-5)


class Heights(TorchDispatchMode):
    """The numbers of rows that products are computed for."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[int] = set()

    def __torch_dispatch__(
        self, func: OpOverload, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> object:
        if func is torch.ops.mkldnn._linear_pointwise.default:
            self.seen.add(args[0].numel() // args[0].shape[-1])
        return func(*args, **(kwargs or {}))


def test_products_have_few_heights() -> None:
    """For each of them oneDNN keeps code; what is computed in vain is at most three rows, or a third."""
    layer = PackedLinear(nn.Linear(8, 8))
    with torch.inference_mode(), Heights() as heights:
        for rows in range(1, 257):
            layer(torch.zeros(1, rows, 8))
    assert heights.seen == {rounded(rows) for rows in range(1, 257)}
    assert len(heights.seen) <= 32
    assert all(0 <= rounded(rows) - rows < max(4, rows / 3) for rows in range(1, 2000))


def test_the_copy_shares_what_it_does_not_pack() -> None:
    """Embeddings are one tensor; the model itself keeps its ordinary layers."""
    model = nn.Sequential(nn.Embedding(10, 8), nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)))
    twin = packed(model)
    assert twin[0].weight is model[0].weight
    assert twin[1][1].weight is model[1][1].weight
    assert isinstance(twin[1][0], PackedLinear)
    assert twin[1][0].weight.is_meta
    assert isinstance(model[1][0], nn.Linear)
    with torch.inference_mode():
        torch.testing.assert_close(twin(torch.arange(10)), model(torch.arange(10)), rtol=1e-5, atol=1e-5)


def test_weights_are_freed_as_others_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model takes the memory of one block more while it is packed, not its own again."""
    model = nn.Sequential(*[nn.Sequential(nn.Linear(8, 8, bias=False)) for _ in range(4)])
    alive = [weakref.ref(block[0].weight) for block in model]
    held: list[int] = []

    def noted(layer: nn.Linear) -> PackedLinear:
        held.append(sum(each() is not None for each in alive))
        return PackedLinear(layer)

    monkeypatch.setattr(packing, "PackedLinear", noted)
    pack(model)
    assert held == [4, 3, 2, 1]


def test_a_layer_that_cannot_be_packed_stays_as_it_is() -> None:
    """Nothing is laid out anew in a precision that oneDNN has no product for."""
    twin = packed(nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8).double()))
    assert [type(layer) for layer in twin] == [PackedLinear, nn.Linear]


def test_layers_that_the_system_refuses_to_pack_are_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay and compute as before; a line says how many and why."""

    def refused(layer: nn.Linear) -> PackedLinear:
        raise RuntimeError("could not create a primitive")

    monkeypatch.setattr(packing, "PackedLinear", refused)
    with capture_logs() as logs:
        twin = packed(nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 8))))
    assert [type(layer) for layer in (twin[0], twin[1][0])] == [nn.Linear, nn.Linear]
    assert [(line["layers"], line["reason"]) for line in logs] == [(2, "could not create a primitive")]


def test_where_no_code_may_be_made_layers_stay_and_say_how_it_is_allowed() -> None:
    """The kernel refuses it, as it does for a unit with MemoryDenyWriteExecute."""
    code = """
import ctypes
import torch
from torch import nn
from hocket_retrieval.embedding.packed import may_make_code, pack
assert may_make_code()
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN
    raise SystemExit(77)
model = nn.Sequential(nn.Linear(8, 8))
rows = torch.ones(3, 8)
before = model(rows)
print(pack(model), may_make_code(), torch.equal(model(rows), before))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT_S, check=False)
    if done.returncode == 77:
        pytest.skip("the kernel is older than 6.3")
    assert done.returncode == 0, done.stderr
    assert "MemoryDenyWriteExecute=no" in done.stdout
    assert done.stdout.endswith("False True\n")
