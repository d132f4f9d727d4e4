"""The model that learns, all of it or an adapter of low rank (LoRA), and the folder that it is written to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

import torch
from torch.nn import Module
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from hocket_bus.errors import BadConfiguration
from hocket_bus.missing import lack
from hocket_daemon.engine.backends.automatic import place_of
from hocket_daemon.engine.backends.transformers.adapter import ADAPTER, ADAPTER_CONFIG
from hocket_daemon.engine.backends.transformers.loading import load

if TYPE_CHECKING:
    from peft import PeftModel

RANK, SCALE = 8, 16


class Pupil:
    """A model in float32 that can be trained, its tokenizer, and how it is written down."""

    def __init__(self, name: str, *, lora: bool, seed: int) -> None:
        """Load the model `name`, as under [model]; `seed` draws an adapter's first weights. Raises BadConfiguration."""
        self._name = name
        self._lora = lora
        self._base, self.tokenizer = load(place_of(name, "device"), torch.float32, torch.device("cpu"))
        torch.manual_seed(seed)
        self.model: Module = _adapted(self._base) if lora else self._base
        self.model.train()

    def write(self, folder: Path) -> None:
        """Write weights in bfloat16 to a folder, which [model] name, or [composition] model, may name."""
        folder.mkdir(parents=True, exist_ok=True)
        if self._lora:
            _write_adapter(cast("PeftModel", self.model), self._name, folder)
        else:
            _write_model(self._base, self.tokenizer, folder)


def _adapted(base: PreTrainedModel) -> Module:
    """The model with small matrices beside all of its large ones, which stay as they are."""
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise BadConfiguration(*lack("peft, for --lora,", "peft", "pip install 'hocket[train]'", error)) from error
    return get_peft_model(base, LoraConfig(r=RANK, lora_alpha=SCALE, target_modules="all-linear"))


def _write_adapter(model: PeftModel, base: str, folder: Path) -> None:
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    weights = {name: each.to(torch.bfloat16).contiguous() for name, each in get_peft_model_state_dict(model).items()}
    save_file(weights, folder / ADAPTER, metadata={"format": "pt"})
    described = {"peft_type": "LORA", "base_model_name_or_path": base, "r": RANK, "lora_alpha": SCALE,
                 "target_modules": "all-linear", "task_type": "CAUSAL_LM"}  # fmt: skip
    (folder / ADAPTER_CONFIG).write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def _write_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    model.bfloat16().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
