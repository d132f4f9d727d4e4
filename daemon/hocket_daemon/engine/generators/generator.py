"""Text from a prompt, whoever writes it: the protocol, and a model of this daemon's behind it."""

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
    """What nobody wants to know."""


class Generating(Protocol):
    """A text on its way."""

    @property
    def usage(self) -> Usage | None:
        """What it took, once it has ended, where that was told."""

    def cancel(self) -> None:
        """End it as "cancelled" before this returns; nothing is called back later. An ended one stays as it is."""


class TextGenerator(Protocol):
    """Writes several texts at once. Used on the main thread, where everything is called back."""

    @property
    def continues(self) -> bool:
        """Whether it can go on from a prefix."""

    @property
    def place(self) -> str:
        """Where it writes, empty for this daemon."""

    @property
    def is_here(self) -> bool:
        """Whether what it is told stays on this machine."""

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
        """`mass` is the share of each distribution, in (0, 1], from which is drawn."""
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
        """As TextGenerator says. A prompt that is too long ends with BadRequest, a full model with Busy."""
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
