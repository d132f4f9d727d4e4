"""An example as the ids that a device reads while its text is composed, and those that are to follow."""

from __future__ import annotations

from typing import NamedTuple

from transformers import PreTrainedTokenizerBase

from hocket_bus.messages import Takeaway
from hocket_daemon.composition.memory import Item
from hocket_daemon.composition.reference import make_reference
from hocket_daemon.composition.window import Encoding
from hocket_daemon.engine.text.tokenizer import Worded

from .examples import Example

MAX_LEARNED = 96  # ids of a completion


class Lesson(NamedTuple):
    """A prompt, and the `label` that is learned to follow it, both as token ids."""

    prompt: list[int]
    label: list[int]


class Reading:
    """The tokenizer of a model, used as the completer uses a model's."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._worded = Worded(tokenizer)
        self.encode = Encoding(self._worded.continued, lambda _: True).ids

    def lesson(self, example: Example) -> Lesson:
        """Return the lesson of an example: the reference with the typed text after it, and the label."""
        items = tuple(Item("cloud", Takeaway(text=text, document=""), 0) for text in example.takeaways)
        reference = make_reference(self._worded, items, "", None)
        label = self._worded.continued(example.rest)[:MAX_LEARNED]
        return Lesson([*reference.ids, *self.encode(example.typed)], label)
