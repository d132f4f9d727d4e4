"""A tokenizer of twelve tokens, and models of it, small enough to enumerate all words."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from hocket_daemon.engine.text.word_tokens import WordTokens

# Two ways to say "ab", cuts inside tokens ("a b", "b\\nb"), words that begin softly or not at all, and two ends.
PIECES = ["<end>", "<stop>", "a", "b", "Ġ", "Ġa", "ab", "Ġab", "Ċ", "bĊb", "aĠb", "Ġb"]
MOST_TOKENS = 3  # of a word here: then something else must come


class Backend:
    """A tokenizer of these pieces, as WordTokens asks for it."""

    def __init__(self) -> None:
        described = {
            "version": "1.0",
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "post_processor": None,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {
                "type": "BPE",
                "vocab": {piece: id for id, piece in enumerate(PIECES)},
                "merges": [["a", "b"], ["Ġ", "ab"], ["Ġ", "a"], ["Ġ", "b"]],
            },
        }
        self.backend_tokenizer = Tokenizer.from_str(json.dumps(described))
        self.added_tokens_decoder = {0: "<end>", 1: "<stop>"}

    def get_vocab(self) -> dict[str, int]:
        """Every piece and its number."""
        return {piece: id for id, piece in enumerate(PIECES)}


TOKENS = WordTokens(Backend(), [0, 1], len(PIECES))  # type: ignore[arg-type]


def model(ids: list[int], side: int = 5) -> NDArray[np.float32]:
    """Return the probabilities of a side's next token after these."""
    return _model(tuple(ids), side)


@cache
def _model(ids: tuple[int, ...], side: int) -> NDArray[np.float32]:
    """It depends on all of them, and long words end."""
    weights = np.random.default_rng([side, *ids]).dirichlet(np.full(len(PIECES), 0.6)).astype(np.float32)
    if len(ids) >= MOST_TOKENS and all(PIECES[id][0] not in "ĠĊ" for id in ids[-MOST_TOKENS + 1 :]):
        weights[[at for at, piece in enumerate(PIECES) if piece[0] != "Ġ" and at > 1]] = 0
    return weights / weights.sum()
