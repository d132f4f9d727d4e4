"""Text from a prompt: the protocol of all generators, and the generator that uses this daemon's model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hocket_bus.errors import HocketError
from hocket_bus.messages import Finish, Sampling, Task, Turn

from ..language_model import LanguageModel
from ..runtime.compute import Compute
from ..runtime.sequences import read_text
from ..sampling.drawing import Rule
from ..text.detokenizer import Detokenizer, Transcript
from .generation import Generated, Generation, Usage


@dataclass(frozen=True, slots=True)
class TextRequest:
    """A prompt to be answered as a user's, or gone on with ("complete"); the text ends before any string of `stop`.

    A program's `system` line, `passages` and earlier `turns` are for a server, which reads them first. `prefix` is what
    is written of the text already: what comes goes on from it. `session` is whose the text is, for the ledger where it
    leaves this machine. A server's model `thinks` before the text where its settings let it.
    """

    prompt: str
    sampling: Sampling
    task: Task = "answer"
    stop: tuple[str, ...] = ()
    prefix: str = ""
    session: bytes = b""
    passages: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    system: str = ""
    thinks: bool = False


def unread(_: str) -> None:
    """Ignore a text that nobody wants."""


class Generating(Protocol):
    """A text that is being written."""

    @property
    def usage(self) -> Usage | None:
        """The tokens read and written, once the text has ended, where they were reported."""

    def cancel(self) -> None:
        """End it as "cancelled" before this returns; nothing is called back later. An ended one stays as it is."""


class TextGenerator(Protocol):
    """A generator that writes several texts at once. It is used, and calls back, on the main thread."""

    @property
    def continues(self) -> bool:
        """Tell whether it can continue a prefix."""

    @property
    def place(self) -> str:
        """The place where it writes, empty for this daemon."""

    @property
    def is_here(self) -> bool:
        """Tell whether the contents of requests stay on this machine."""

    def generate(
        self,
        request: TextRequest,
        on_text: Callable[[str], None],
        on_end: Callable[[Finish | HocketError], None],
        on_thought: Callable[[str], None] = unread,
    ) -> Generating:
        """Begin a text and return before anything is called back.

        `on_text` gets the text piece by piece, no piece empty and none with half a character. `on_end` comes once and
        last: with why the text ended, or with the error that ended it, which is BadRequest for a prefix where it
        cannot go on from one. `on_thought` gets what is thought before the text, piece by piece.
        """


class LocalGenerator:
    """The TextGenerator of a model: its texts are decoded beside all other sessions of the model's compute thread."""

    continues = is_here = True
    place = ""

    def __init__(self, model: LanguageModel, compute: Compute, mass: float) -> None:
        """Create the generator; tokens are drawn from the share `mass` of each distribution, in (0, 1]."""
        self._model = model
        self._compute = compute
        self._mass = mass

    def generate(
        self,
        request: TextRequest,
        on_text: Callable[[str], None],
        on_end: Callable[[Finish | HocketError], None],
        on_thought: Callable[[str], None] = unread,  # noqa: ARG002 - models here do not think
    ) -> Generating:
        """Begin a text, as in TextGenerator. A prompt that is too long ends with BadRequest, a full model with Busy."""
        sampling, model = request.sampling, self._model

        def on_token(_: int, piece: str) -> None:
            if piece:
                on_text(piece)

        def ended(end: Generated | HocketError) -> None:
            on_end(end.finish if isinstance(end, Generated) else end)

        detokenizer = Detokenizer(model.text, request.stop, strip=request.task == "answer" and not request.prefix)
        return Generation(
            self._compute,
            read_text(model, request.prompt, task=request.task, room=sampling.max_tokens, prefix=request.prefix),
            Rule(sampling.seed, sampling.temperature, sampling.top_p),
            self._mass,
            Transcript(detokenizer, model.eos, sampling.max_tokens),
            on_token=on_token,
            on_end=ended,
        )
