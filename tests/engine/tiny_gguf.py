"""A bundled model written as a GGUF file, as llama.cpp lays Llama out: what a converter must read back."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, PreTrainedModel

import hocket_models

NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write(file: Path, *, without: str = "", tokenizer: bool = True) -> PreTrainedModel:
    """Write the bundled device model in float32, `without` one tensor or its tokenizer; returns it."""
    folder = hocket_models.path("device")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    config, writer = model.config, gguf.GGUFWriter(str(file), "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    if tokenizer:
        _add_tokenizer(writer, json.loads((folder / "tokenizer.json").read_text(encoding="utf-8")))
    for name, weight in model.state_dict().items():
        place = _place(name)
        if place and place != without:
            writer.add_tensor(place, _laid_out(place, weight.float().numpy(), config.num_attention_heads))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model  # type: ignore[no-any-return]


def _add_tokenizer(writer: gguf.GGUFWriter, described: dict) -> None:
    fragments = sorted(described["model"]["vocab"].items(), key=lambda item: item[1])
    special = {token["content"] for token in described["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list([piece for piece, _ in fragments])
    writer.add_token_types([3 if piece in special else 1 for piece, _ in fragments])
    writer.add_token_merges([" ".join(pair) for pair in described["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)


def _place(name: str) -> str:
    if name == "model.embed_tokens.weight":
        return "token_embd.weight"
    if name == "model.norm.weight":
        return "output_norm.weight"
    if not name.startswith("model.layers."):
        return ""  # the head is the embedding
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{NAMES[rest.removesuffix('.weight')]}.weight"


def _laid_out(place: str, weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Queries and keys have the two halves of each head's rotations side by side."""
    if "attn_q." not in place and "attn_k." not in place:
        return weight
    halves = weight.reshape(heads, 2, -1, weight.shape[1])
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(weight.shape))
