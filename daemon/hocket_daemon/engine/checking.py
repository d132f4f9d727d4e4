"""What a voice costs: its log-probabilities of a fixed text beside those of the float weights, and in a batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .segments import Segment
from .voice import Voice

TEXT = (
    "The lighthouse at the mouth of the river was built in 1874, after two ships were lost within a single winter. "
    "Its keeper wrote down the weather every evening, and his notebooks are still read by people who study storms."
)
MOST_NATS = 0.2  # a token, worse than the float weights
MOST_BY_BATCH = {"float32": 0.001, "bfloat16": 0.1, "float16": 0.02}  # nats at any token: chosen, not measured
MANY = 8  # a CPU reads up to four rows in one shape
_LEAST = 1e-30  # of a probability: below it float32 has none


@dataclass(frozen=True, slots=True)
class Check:
    """Nats a token of TEXT, how much worse that is than the float weights, and the most that a batch changes."""

    model: str
    dtype: str
    nats: float
    worse_by: float
    batch_changes: float
    refused: str  # why it is not to be used; empty: nothing is wrong

    def lines(self) -> list[str]:
        """For people."""
        return [
            f"{self.model}, {self.dtype}",
            f"nats a token of a fixed text       {self.nats:.4f}",
            f"worse than the float weights by    {self.worse_by:.4f} (at most {MOST_NATS:g})",
            f"a batch of {MANY} changes a token by    {self.batch_changes:.2g} at most",
        ]


def check(voice: Voice, reference: Voice, dtype: str) -> Check:
    """`reference` has the float weights of the same model, with the same tokenizer; it may be `voice` itself."""
    ids = voice.prompt(TEXT, "complete")
    alone, many = surprises(voice, ids, 1), surprises(voice, ids, MANY)
    nats = float(alone.mean())
    worse = nats - float(surprises(reference, ids, 1).mean())
    changes = float(np.abs(many - alone).max())
    return Check(voice.name, dtype, nats, worse, changes, refusal(worse, changes, dtype))


def refusal(worse_by: float, batch_changes: float, dtype: str) -> str:
    """Why a voice with these figures is not to be used; empty where nothing is wrong."""
    if not worse_by <= MOST_NATS:  # not a number is no figure either
        return f"its tokens cost {worse_by:.2f} nats more than those of the float weights, {MOST_NATS:g} is the most"
    if not batch_changes <= MOST_BY_BATCH[dtype]:
        return f"a batch changes a token by {batch_changes:.2g} nats, {dtype} explains {MOST_BY_BATCH[dtype]:g}"
    return ""


def surprises(voice: Voice, ids: list[int], rows: int) -> NDArray[np.float64]:
    """[tokens - 1]: minus the log-probability of each token behind those before it, in a row beside others.

    The text is read token by token; the other rows read it from other places on.
    """
    taken = voice.slots.take(rows)
    try:
        found = [
            voice.read([Segment(taken, [[ids[(at + row) % len(ids)]] for row in range(rows)])])[0][0]
            for at in range(len(ids) - 1)
        ]
    finally:
        voice.slots.give_back(taken)
    said = np.array([step[token] for step, token in zip(found, ids[1:], strict=True)], np.float64)
    return np.asarray(-np.log(np.maximum(said, _LEAST)))
