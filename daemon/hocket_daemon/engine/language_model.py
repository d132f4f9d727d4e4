"""What the rooms above the engine know of a language model: it reads, decodes, rolls back and remembers documents.

Nothing here is transformers' or torch's: any engine that keeps several rows of keys and values can be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from hocket_bus.messages import Task

from .preemption import Interrupt
from .sampling.heads import Heads
from .segments import Contents, Segment
from .text.tokenizer import Layout, Prefix


class Memory(Protocol):
    """A model's KV memory: rows that hold at most `context` tokens each."""

    @property
    def context(self) -> int:
        """Tokens that a row can hold."""

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens that each row holds."""

    def take(self, rows: int) -> list[int]:
        """Free rows, now empty. Raises Busy, or BadRequest for more than there are."""

    def declare(self, row: int, contents: Contents) -> None:
        """What a row will hold, before it is read. Raises Forbidden where that may not leave for whoever reads it."""

    def give_back(self, rows: Sequence[int]) -> None:
        """Free rows."""

    def roll_back(self, row: int, length: int) -> None:
        """Forget all but the first `length` tokens of a row, which holds at least as many."""


class DocumentStore(Protocol):
    """The documents whose keys and values a model keeps on disk. May be asked from any thread."""

    def has(self, prefix: Prefix) -> bool:
        """Whether there is an entry, sound or not."""

    def retain(self, texts: Iterable[bytes]) -> None:
        """Take no other texts' entries from now on, and soon drop those there are; `texts` are `text_digest`s."""

    def close(self) -> None:
        """Finish what is to be written."""

    def fact(self) -> str:
        """A line for `hocket status`."""


class Shape(NamedTuple):
    """What of a transformer the work of a token depends on; `feed_forward` is the width of the hidden layer."""

    layers: int
    width: int
    heads: int
    feed_forward: int
    vocabulary: int


class LanguageModel(Protocol):
    """A causal language model with its tokenizer and its slots. Everything but its text is for one thread at a time."""

    @property
    def name(self) -> str:
        """As configured."""

    @property
    def compute(self) -> str:
        """What the forward passes run on, and by what where that is not transformers."""

    @property
    def precision(self) -> str:
        """What its numbers are rounded to: float32, float16, bfloat16 or quantised."""

    @property
    def why(self) -> str:
        """Why this format of the model is read rather than another; empty where there was no choice."""

    @property
    def fingerprint(self) -> str:
        """Equal for two models exactly when they number the same tokens the same way."""

    @property
    def vocabulary(self) -> int:
        """Token ids are below this number."""

    @property
    def shape(self) -> Shape:
        """Its size, for what a token costs."""

    @property
    def eos(self) -> list[int]:
        """The ids that end an answer, ascending."""

    @property
    def prefill_tokens(self) -> int:
        """Tokens of a prompt that one forward pass reads at most."""

    @property
    def reads_ahead(self) -> bool:
        """Whether a row may be given several tokens in a decode step at little more cost than one."""

    @property
    def rows_cost(self) -> bool:
        """True where a decode step takes time in proportion to its rows: a row then costs as much as a pass alone."""

    @property
    def slots(self) -> Memory:
        """The KV memory."""

    @property
    def stored(self) -> DocumentStore | None:
        """Where documents are kept; None: nowhere."""

    def text(self, ids: list[int]) -> str:
        """The text of answer tokens, without special ones. From any thread."""

    def piece(self, id: int) -> bytes:
        """The bytes of one token, which are its name where it is a special one. From any thread."""

    def layout(self, task: Task, system: str = "", *, grounded: bool = True) -> Layout:
        """How a passage and a question are laid out, behind a `system` line if there is one. From any thread.

        Not `grounded` is a question that no passage answers.
        """

    def prompt(self, text: str, task: Task) -> list[int]:
        """Ids of a whole prompt: "answer" asks `text` as a user does, "complete" goes on with it. From any thread."""

    def continued(self, text: str) -> list[int]:
        """Ids of a text that goes on behind another one. From any thread."""

    def read(self, segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        """Append all segments, whose rows are all different, in one forward pass.

        For each segment what follows its rows, or every token of them, one row after the other, and what it is asked
        for of given ids. Raises Preempted when the interrupt is set before the end; the rows may then be longer, and
        are to be rolled back.
        """

    def restore(self, row: int, prefix: Prefix, length: int) -> bool:
        """Begin an empty row with the first `length` ids of a document that is kept; False where it is not."""

    def keep(self, row: int, prefix: Prefix) -> None:
        """Keep the document that a row begins with, now or soon; the row may be cut to it, and others may go for it."""

    def keep_ahead(self, row: int, prefix: Prefix) -> bool:
        """The same where there is room without dropping any other; whether there was."""
