"""Rewriting of a follow-up by this side's model, so that it stands for itself, before anything is searched.

"And when does it close?" becomes "When does the library close?". Only the rewritten question is searched; the models
that answer read the question as it was asked, after its turns. If the model says nothing in time, rules find the words
that belong to the question (follow_up.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from hocket_bus.errors import HocketError
from hocket_bus.messages import MAX_QUESTION_CHARS, Ask, Finish, Prompt, Sampling

from ...engine.generators.generation import Generated, Generation
from ...engine.generators.generator import Generating, TextRequest
from ...engine.runtime.sequences import read
from ...engine.sampling.drawing import Rule
from ...engine.text.detokenizer import Detokenizer, Transcript
from ..mode import Session
from ..search.follow_up import refers
from ..services import Services
from ..stream.reply import Reply
from .deferred import DeferredSession

WAIT_S = 10.0
MAX_TOKENS = 64
HOW = Sampling(temperature=0.0, max_tokens=MAX_TOKENS)
INSTRUCTION = (
    "Write my next question again so that it can be understood without our conversation: "
    "say what words such as it or there stand for. Write the question alone.\n\n{}"
)


def is_rewritten(services: Services, ask: Ask) -> bool:
    """Tell whether this side's model is to rewrite the question."""
    prompt = ask.prompt
    return services.rewrites and ask.documents != 0 and bool(prompt.turns) and refers(prompt.query)


class Rewriting(DeferredSession):
    """A session that begins as soon as it is known what to search for."""

    def __init__(self, ask: Ask, reply: Reply, services: Services, begun: Callable[[Ask], Session]) -> None:
        super().__init__(ask, reply)
        self._services, self._begun = services, begun
        self._until_s = time.monotonic() + WAIT_S
        self._writing: Generating = _written(services, ask.prompt, self._on_written)

    def due_s(self) -> float:
        """Return the time that the session it became needs; before that, also the limit for the model to answer."""
        return super().due_s() if self._inner is not None else min(self._until_s, super().due_s())

    def tick(self, now: float) -> None:
        """Go on without the model where it is late."""
        if self._inner is None and not self._closed and now >= self._until_s:
            self._stop()
        else:
            super().tick(now)

    def _on_written(self, text: str) -> None:
        if self._inner is not None or self._closed:
            return
        self._services.counters.add("rewritten_total", by="model" if text else "rules")
        self._reply.ask = msgspec.structs.replace(
            self._ask, prompt=msgspec.structs.replace(self._ask.prompt, sought=text)
        )
        self._become(lambda: self._begun(self._reply.ask))

    def _stop(self) -> None:
        self._writing.cancel()


def question_in(text: str) -> str:
    """Return the question that a model wrote; empty where it wrote none."""
    lines = [line.strip().strip("\"'“”*").strip() for line in text.splitlines()]
    return next(filter(None, lines), "")[:MAX_QUESTION_CHARS]


def _written(services: Services, prompt: Prompt, done: Callable[[str], None]) -> Generating:
    """Have the question rewritten; `done` gets it once, empty where there is none."""
    asked = msgspec.structs.replace(prompt, query=INSTRUCTION.format(prompt.query), system="")
    return _by_server(services, asked, done) if services.reader is not None else _by_model(services, asked, done)


def _by_model(services: Services, asked: Prompt, done: Callable[[str], None]) -> Generation:
    model = services.model

    def ended(end: Generated | HocketError) -> None:
        done(question_in(end.text) if isinstance(end, Generated) and end.finish != "cancelled" else "")

    return Generation(
        services.compute,
        read(model, asked, [], task="answer", room=MAX_TOKENS),
        Rule(0, HOW.temperature, 1.0),
        1.0,
        Transcript(Detokenizer(model.text, strip=True), model.eos, MAX_TOKENS),
        on_token=lambda _, __: None,
        on_end=ended,
    )


def _by_server(services: Services, asked: Prompt, done: Callable[[str], None]) -> Generating:
    assert services.reader is not None
    told, fragments = services.readable(asked), list[str]()

    def ended(end: Finish | HocketError) -> None:
        done("" if isinstance(end, HocketError) or end == "cancelled" else question_in("".join(fragments)))

    request = TextRequest(told.query, HOW, turns=tuple(told.turns))
    return services.reader.generate(request, fragments.append, ended)
