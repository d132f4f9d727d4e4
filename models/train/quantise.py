"""A trained folder as a GGUF file beside its weights, which llama.cpp reads on a CPU; checked beside them and timed."""

import argparse
import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType, TokenType
from numpy.typing import NDArray
from safetensors.torch import load_file

from hocket_daemon.engine.backends.format_choice import GGUF
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.catalog.checking import nats_of
from hocket_tools.models.checked import settings
from hocket_tools.models.formats import check_file

_QUANTISED = GGMLQuantizationType.Q8_0
_NAMES = {  # of safetensors, and of GGUF
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "model.layers.": "blk.",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write(folder: Path, out: Path) -> None:
    """Matrices of eight bits, the rest in float32, with the tokenizer of the folder."""
    config, tokenizer = (json.loads((folder / name).read_text("utf-8")) for name in ("config.json", "tokenizer.json"))
    writer = gguf.GGUFWriter(out, "llama")
    _add_shape(writer, config)
    _add_tokenizer(writer, config, tokenizer)
    for name, weight in load_file(folder / "model.safetensors").items():
        _add(writer, name, weight.float().numpy(), config["num_attention_heads"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_shape(writer: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])


def _add_tokenizer(writer: gguf.GGUFWriter, config: dict[str, Any], tokenizer: dict[str, Any]) -> None:
    special = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    fragments = {id: piece for piece, id in tokenizer["model"]["vocab"].items()} | special
    ids = range(config["vocab_size"])
    writer.add_tokenizer_model("gpt2")  # byte-level
    writer.add_tokenizer_pre("smollm")  # every digit by itself
    writer.add_token_list([fragments[id] for id in ids])
    writer.add_token_types([TokenType.CONTROL if id in special else TokenType.NORMAL for id in ids])
    writer.add_token_merges(
        [merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]]
    )
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(False)


def _add(writer: gguf.GGUFWriter, name: str, weight: NDArray[np.float32], heads: int) -> None:
    if name.endswith(("q_proj.weight", "k_proj.weight")):
        weight = _interleaved(weight, heads)
    for theirs, ours in _NAMES.items():
        name = name.replace(theirs, ours)
    if weight.ndim == 1:
        writer.add_tensor(name, weight)
    else:
        writer.add_tensor(name, gguf.quants.quantize(weight, _QUANTISED), raw_dtype=_QUANTISED)


def _interleaved(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """The two halves of each head's rows in turn: GGUF's Llama rotates neighbours, transformers' the halves."""
    return np.ascontiguousarray(weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape))


def main() -> None:
    """For each folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="as train.py exports it")
    for folder in parser.parse_args().folders:
        write(folder, folder / GGUF)
        floats = TransformersModel(settings(str(folder), "float32"), "device")
        check_file(folder, nats_of(floats), print)


if __name__ == "__main__":
    main()
