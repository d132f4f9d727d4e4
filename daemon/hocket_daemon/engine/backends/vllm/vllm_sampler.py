"""A sampler for vLLM that finds each row's likeliest ids as `cut` does, on the device, and sends them in one copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from vllm.v1.outputs import LogprobsLists, SamplerOutput
from vllm.v1.sample.sampler import Sampler

from ..cut import likeliest, sent


class HeadSampler(Sampler):  # type: ignore[misc,unused-ignore]
    """A sampler for requests that all ask for log-probabilities, and whose token is replaced whatever it is."""

    def __init__(self, vocabulary: int) -> None:
        """Create the sampler; ids from `vocabulary` on only pad the vocabulary, and get no mass."""
        super().__init__()
        self._vocabulary = vocabulary

    def forward(self, logits: Tensor, *_: Any, **__: Any) -> Any:  # noqa: ANN401 - vLLM's own
        """The likeliest id of each row, and its head."""
        probabilities = logits[:, : self._vocabulary].softmax(-1, dtype=torch.float32)
        drawn = probabilities.argmax(-1, keepdim=True).int()
        return SamplerOutput(sampled_token_ids=drawn, logprobs_tensors=_RowHeads(*likeliest(probabilities)))


class _RowHeads:
    """Heads in the place of vLLM's tensors of log-probabilities, of which vLLM needs only `tolists`."""

    def __init__(self, values: Tensor, ids: Tensor) -> None:
        self._arrives = sent(values, ids)

    def tolists(self) -> Any:  # noqa: ANN401 - vLLM's own
        """Ids and probabilities, without any rank."""
        heads, _ = self._arrives()
        return LogprobsLists(heads.ids, heads.probabilities, np.zeros(0, np.int32))
