"""An answer's steps as they travel in a Target: token ids, or words."""

from __future__ import annotations

from collections.abc import Sequence

from hocket_bus.errors import BadMessage, BadRequest
from hocket_bus.messages import Target, Unit

from ...engine.text.words import CAP, number_of, readable, word_of

ANOTHER_TOKENIZER = (
    "the models of the two sides have different tokenizers",
    "use models of one family, or leave unit = auto under [aggregation]",
)


class Targets:
    """The tokens of targets."""

    def __init__(self, vocabulary: int) -> None:
        """Prepare; `vocabulary` is the number of the model's tokens."""
        self._vocabulary = vocabulary

    def pack(self, steps: Sequence[int]) -> tuple[list[int], list[bytes]]:
        """Return the ids and the words of a target."""
        return list(steps), []

    def unpack(self, message: Target) -> list[int]:
        """Return a target's steps. Raises BadRequest for a token that the model does not have."""
        self.check(message.ids)
        return message.ids

    def read(self, message: Target) -> list[int]:
        """Return a target's steps. Raises BadMessage for what cannot be one."""
        try:
            return self.unpack(message)
        except BadRequest as error:
            raise BadMessage(error.text) from error

    def check(self, tokens: Sequence[int]) -> None:
        """Raise BadRequest for a token that the model does not have."""
        if max(tokens, default=0) >= self._vocabulary:
            raise BadRequest("the other side sent a token that this model does not have", "use models of one family")


class WordTargets(Targets):
    """The words of targets, each by its number."""

    def pack(self, steps: Sequence[int]) -> tuple[list[int], list[bytes]]:
        """Return the ids and the words of a target."""
        return [], [word_of(number) for number in steps]

    def unpack(self, message: Target) -> list[int]:
        """Return the numbers of a target's words. Raises BadRequest for what is no word."""
        return [number_sent(word) for word in message.words]


def targets_of(unit: Unit, vocabulary: int) -> Targets:
    """Return how the steps of a session travel."""
    return WordTargets(vocabulary) if unit == "word" else Targets(vocabulary)


def number_sent(word: bytes) -> int:
    """Return the number of a word of the other side's. Raises BadRequest for what is no word."""
    if len(word) > CAP or readable(word) != word:
        raise BadRequest("the other side sent what is no word", "install the same hocket on both ends")
    return number_of(word)
