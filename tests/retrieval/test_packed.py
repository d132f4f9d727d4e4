"""Laws of packed layers: they compute what the ordinary ones do, and cost no memory but their own."""

import pytest
import torch
from torch import nn

from hocket_retrieval.packed import PackedLinear, packed


@pytest.mark.parametrize("rows", [1, 7, 12, 40, 300])
@pytest.mark.parametrize("bias", [True, False])
def test_a_packed_layer_computes_what_the_ordinary_one_does(rows: int, bias: bool) -> None:
    """For any number of rows."""
    torch.manual_seed(rows)
    linear = nn.Linear(48, 80, bias=bias)
    given = torch.randn(2, rows, 48)
    with torch.inference_mode():
        torch.testing.assert_close(PackedLinear(linear)(given), linear(given), rtol=1e-5, atol=1e-5)


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


def test_a_layer_that_cannot_be_packed_stays_as_it_is() -> None:
    """Nothing is laid out anew in a precision that oneDNN has no product for."""
    twin = packed(nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8).double()))
    assert [type(layer) for layer in twin] == [PackedLinear, nn.Linear]
