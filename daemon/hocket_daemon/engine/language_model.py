"""The protocol of a language model: it reads, decodes, rolls back and stores documents.

Nothing here depends on transformers or torch: any engine that holds several rows of keys and values can implement it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from hocket_bus.messages import Task

from .preemption import Interrupt
from .sampling.heads import Heads
from .segments import Contents, Segment
from .text.tokenizer import Layout, Prefix
from .text.word_tokens import WordTokens


class Memory(Protocol):
    """A model's KV memory: rows that hold at most `context` tokens each."""

    @property
    def context(self) -> int:
        """Tokens that a row can hold."""

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens that each row holds."""

    def take(self, rows: int) -> list[int]:
        """Take free rows, now empty. Raises Busy, or BadRequest for more rows than there are."""

    def declare(self, row: int, contents: Contents) -> None:
        """Declare what a row will hold, before it is read. Raises Forbidden where that may not reach its reader."""

    def give_back(self, rows: Sequence[int]) -> None:
        """Free rows."""

    def roll_back(self, row: int, length: int) -> None:
        """Forget all but the first `length` tokens of a row, which holds at least as many."""


class DocumentStore(Protocol):
    """The documents whose keys and values a model stores on disk. Usable from any thread."""

    def has(self, prefix: Prefix) -> bool:
        """Tell whether there is an entry, sound or not."""

    def retain(self, texts: Iterable[bytes]) -> None:
        """Accept entries of `texts` alone from now on, and soon drop all others; `texts` are `text_digest`s."""

    def close(self) -> None:
        """Finish writing what waits to be written."""

    def fact(self) -> str:
        """A line for `hocket status`."""


class Shape(NamedTuple):
    """The sizes of a transformer on which the work for a token depends; `feed_forward` is the hidden layer's width."""

    layers: int
    width: int
    heads: int
    feed_forward: int
    vocabulary: int


class LanguageModel(Protocol):
    """A causal language model with its tokenizer and slots. All but its text methods is for one thread at a time."""

    @property
    def name(self) -> str:
        """The name as configured."""

    @property
    def compute(self) -> str:
        """The device of the forward passes, and the engine where that is not transformers."""

    @property
    def precision(self) -> str:
        """The format that its numbers are rounded to: float32, float16, bfloat16 or quantised."""

    @property
    def why(self) -> str:
        """The reason why this format of the model is read rather than another; empty where there was no choice."""

    @property
    def fingerprint(self) -> str:
        """A digest that is equal for two models exactly when they number the same tokens the same way."""

    @property
    def vocabulary(self) -> int:
        """The size of the vocabulary: token ids are below this number."""

    @property
    def shape(self) -> Shape:
        """The model's size, from which the cost of a token follows."""

    @property
    def eos(self) -> list[int]:
        """The ids that end an answer, ascending."""

    @property
    def writes_words(self) -> bool:
        """Tell whether there are tokens in words, without making them. From any thread."""

    @property
    def word_tokens(self) -> WordTokens | None:
        """The tokens in words; None where the tokenizer is not byte-level. From any thread."""

    @property
    def prefill_tokens(self) -> int:
        """Tokens of a prompt that one forward pass reads at most."""

    @property
    def reads_ahead(self) -> bool:
        """Tell whether a decode step may give a row several tokens at little more cost than one."""

    @property
    def rows_cost(self) -> bool:
        """Tell whether a decode step takes time in proportion to its rows: a row then costs as much as a pass alone."""

    @property
    def slots(self) -> Memory:
        """The KV memory."""

    @property
    def stored(self) -> DocumentStore | None:
        """The store of documents, or None where they are not stored."""

    def text(self, ids: list[int]) -> str:
        """The text of answer tokens, without special ones. From any thread."""

    def piece(self, id: int) -> bytes:
        """The bytes of one token, which are its name where it is a special one. From any thread."""

    def layout(self, task: Task, system: str = "", *, grounded: bool = True) -> Layout:
        """Return the layout of a passage and a question, after a `system` line if there is one. From any thread.

        Without `grounded` the question is one that no passage answers.
        """

    def prompt(self, text: str, task: Task) -> list[int]:
        """Return a prompt's ids: "answer" asks `text` as a user does, "complete" goes on with it. From any thread."""

    def continued(self, text: str) -> list[int]:
        """Return the ids of a text that continues another one. From any thread."""

    def read(self, segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        """Append all segments, whose rows are all different, in one forward pass.

        Returns for each segment the distributions after its rows, or after every token of them, one row after the
        other, and the probabilities of its given ids. Raises Preempted when the interrupt is set before the end; the
        rows may then be longer, and are to be rolled back.
        """

    def restore(self, row: int, prefix: Prefix, length: int) -> bool:
        """Begin an empty row with the first `length` ids of a stored document; return False where it is not stored."""

    def keep(self, row: int, prefix: Prefix) -> None:
        """Store the document that a row begins with, now or soon.

        This may cut the row to it, and evict other documents.
        """

    def keep_ahead(self, row: int, prefix: Prefix) -> bool:
        """Store the document that a row begins with if that evicts no other; tell whether there was room."""
