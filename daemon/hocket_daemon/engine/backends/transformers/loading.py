"""A model from disk: weights and tokenizer as transformers reads them, and nothing in its folder is ever run.

A folder may bring code of its own, and a pickled file of weights is code, too: both are refused. A folder with an
adapter alone names the model that it is added to.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from hocket_bus.errors import BadConfiguration
from hocket_retrieval.embedding.packed import ALLOW_CODE, NO_CODE, may_make_code

from ..automatic import place_of
from ..format_choice import GGUF, unreadable
from .adapter import add, base_of

_OWN_CODE = "trust_remote_code"  # transformers' word for it, also in its refusal


def load(place: str, dtype: torch.dtype, device: torch.device) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load weights and tokenizer. Raises BadConfiguration."""
    try:
        base = base_of(Path(place))
        if not base:
            return _loaded(place, dtype, device)
        weights, tokenizer = _loaded(place_of(base, "device"), torch.float32, device)
        add(weights, Path(place))
    except (OSError, ValueError, KeyError, AttributeError, RuntimeError, SafetensorError) as error:
        raise _refusal(place, error) from error
    return weights.to(dtype), tokenizer  # type: ignore[arg-type]


def _loaded(place: str, dtype: torch.dtype, device: torch.device) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    if (Path(place) / GGUF).exists() and not (Path(place) / "config.json").exists():
        raise unreadable(Path(place), "it has no float weights, which are needed here")
    tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False)
    weights = AutoModelForCausalLM.from_pretrained(
        place, dtype=dtype, device_map=None, trust_remote_code=False, use_safetensors=True
    ).eval()
    weights.to(device)
    return weights, tokenizer


def _refusal(place: str, error: Exception) -> BadConfiguration:
    reason = str(error)
    if _OWN_CODE in reason:
        return BadConfiguration(
            f"the model '{place}' needs its own code, which is never run", "use one that transformers supports"
        )
    if isinstance(error, OSError) and "safetensors" in reason:
        return BadConfiguration(
            f"the model '{place}' has no model.safetensors; pickled weights are not read, as they can run code",
            "convert them with transformers: model.save_pretrained(FOLDER)",
        )
    return BadConfiguration(
        f"the model '{place}' does not load ({' '.join(reason.split())[:200]})",
        "name a folder or a Hugging Face model under [model] name, or 'bundled'",
    )


def dtype_of(name: str, device: torch.device) -> torch.dtype:
    """The precision that `[model] dtype` names. Raises BadConfiguration."""
    if name == "auto":
        name = "bfloat16" if device.type == "cuda" else "float32"
    dtypes = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if name not in dtypes:
        raise BadConfiguration(f"unknown dtype '{name}' under [model]", f"use one of: auto, {', '.join(dtypes)}")
    if name == "bfloat16" and device.type == "cpu" and not may_make_code():
        raise BadConfiguration(f"[model] dtype = {name} on a CPU, but {NO_CODE}", f"take float32, or {ALLOW_CODE}")
    return dtypes[name]
