"""A text that one side writes from a prompt: read, decoded beside other sessions, and drawn with the shared noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hocket_bus.errors import HocketError
from hocket_bus.messages import Finish

from ..runtime.compute import Compute, Decoded
from ..runtime.grounded import Grounded
from ..runtime.sequences import Prefill, SequenceGroup
from ..sampling.distribution import Distribution
from ..sampling.drawing import Rule, sample
from ..sampling.heads import Heads, made
from ..text.detokenizer import Transcript


@dataclass(frozen=True, slots=True)
class Generated:
    """The result of a generation: all its ids, EOS included, and its text."""

    finish: Finish
    ids: list[int]
    text: str


class Drawn(NamedTuple):
    """A token, its natural log-probability, and the entropy of what it was drawn from, in nats; zeros unwatched."""

    token: int
    log_probability: float = 0.0
    entropy: float = 0.0


class Usage(NamedTuple):
    """Tokens that were read and written for a text, as whoever wrote it counts them."""

    prompt_tokens: int
    completion_tokens: int


class Generation:
    """A running generation: it begins at once, and ends by itself or when cancelled. Used on the main thread alone."""

    def __init__(
        self,
        compute: Compute,
        passes: Prefill[SequenceGroup],
        rule: Rule,
        mass: float,
        transcript: Transcript,
        *,
        on_token: Callable[[int, str], None],
        on_end: Callable[[Generated | HocketError], None],
        watches: bool = False,
    ) -> None:
        """Begin; `passes` reads the prompt into one row, with room for the transcript's `max_tokens`.

        Step t draws by `rule` from the likeliest ids that hold `mass` of the distribution after t tokens. `on_token`
        gets every id and the text that it completes, perhaps none; `on_end` comes once and last, with an error where
        no token can come any more. With `watches`, `drawn` tells how sure the model was of each token.
        """
        self.drawn: list[Drawn] = []
        self._watches = watches
        self.usage: Usage | None = None  # nobody is paid for it
        self._rule = rule
        self._mass = mass
        self._transcript = transcript
        self._on_token = on_token
        self._on_end = on_end
        self._ended = False
        self._grounded = Grounded(compute)
        self._grounded.read(passes, self._on_read)

    @property
    def text(self) -> str:
        """The text written so far."""
        return self._transcript.text

    def cancel(self) -> None:
        """End it as "cancelled" before this returns; nothing is called back later. An ended one stays as it is."""
        self._end(self._generated("cancelled"))

    def _on_read(self, outcome: SequenceGroup | HocketError) -> None:
        if isinstance(outcome, HocketError):
            self._end(outcome)
        else:
            self._decode()

    def _decode(self) -> None:
        rule, mass, step, watches = self._rule, self._mass, len(self._transcript.ids), self._watches

        def draw(heads: Heads) -> Drawn:
            found = made(heads, [], mass).distribution
            token = sample(rule, step, found)
            return _watched(found, token) if watches else Drawn(token)

        self._grounded.decode(self._transcript.ids, draw, self._on_drawn)

    def _on_drawn(self, outcome: Decoded[Drawn] | HocketError, _: float) -> None:
        if self._ended:
            return
        if isinstance(outcome, HocketError):
            self._end(outcome)
            return
        token = outcome.value.token
        piece, finish = self._transcript.add(token), self._transcript.finish
        if self._watches:
            self.drawn.append(outcome.value)
        if finish is None:  # before anybody is told, so that the compute thread need not wait for them
            self._decode()
        self._on_token(token, piece)
        if finish is not None:
            self._end(self._generated(finish))

    def _generated(self, finish: Finish) -> Generated:
        return Generated(finish, list(self._transcript.ids), self._transcript.text)

    def _end(self, end: Generated | HocketError) -> None:
        if not self._ended:
            self._ended = True
            self._grounded.close()
            self._on_end(end)


def _watched(found: Distribution, token: int) -> Drawn:
    chances = found.probabilities
    at = found.place(token)
    return Drawn(
        token,
        float(np.log(chances[at])) if at is not None else -np.inf,
        float(-(chances * np.log(np.maximum(chances, 1e-30))).sum()),
    )
