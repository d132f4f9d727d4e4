"""The work that a writer has done, in tokens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Work:
    """The work so far. Each row of passages counts its own tokens."""

    prompt: int = 0  # the whole prompt
    prefilled: int = 0  # what had to be computed of it, and of the answer's tokens that another side wrote
    decoded: int = 0  # steps that gave a token
    late: int = 0  # of them those that ended after the writer was told to hold, or to go on elsewhere
    retrieval_s: float = 0.0
    prefill_s: float = 0.0
