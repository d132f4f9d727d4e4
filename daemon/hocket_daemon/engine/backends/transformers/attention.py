"""Attention over slots: every segment of a pass reads its own rows where they lie, and nothing of anybody else's.

Registered with transformers, which hands the pass's plan through to it. Without a plan it is transformers' own.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as torch's own documentation has it
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
from transformers.modeling_utils import AttentionInterface

from hocket_bus.errors import BadConfiguration

from .slots import Plan, RowSpan

_NAME = "hocket_slots"
_STRANGE = ("softcap", "s_aux", "position_bias")  # parts of a score that only some models have


def use_slots(weights: PreTrainedModel) -> None:
    """Let a model's attention read slots. Raises BadConfiguration for a model whose attention cannot be replaced."""
    AttentionInterface.register(_NAME, _attend)
    AttentionMaskInterface.register(_NAME, sdpa_mask)
    if not getattr(weights, "_supports_attention_backend", False):
        raise _unfit(weights.config.model_type)
    weights.set_attn_implementation(_NAME)


def decoder_layers(weights: PreTrainedModel) -> nn.ModuleList:
    """The model's decoder layers, whatever the architecture calls them."""
    number = int(weights.config.get_text_config().num_hidden_layers)
    found = [module for module in weights.modules() if isinstance(module, nn.ModuleList) and len(module) == number]
    assert found, "a causal language model has a list of decoder layers"
    return found[0]


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    plan: Plan | None = None,
    **kwargs: Any,  # noqa: ANN401 - whatever an architecture hands to its attention
) -> tuple[Tensor, None]:
    """Attend by `plan`: `query` is [1, heads, tokens, width], `key` and `value` [slots, heads, context, width]."""
    if plan is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **kwargs)
    if any(kwargs.get(name) is not None for name in _STRANGE):
        raise _unfit(str(getattr(module.config, "model_type", "this model")))
    sizes = [run.tokens for run in plan.runs]
    again = query.shape[2] - sum(sizes)  # of the last token, whose keys are its own
    *parts, _ = query[0].transpose(0, 1).split([*sizes, again])
    seen = [_attend_run(run, part, key, value, scaling) for run, part in zip(plan.runs, parts, strict=True)]
    return torch.cat([*seen, seen[-1][-1:].expand(again, -1, -1)])[None], None


def _attend_run(run: RowSpan, query: Tensor, key: Tensor, value: Tensor, scaling: float | None) -> Tensor:
    """Attend over one span of rows; `query` and the result are [rows · tokens, heads, width].

    Query heads that share a key head become further tokens of it, so that no key is repeated.
    """
    keys, values = key[run.rows, :, : run.length], value[run.rows, :, : run.length]
    rows, shared = keys.shape[:2]
    width, group = len(query) // rows, query.shape[1] // shared
    if width == 1:
        folded = query.view(rows, shared, group, -1)
    else:
        folded = query.view(rows, width, shared, group, -1).permute(0, 2, 3, 1, 4).flatten(2, 3)
    mask = run.mask
    if mask is not None and width > 1 and group > 1:
        mask = mask.repeat(1, 1, group, 1)
    seen = F.scaled_dot_product_attention(folded, keys, values, attn_mask=mask, scale=scaling)
    if width == 1:
        return seen.reshape(query.shape[0], query.shape[1], -1)
    unfolded = seen.view(rows, shared, group, width, -1).permute(0, 3, 1, 2, 4)
    return unfolded.reshape(len(query), query.shape[1], -1)


def _unfit(kind: str) -> BadConfiguration:
    return BadConfiguration(f"the attention of {kind} models is not supported", "name another, such as Qwen2.5")
