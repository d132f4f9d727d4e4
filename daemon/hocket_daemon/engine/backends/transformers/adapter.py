"""An adapter of low rank (LoRA) as peft writes it: small matrices that are added to those of a base model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch.nn import Module

ADAPTER, ADAPTER_CONFIG = "adapter_model.safetensors", "adapter_config.json"
_PREFIX, _FIRST, _SECOND = "base_model.model.", ".lora_A.weight", ".lora_B.weight"


def base_of(folder: Path) -> str:
    """The name of the model that an adapter is for; empty where the folder has none."""
    return str(_config(folder)["base_model_name_or_path"]) if (folder / ADAPTER_CONFIG).is_file() else ""


@torch.no_grad()
def add(model: Module, folder: Path) -> None:
    """Add an adapter's matrices to its base model. Raises OSError, SafetensorError, ValueError."""
    config, weights = _config(folder), load_file(folder / ADAPTER)
    scale = float(config["lora_alpha"]) / int(config["r"])
    names = [name.removesuffix(_FIRST) for name in weights if name.endswith(_FIRST)]
    if not names or len(weights) != 2 * len(names):
        raise ValueError(f"{folder} has other weights than those of an adapter of low rank")
    for name in names:
        first, second = weights[name + _FIRST].float(), weights[name + _SECOND].float()
        matrix = model.get_submodule(name.removeprefix(_PREFIX)).get_parameter("weight")
        matrix.add_((scale * (second @ first)).to(matrix.dtype))


def _config(folder: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))
    return config
