"""Check a model: its log-probabilities of a fixed text beside those of the float weights, and in a batch.

A batch is compared by the total variation distance of the next token's distributions. Coupled drafts of distributions P
and Q agree with probability (1 − D) / (1 + D) at least, D being their distance (Daliri et al. 2024): that is its cost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..language_model import LanguageModel
from ..sampling.heads import Heads
from ..segments import Segment

TEXT = (
    "The lighthouse at the mouth of the river was built in 1874, after two ships were lost within a single winter. "
    "Its keeper wrote down the weather every evening, and his notebooks are still read by people who study storms."
)
MAX_NATS = 0.2  # a token, worse than the float weights
# Of the distribution, on average, chosen: with llama.cpp 0.02 to 0.03 were seen of quantised weights.
MAX_BY_BATCH = {"float32": 0.001, "bfloat16": 0.05, "float16": 0.01, "quantised": 0.05}
MANY = 8  # a CPU reads up to four rows in one shape
BLOCKS = 3  # of a prompt, each read from the start
PAIR = 2  # rows of a side in a question over two passages
_MINIMUM = 1e-30  # of a probability: below it float32 has none


@dataclass(frozen=True, slots=True)
class Check:
    """Nats a token of TEXT, how much worse that is than the float weights, and what a batch changes.

    `batch_changes` is the mean distance in [0, 1] between the distributions of a row alone and of one in a batch.
    """

    model: str
    dtype: str
    nats: float
    worse_by: float | None  # None: of no others the cost is known
    batch_changes: float
    step_ms: float  # of a decode step of two rows, the median
    refused: str  # why it is not to be used; empty: nothing is wrong
    prompt_ms: float = 0.0  # of a token of a prompt, read in blocks; 0: not measured

    def lines(self) -> list[str]:
        """Return the results as lines of text for people."""
        return [
            f"{self.model}, {self.dtype}",
            f"nats a token of a fixed text       {self.nats:.4f}",
            self._beside_floats(),
            f"a batch of {MANY} moves                  {self.batch_changes:.2%} of the next token's probability",
            f"a decode step of {PAIR} rows             {self.step_ms:.1f} ms",
            f"a token of a prompt                {self.prompt_ms:.1f} ms",
        ]

    def _beside_floats(self) -> str:
        if self.worse_by is not None:
            return f"worse than the float weights by    {self.worse_by:.4f} (at most {MAX_NATS:g})"
        return "these are the float weights" if self.dtype == "float32" else "what the float weights cost is not known"


def check(model: LanguageModel, floats: float | None = None) -> Check:
    """Check a model; `floats` are the nats a token of its float weights, where they are known."""
    ids = model.prompt(TEXT, "complete")
    alone, many = read_in_rows(model, ids, 1), read_in_rows(model, ids, MANY)
    nats = float(_surprises(alone).mean())
    worse = None if floats is None else nats - floats
    changes = float(np.mean([_distance(*two, model.vocabulary) for two in zip(alone, many, strict=True)]))
    refused = refusal(worse or 0.0, changes, model.precision)
    return Check(model.name, model.precision, nats, worse, changes, step_ms(model, ids), refused, prompt_ms(model, ids))


def nats_of(model: LanguageModel) -> float:
    """Return the nats a token of TEXT, read token by token."""
    return float(surprises(model, model.prompt(TEXT, "complete"), 1).mean())


def refusal(worse_by: float, batch_changes: float, dtype: str) -> str:
    """Return why a model with these figures must not be used; empty where nothing is wrong."""
    if not worse_by <= MAX_NATS:  # not a number is no figure either
        return f"its tokens cost {worse_by:.2f} nats more than those of the float weights, {MAX_NATS:g} is the most"
    if not batch_changes <= MAX_BY_BATCH[dtype]:
        most = MAX_BY_BATCH[dtype]
        return f"a batch moves {batch_changes:.2%} of the next token's probability; {dtype} explains {most:.1%}"
    return ""


def step_ms(model: LanguageModel, ids: list[int]) -> float:
    """The median time of a decode step of two rows along a text, in ms."""
    rows, took_s = model.slots.take(PAIR), []
    try:
        for token in ids:
            began_s = time.perf_counter()
            model.read([Segment(rows, [[token]] * PAIR)])
            took_s.append(time.perf_counter() - began_s)
    finally:
        model.slots.give_back(rows)
    return float(np.median(took_s)) * 1e3


def prompt_ms(model: LanguageModel, ids: list[int]) -> float:
    """The least time of a token of a prompt that one forward pass reads, in ms."""
    length = min(model.prefill_tokens, model.slots.context // 2)
    block = (ids * (length // len(ids) + 1))[:length]
    return min(_read_s(model, block) for _ in range(BLOCKS)) * 1e3 / length


def _read_s(model: LanguageModel, block: list[int]) -> float:
    rows = model.slots.take(1)
    began_s = time.perf_counter()
    try:
        model.read([Segment(rows, [block])])
    finally:
        model.slots.give_back(rows)
    return time.perf_counter() - began_s


def surprises(model: LanguageModel, ids: list[int], rows: int) -> NDArray[np.float64]:
    """Return minus the log-probability of each token after those before it, [tokens - 1], read in `rows` rows."""
    return _surprises(read_in_rows(model, ids, rows))


def read_in_rows(model: LanguageModel, ids: list[int], rows: int) -> list[Heads]:
    """Return the next-token distribution after each token of a text but the last, in the first of `rows` rows.

    In `given` each has the probability of the token that follows. The text is read token by token; the other rows read
    it from other places on.
    """
    taken = model.slots.take(rows)
    try:
        return [_first(model.read([_beside(taken, ids, at)])[0]) for at in range(len(ids) - 1)]
    finally:
        model.slots.give_back(taken)


def _first(heads: Heads) -> Heads:
    """Copy the first row's distribution, so that it may be stored: a pass reuses its memory."""
    first = heads.at(0)
    ids = None if first.ids is None else first.ids.copy()
    return Heads(first.probabilities.copy(), ids, heads.given[:1].copy())


def _surprises(read: list[Heads]) -> NDArray[np.float64]:
    given = np.array([heads.given[0] for heads in read], np.float64)
    return np.asarray(-np.log(np.maximum(given, _MINIMUM)))


def _distance(one: Heads, other: Heads, vocabulary: int) -> float:
    """The total variation distance of two distributions, in [0, 1]."""
    return float(np.abs(one.dense(vocabulary) - other.dense(vocabulary)).sum(dtype=np.float64)) / 2


def _beside(rows: list[int], ids: list[int], at: int) -> Segment:
    """Return a segment whose first row has the token at `at`, and asks for the next one's probability."""
    given = [[ids[at + 1]], *([[]] * (len(rows) - 1))]
    return Segment(rows, [[ids[(at + row) % len(ids)]] for row in range(len(rows))], given=given)
