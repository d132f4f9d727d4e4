"""The two shapes of model, growing the larger from the smaller, and the folder they are saved in."""

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

LAYERS = {"trunk": 4, "device": 4, "cloud": 6}
WIDTH, HEADS, INNER = 256, 4, 704


def build(stage: str, seed: int) -> LlamaForCausalLM:
    """A fresh fp32 model of the stage's depth."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=2048, hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=LAYERS[stage],
        num_attention_heads=HEADS, num_key_value_heads=HEADS, max_position_embeddings=2048, tie_word_embeddings=True,
        bos_token_id=0, eos_token_id=1, pad_token_id=2, attn_implementation="sdpa",
    )  # fmt: skip
    return LlamaForCausalLM(config)


def grow(trunk: dict[str, torch.Tensor], stage: str, seed: int) -> LlamaForCausalLM:
    """A model that computes what the trunk does; layers it has more are copies whose outputs start at zero."""
    model = build(stage, seed)
    source = _positions(LAYERS["trunk"], LAYERS[stage])
    state = {k: v for k, v in trunk.items() if ".layers." not in k}
    for layer, (origin, is_new) in enumerate(source):
        mine, theirs = f"model.layers.{layer}.", f"model.layers.{origin}."
        for key in [k for k in trunk if k.startswith(theirs)]:
            silent = is_new and key.endswith(("o_proj.weight", "down_proj.weight"))
            state[mine + key.removeprefix(theirs)] = torch.zeros_like(trunk[key]) if silent else trunk[key].clone()
    model.load_state_dict(state, strict=False)
    return model


def _positions(old: int, new: int) -> list[tuple[int, bool]]:
    """Which trunk layer each new layer is copied from: the additional ones follow the last `new - old`."""
    doubled = set(range(old - (new - old), old))
    return [(i, extra) for i in range(old) for extra in ((False, True) if i in doubled else (False,))]


def save(model: LlamaForCausalLM, state: dict[str, torch.Tensor], tokenizer: Path, folder: Path) -> None:
    """Write bf16 weights, configuration and tokenizer, loadable by AutoModelForCausalLM."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {k: v.to(torch.bfloat16).contiguous() for k, v in state.items() if k != "lm_head.weight"}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = {k: v for k, v in model.config.to_dict().items() if k not in {"_name_or_path", "transformers_version"}}
    config |= {"architectures": ["LlamaForCausalLM"], "dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    for file in tokenizer.iterdir():
        shutil.copy(file, folder / file.name)
