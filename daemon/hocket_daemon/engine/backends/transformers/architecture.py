"""Facts in a published model's configuration, by the names that families of models have in common."""

from __future__ import annotations

from transformers import GenerationConfig, PreTrainedConfig, PreTrainedTokenizerBase

from ...language_model import Shape


def shape_of(config: PreTrainedConfig, vocabulary: int) -> Shape:
    """Return the model's sizes; a hidden layer counts as four times as wide where nothing is said."""
    width = int(config.hidden_size)
    hidden = getattr(config, "intermediate_size", None) or getattr(config, "ffn_dim", None) or 4 * width
    return Shape(int(config.num_hidden_layers), width, int(config.num_attention_heads), int(hidden), vocabulary)


def ends_of(generation: GenerationConfig | None, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The ids that end an answer, ascending."""
    configured = generation.eos_token_id if generation is not None else None
    listed = configured if isinstance(configured, list) else [configured]
    return sorted({int(token) for token in [*listed, tokenizer.eos_token_id] if token is not None})


def context_of(config: PreTrainedConfig, asked: int, spare: int = 0) -> tuple[int, str]:
    """Return the tokens that a row may hold, `spare` positions left and within any window, and why they are few."""
    context = min(asked, int(getattr(config, "max_position_embeddings", asked + spare)) - spare)
    window = getattr(config, "sliding_window", None)
    if window and window < context:  # up to its length a window hides nothing
        return int(window), f"rows hold {window} tokens, the model's attention window"
    return context, ""
