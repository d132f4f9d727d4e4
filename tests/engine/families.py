"""Models of many architectures with random weights, as folders that a model opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

import hocket_models

VOCABULARY = 2048
_ROPE: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128,
}  # fmt: skip
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": _ROPE,
    "mistral": _ROPE | {"sliding_window": None},
    "qwen2": _ROPE,
    "qwen3": _ROPE | {"head_dim": 8},
    "phi3": _ROPE | {"pad_token_id": 2},
    "granite": _ROPE | {"attention_multiplier": 0.4, "embedding_multiplier": 3.0, "logits_scaling": 2.0},
    "smollm3": _ROPE | {"no_rope_layers": [1, 0]},
    "gemma": _ROPE | {"head_dim": 8},
    "gemma2": _ROPE | {"head_dim": 8, "sliding_window": 16},
    "gemma3_text": _ROPE | {"head_dim": 8, "sliding_window": 16},
    "opt": {
        "hidden_size": 32, "ffn_dim": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "word_embed_proj_dim": 32,
        "max_position_embeddings": 128,
    },
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128},
    "gpt_neox": {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "max_position_embeddings": 128,
    },
}  # fmt: skip


def save(family: str, folder: Path, *, vocabulary: int = VOCABULARY, **changed: Any) -> Path:
    """A model of the family with the bundled tokenizer; `changed` are keys of its configuration."""
    options = {"vocab_size": vocabulary, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    config = AutoConfig.for_model(family, **options | FAMILIES[family] | changed)
    torch.manual_seed(5)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    for weight in model.parameters():
        if weight.ndim > 1:  # distributions that are far from even
            torch.nn.init.normal_(weight, std=0.5)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(hocket_models.path("device")).save_pretrained(folder)
    return folder
