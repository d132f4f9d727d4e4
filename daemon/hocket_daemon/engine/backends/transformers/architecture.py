"""What a published model's configuration says of it, by the names that families of models have in common."""

from __future__ import annotations

from transformers import GenerationConfig, PreTrainedConfig, PreTrainedTokenizerBase

from ...language_model import Shape


def shape_of(config: PreTrainedConfig, vocabulary: int) -> Shape:
    """A hidden layer is four times as wide if nothing is said."""
    width = int(config.hidden_size)
    hidden = getattr(config, "intermediate_size", None) or getattr(config, "ffn_dim", None) or 4 * width
    return Shape(int(config.num_hidden_layers), width, int(config.num_attention_heads), int(hidden), vocabulary)


def ends_of(generation: GenerationConfig | None, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The ids that end an answer, ascending."""
    configured = generation.eos_token_id if generation is not None else None
    listed = configured if isinstance(configured, list) else [configured]
    return sorted({int(token) for token in [*listed, tokenizer.eos_token_id] if token is not None})


def context_of(config: PreTrainedConfig, asked: int, spare: int = 0) -> tuple[int, str]:
    """Tokens that a row may hold, `spare` positions left over, and why these are few; of a window no more than it."""
    context = min(asked, int(getattr(config, "max_position_embeddings", asked + spare)) - spare)
    window = getattr(config, "sliding_window", None)
    if window and window < context:  # up to its length a window hides nothing
        return int(window), f"rows hold {window} tokens, as the model looks back no further"
    return context, ""
