"""The probability that a passage answers a question, by its meaning and by the question's words that it has. Pure.

It is a logistic model of three inputs: the cosine of question and passage, and the shares of the question's words, by
their rarity, that the passage has with the names above it, and that these names have by themselves. It depends on no
other passage, so that scores of two sides compare. What is found by words and meaning together, the best first, has a
bonus for its place. `hocket bench relevance` fits the model, and shows how often a probability holds.

A passage in another language has hardly a word of the question. With an embedder of many languages its meaning alone
may do (`hocket bench languages`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from math import exp, log
from typing import NamedTuple

from ..stores.protocol import Moment
from ..text import compounds
from ..text.lexical import MAX_TERMS, language_of, telling_words, words

MAX_COUNTED = 1_000  # chunks of a word


class Calibration(NamedTuple):
    """The coefficients of the three inputs and of the rank, and the intercept."""

    cosine: float
    words: float
    names: float
    rank: float
    intercept: float


class Calibrated(NamedTuple):
    """Calibrations for an embedder: of passages in the question's language, and of those `across` languages.

    `across` is None for an embedder that knows one language.
    """

    within: Calibration
    across: Calibration | None = None


SHIPPED = Calibration(cosine=3.2, words=3.5, names=4.5, rank=0.5, intercept=-4.1)
BY_EMBEDDER = {
    "cosine:9c7020a12d153f00": Calibrated(  # multilingual-e5-small
        SHIPPED._replace(intercept=-3.7),
        Calibration(cosine=10.0, words=0.0, names=0.0, rank=0.5, intercept=-4.7),
    ),
}
_LEAST = 1e-6  # of a probability


def scorer_of(embedder: str) -> str:
    """Return the name of the scorer that gives these probabilities, with an embedder of this fingerprint."""
    meant = f"{embedder} {BY_EMBEDDER.get(embedder, SHIPPED)}"
    return f"probability:{hashlib.sha256(meant.encode()).hexdigest()[:16]}"


class Telling(NamedTuple):
    """The words of a question that tell something, by how rare each is where it is searched.

    The weights are inverse document frequencies: a word that stands nowhere counts most. `language` is the question's.
    """

    weights: Mapping[str, float]
    calibrated: Calibrated = Calibrated(SHIPPED)
    language: str = ""

    @classmethod
    def of(cls, moment: Moment, text: str, embedder: str) -> Telling:
        """Count the words among all chunks; `embedder` is the fingerprint of the one that makes the cosines."""
        _, chunks = moment.totals()
        counted = {word: moment.frequency(word, MAX_COUNTED) for word in telling_words(text)[:MAX_TERMS]}
        weights = {word: log((chunks + 2) / (frequency + 1)) for word, frequency in counted.items()}
        return cls(weights, BY_EMBEDDER.get(embedder, Calibrated(SHIPPED)), language_of(text))

    def share(self, held: frozenset[str]) -> float:
        """Sum the weights of the words that are held, as a share of all, in [0, 1]."""
        total = sum(self.weights.values())
        found = sum(self.weights[word] for word in self.weights.keys() & held)
        return min(1.0, found / total) if total else 0.0  # sums differ in a bit

    def shares(self, text: str, names: str) -> tuple[float, float]:
        """Return the shares of a passage with the names above it, and of these names by themselves."""
        above = self._held(names)
        return self.share(above | self._held(text)), self.share(above)

    def _held(self, text: str) -> frozenset[str]:
        """Return the words of a text, and those of the question that are in compounds there."""
        held = frozenset(words(text))
        return held | compounds.held(self.weights.keys() - held, self.language, held)

    def probability(self, cosine: float, text: str, names: str) -> float:
        """Return the probability, in (0, 1), that a passage below these names answers."""
        inputs = cosine, *self.shares(text, names)
        within, across = _log_odds(self.calibrated.within, *inputs), self.calibrated.across
        if across is None or language_of(text) == self.language:
            return _probability(within)
        return _probability(max(within, _log_odds(across, *inputs)))  # of a row or a list no language is sure


def placed(probabilities: Sequence[float], rank: float) -> float:
    """Return the probability of a passage by all forms of a question, from that by each and its rank, in [0, 1].

    Any form may be the one that is meant: the mean of the probabilities is taken. The rank is the mean of 1 / place.
    """
    mean = min(max(sum(probabilities) / len(probabilities), _LEAST), 1.0 - _LEAST)
    return _probability(log(mean / (1.0 - mean)) + SHIPPED.rank * rank)


def _log_odds(of: Calibration, cosine: float, words: float, names: float) -> float:
    return of.cosine * cosine + of.words * words + of.names * names + of.intercept


def _probability(log_odds: float) -> float:
    return 1.0 / (1.0 + exp(-log_odds))
