"""A daemon's parts without sockets, threads or models: whatever is asked of them is answered when the test says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from copier import Copier
from fake_model import FakeModel

from hocket_bus.errors import HocketError
from hocket_bus.messages import (
    Ask,
    Bridge,
    Done,
    Failed,
    Message,
    Notice,
    Passage,
    Passages,
    Search,
    Side,
    Thought,
    Token,
    Waiting,
)
from hocket_bus.sockets import Received
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.reading import FEW, MIN_WORDS, Reading
from hocket_daemon.engine.runtime.compute import DecodeRequest, decode, outcome_of
from hocket_daemon.engine.runtime.sequences import Prefill, at_once
from hocket_daemon.monitoring.counters import Counters
from hocket_daemon.profiling.profiler import Profiler
from hocket_daemon.serving.admission import Admission
from hocket_daemon.serving.search.retrieval import Lookups
from hocket_daemon.serving.services import Services
from hocket_daemon.serving.stream.reply import Reply, Stream
from hocket_retrieval.text.heads import headed

ID = bytes(range(16))
PLACES = 4


class WordyModel(FakeModel):
    """Writes sentences of words: most signs read as blanks."""

    def text(self, ids: list[int]) -> str:
        return "".join(each if each.isalnum() or each in ".\n" else " " for each in super().text(ids))


class WordyCopier(WordyModel, Copier):
    """And mostly copies."""


class FakeCompute:
    """The interface of engine.compute.Compute: `step` does what was asked first, `tell` says what came of it."""

    def __init__(self, model: FakeModel) -> None:
        self.copied = 0
        self.prompt_token_s = 0.0
        self.broken: HocketError | None = None  # what every forward pass ends with
        self._model = model
        self._asked: list[Callable[[], None]] = []
        self._news: list[Callable[[], None]] = []

    @property
    def waiting(self) -> int:
        return len(self._asked)

    def chores(self) -> list[Callable[[], None]]:
        return [self.step] * bool(self._asked) + [self.tell] * bool(self._news)

    def run(self, job: Callable[[], Any], done: Callable[[Any], None]) -> None:
        def work() -> None:
            outcome = outcome_of(job)
            self._news.append(lambda: done(outcome))

        self._asked.append(work)

    def prefill(self, passes: Prefill[Any], interrupt: Interrupt, done: Callable[[Any], None]) -> None:
        def job() -> object:
            interrupt.raise_if_set()
            self._check()
            return at_once(self._model, passes)

        self.run(job, done)

    def decode(self, request: DecodeRequest[Any], done: Callable[[Any], None]) -> None:
        def job() -> object:
            self._check()
            made = decode(self._model.read, [request], request.interrupt, share=lambda _: 0.1)[0][0]
            self.copied += made.repeated < 0
            return made

        self.run(job, done)

    def step(self) -> None:
        self._asked.pop(0)()

    def tell(self) -> None:
        self._news.pop(0)()

    def _check(self) -> None:
        if self.broken is not None:
            raise self.broken


@dataclass
class FakeRetrieval:
    """The interface of serving.retrieval.RetrievalClient. Scores are a function of the text and the passage alone."""

    texts: list[str]
    scorers: list[str]
    asked: list[Callable[[], None]] = field(default_factory=list)
    used: list[str] = field(default_factory=list)  # the scorers that searches named
    within: list[tuple[str, ...]] = field(default_factory=list)  # the folders that searches named
    words: list[int] = field(default_factory=list)  # and how long passages might be
    bridges: list[Bridge | None] = field(default_factory=list)  # and what the other side had found
    bridge: Bridge | None = None  # what the best passage leads to
    scored: list[str] = field(default_factory=list)  # the texts that passages were compared with
    search_fails: HocketError | None = None
    score_fails: HocketError | None = None

    find = Lookups.find

    def lookups(self, user: str) -> FakeRetrieval:
        return self

    def close(self) -> None:
        """What was asked is answered all the same, and nobody hears it."""

    def ask(self, asked: Search, done: Callable[[Passages | HocketError], None]) -> None:
        self.used.append(asked.scorer)
        self.words.append(asked.words)
        self.within.append(tuple(asked.within))
        self.bridges.append(asked.bridge)
        self.asked.append(lambda: done(self.search_fails or self._found(asked.query, asked.k, asked.scorer)))

    def score(
        self, query: str, passages: list[Passage], scorer: str, done: Callable[[list[float] | HocketError], None]
    ) -> None:
        self.scored.append(query)
        scores = [relevance(query, passage.text) for passage in passages]
        self.asked.append(lambda: done(self.score_fails or scores))

    def step(self) -> None:
        self.asked.pop(0)()

    def read(self, k: int | None) -> list[str]:
        """As a model reads them."""
        return list(map(headed, self._found("", k if k is not None else len(self.texts), "").passages))

    def _found(self, query: str, k: int, scorer: str) -> Passages:
        passages = [
            Passage(document=name_of(text), title="", ordinal=n, text=text, score=relevance(query, text))
            for n, text in enumerate(self.texts[:k])
        ]
        used = scorer if scorer in self.scorers else self.scorers[0]
        total = len(self.texts)
        return Passages(
            request=ID,
            passages=passages,
            scorer=used,
            scorers=self.scorers,
            documents_total=total,
            seconds=0.25,
            bridge=self.bridge,
        )


def name_of(text: str) -> str:
    """The file of a text, by its first word, which need not stand above it."""
    return f"{text.split(maxsplit=1)[0]} {text[-2]}.txt"


def relevance(query: str, text: str) -> float:
    """In [0, 1): some function of both."""
    return (sum(map(ord, query)) * 7 + sum(map(ord, text)) * 13) % 97 / 97


@dataclass
class FakePeer:
    """The other side as one side sees it: what was sent to it lies in `sent`."""

    user: str = ""
    up: bool = True
    reason: HocketError | None = None
    rtt_s: float = 0.0
    silence_s: float = 0.0
    aggregates: bool = True
    tokenizer: str = ""
    first_tokens_s: Sequence[float] = ()
    forbids: HocketError | None = None
    sent: list[Message] = field(default_factory=list)

    def send(self, message: Message) -> None:
        if self.forbids is not None:
            raise self.forbids
        self.sent.append(message)


@dataclass
class Part:
    """One side."""

    side: Side
    model: FakeModel
    compute: FakeCompute
    retrieval: FakeRetrieval
    services: Services

    def chores(self) -> list[Callable[[], None]]:
        """What can be done here now: the oldest job, and the oldest search or scoring."""
        retrieval = self.retrieval
        return self.compute.chores() + [retrieval.step] * bool(retrieval.asked)

    def settle(self) -> None:
        while chores := self.chores():
            chores[0]()

    def check_free(self) -> None:
        """Nothing is under way and no row is held."""
        self.settle()
        assert self.model.slots.free == set(range(len(self.model.slots.held)))


FOR_A_CPU = Reading(MIN_WORDS, FEW)


def part(
    side: Side,
    texts: list[str],
    *,
    seed: int = 0,
    scorers: list[str] | None = None,
    shares: bool = True,
    tells: bool = False,
    kind: type[FakeModel] = WordyModel,
    reading: Reading = FOR_A_CPU,
) -> Part:
    """A side with these passages; its model's distributions follow from `seed`."""
    model = kind(seed, slots=8, context=256)
    compute, retrieval = FakeCompute(model), FakeRetrieval(texts, scorers or ["plain"])
    services = Services(
        side=side,
        model=model,
        compute=compute,  # type: ignore[arg-type]
        retrieval=retrieval,  # type: ignore[arg-type]
        profiler=Profiler(),
        counters=Counters(),
        admission=Admission(PLACES, 8),
        reading=reading,
        shares_drafts=shares,
        shares_bridges=tells,
    )
    return Part(side, model, compute, retrieval, services)


@dataclass
class Reader:
    """Whoever reads a stream."""

    events: list[Message] = field(default_factory=list)

    def publish(self, topic: bytes, message: Message) -> None:
        assert topic == ID
        self.events.append(message)

    def reply(self, ask: Ask, services: Services) -> Reply:
        stream = Stream(ask, b"route", "user", self.publish, 1 << 20)
        eos = [] if ask.ignore_eos else services.model.eos
        return Reply(ask, stream, services.model, eos, services.counters)

    @property
    def tokens(self) -> list[Token]:
        return [event for event in self.events if isinstance(event, Token)]

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]

    @property
    def thoughts(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Thought)]

    @property
    def waits(self) -> list[Waiting]:
        return [event for event in self.events if isinstance(event, Waiting)]

    @property
    def ends(self) -> list[Done | Failed]:
        return [event for event in self.events if isinstance(event, Done | Failed)]

    @property
    def end(self) -> Done | Failed:
        """The one end, behind which nothing comes."""
        (end,) = self.ends
        assert self.events[-1] is end
        return end

    @property
    def done(self) -> Done:
        assert isinstance(self.end, Done), self.end
        return self.end

    @property
    def failed(self) -> Failed:
        assert isinstance(self.end, Failed), self.end
        return self.end


@dataclass
class FakeServer:
    """The interface of a bus server, as far as serving/ uses it."""

    sent: list[tuple[bytes, Message]] = field(default_factory=list)
    published: list[Message] = field(default_factory=list)
    bad: list[tuple[bytes, str]] = field(default_factory=list)
    silent: dict[bytes, float] = field(default_factory=dict)

    def send(self, route: bytes, message: Message) -> None:
        self.sent.append((route, message))

    def publish(self, topic: bytes, message: Message) -> None:
        self.published.append(message)

    def malformed(self, route: bytes, user: str, error: HocketError) -> None:
        self.bad.append((route, user))

    def silence_s(self, route: bytes) -> float:
        return self.silent.get(route, 0.0)

    def rtt_s(self, route: bytes) -> float:
        return 0.125


def received(message: Message, route: bytes = b"route", user: str = "user") -> Received:
    """As it comes from the bus."""
    return Received(None, route, message, user)  # type: ignore[arg-type]
