"""The observed first tokens of the server, and lengths of prompts and answers. Bounded, decaying, pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .ttfts import Ttfts

KEPT = 256  # requests that a profile looks back on at most
HALF_LIFE = 64.0  # requests after which one counts half: some 92 count in all, as all their weights' sum
MAX_QUANTILES = 32  # that are told between daemons
_SEED_WEIGHT = 8.0  # requests that quantiles told by the other side count as, all together
_SEED_FORGOTTEN = 16 * HALF_LIFE  # requests behind which nothing of them is left
_UNKNOWN_S = (0.2, 0.3, 0.5, 0.8, 1.3, 2.0, 5.0)  # of a server that nobody has told anything about


class ServerProfile:
    """Seconds to a server's first token, and of waits in which none came: the server was cancelled, the device won.

    To drop the latter would make the server look fast: it is cancelled when it is slow.
    """

    def __init__(self, quantiles_s: Sequence[float] = _UNKNOWN_S) -> None:
        self._seconds = np.zeros(KEPT)
        self._seen = np.ones(KEPT, np.bool_)
        self._number = 0  # of observations so far
        self._seed = np.sort(np.asarray(quantiles_s or _UNKNOWN_S, float))
        self._ttfts: Ttfts | None = None

    @classmethod
    def seeded(cls, quantiles_s: Sequence[float]) -> ServerProfile:
        """Return a profile that begins with equally likely seconds, as another side reported; empty: with a guess."""
        return cls(quantiles_s)

    @property
    def observations(self) -> int:
        """The number of requests it has seen."""
        return self._number

    def seed(self, quantiles_s: Sequence[float]) -> None:
        """Take over what the other side reports now, in place of what it reported before."""
        if quantiles_s:
            self._seed = np.sort(np.asarray(quantiles_s, float))
            self._ttfts = None

    def observe(self, ttft_s: float) -> None:
        """Record the seconds to the server's first token."""
        self._add(ttft_s, seen=True)

    def censor(self, waited_s: float) -> None:
        """Record the seconds after which the server was cancelled without a token."""
        self._add(waited_s, seen=False)

    def ttfts(self) -> Ttfts:
        """The distribution, by Kaplan and Meier; the same object until the next observation."""
        if self._ttfts is None:
            self._ttfts = self._estimated()
        return self._ttfts

    def cdf(self, t_s: float) -> float:
        """Return the probability that the first token is there within `t_s`."""
        return self.ttfts().at(t_s)

    def quantile(self, share: float) -> float:
        """The seconds within which `share` (0 to 1) of the first tokens are there."""
        return self.ttfts().quantile(share)

    def quantiles(self, number: int = MAX_QUANTILES) -> list[float]:
        """Return at most MAX_QUANTILES equally likely seconds to report, ascending; none before an observation."""
        number = min(number, MAX_QUANTILES)
        return [self.quantile((place + 0.5) / number) for place in range(number)] if self._number else []

    def _add(self, seconds: float, *, seen: bool) -> None:
        place = self._number % KEPT
        self._seconds[place] = seconds
        self._seen[place] = seen
        self._number += 1
        self._ttfts = None

    def _estimated(self) -> Ttfts:
        kept = min(self._number, KEPT)
        age = (self._number - 1 - np.arange(kept)) % KEPT if self._number > KEPT else kept - 1 - np.arange(kept)
        weights = 0.5 ** (age / HALF_LIFE)
        if self._number >= _SEED_FORGOTTEN:
            return Ttfts.of_censored(self._seconds[:kept], self._seen[:kept], weights)
        seed_weight = _SEED_WEIGHT * 0.5 ** (self._number / HALF_LIFE) / len(self._seed)
        return Ttfts.of_censored(
            np.concatenate((self._seconds[:kept], self._seed)),
            np.concatenate((self._seen[:kept], np.ones(len(self._seed), np.bool_))),
            np.concatenate((weights, np.full(len(self._seed), seed_weight))),
        )


class Lengths:
    """The numbers of tokens of recent prompts and answers. Before enough are known, guesses stand in for them."""

    KEPT = 128
    MINIMUM = 8  # requests before which the guesses count
    PROMPTS = (8, 16, 32, 64, 128, 256, 512, 1024)
    ANSWER = 128.0

    def __init__(self) -> None:
        self._prompts: deque[int] = deque(maxlen=self.KEPT)
        self._missing: deque[int] = deque(maxlen=self.KEPT)
        self._answers: deque[int] = deque(maxlen=self.KEPT)

    def observe(self, prompt_tokens: int, missing_tokens: int) -> None:
        """Record a prompt, of which the device has still to compute so many tokens."""
        self._prompts.append(prompt_tokens)
        self._missing.append(missing_tokens)

    def answered(self, tokens: int) -> None:
        """Record the tokens of an answer that was not cut short."""
        self._answers.append(tokens)

    def prompts(self) -> NDArray[np.int64]:
        """Tokens of the last prompts, [n], n > 0."""
        return self._known(self._prompts)

    def missing(self) -> NDArray[np.int64]:
        """Tokens of the last prompts that the device had still to compute, [n], n > 0."""
        return self._known(self._missing)

    def remaining(self, step: int) -> float:
        """Return the tokens that an answer of `step` tokens is expected to have still to come.

        They are the mean of the answers that were longer; where these are too few, the guess: an answer without memory.
        """
        longer = [tokens - step for tokens in self._answers if tokens > step]
        known = sum(longer) + self.ANSWER * max(0, self.MINIMUM - len(longer))
        return known / max(len(longer), self.MINIMUM)

    def _known(self, lengths: deque[int]) -> NDArray[np.int64]:
        return np.fromiter(lengths if len(lengths) >= self.MINIMUM else self.PROMPTS, np.int64)
