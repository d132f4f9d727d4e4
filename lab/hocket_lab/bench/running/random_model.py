"""A model of random weights: as slow as its size makes it, for what does not depend on what a model says."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.settings import BUNDLED, ModelSettings

HEAD_WIDTH = 64


def save_random_model(folder: Path, *, width: int, layers: int, seed: int) -> None:
    """Write a Llama of random weights with the bundled models' tokenizer; `width` is in channels."""
    TransformersModel(ModelSettings(name=BUNDLED, slots=1), "device").tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    heads = max(1, width // HEAD_WIDTH)
    config = LlamaConfig(
        vocab_size=2048,
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
