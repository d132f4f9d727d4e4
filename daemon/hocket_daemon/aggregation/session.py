"""One side's part in one question: search, read, draft. What the drafts become is the subclass's business."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray

from hocket_bus.errors import HocketError
from hocket_bus.messages import Begin, Passages, Side

from ..engine.batch import Decoded, DecodeRequest
from ..engine.distribution import Distribution, truncate
from ..engine.preemption import Interrupt, Preempted
from ..engine.sequences import Prefill, SequenceGroup, mix, read
from ..engine.transformers_voice import LanguageModel
from ..monitoring.counters import Counts
from ..profiling.profiler import Profiler
from ..serving.retrieval import RetrievalClient
from .dialogue import Dialogue, Effects
from .prefix import PrefixChain
from .schedule import Aggregating
from .weights import RelevanceWeights, Weighing

T = TypeVar("T")
Outcome: TypeAlias = "T | HocketError"
log = structlog.get_logger(__name__)


class Services(Protocol):
    """What a session needs of its daemon. Callbacks run on the daemon's main thread."""

    side: Side
    model: LanguageModel
    profiler: Profiler
    aggregating: Aggregating
    lookups: RetrievalClient
    shares_drafts: bool
    counts: Counts

    def most_ahead(self, rows: int) -> int:
        """How many steps a session of `rows` rows may draft ahead."""

    def compute(self, job: Callable[[], T], done: Callable[[Outcome[T]], None]) -> None:
        """Run `job` on the compute thread."""

    def prefill(self, passes: Prefill[T], interrupt: Interrupt, done: Callable[[Outcome[T] | Preempted], None]) -> None:
        """The same for the forward passes of a prompt, in which others decode, too."""

    def decode(self, step: DecodeRequest[T], done: Callable[[Outcome[Decoded[T]] | Preempted], None]) -> None:
        """The same for a decode step, together with those of other sessions; a benchmark may lengthen it."""


NO_PASSAGES = Passages(request=bytes(16), passages=[], scorer="", scorers=[], documents_total=0, seconds=0.0)


@dataclass(frozen=True, slots=True)
class _Decoding:
    """The decode step under way."""

    step: int
    prefix: int
    log_h: float | None
    interrupt: Interrupt

    def stale(self, drafted: PrefixChain) -> bool:
        """Whether the tokens it is conditioned on no longer hold."""
        return len(drafted) != self.step or drafted.digest != self.prefix


class Session(ABC):
    """Searches, reads and then drafts for as long as the dialogue has a step to draft."""

    def __init__(self, services: Services, begin: Begin) -> None:
        self.begin = begin
        self.dialogue = Dialogue(
            services.side,
            begin,
            services.aggregating,
            shares_drafts=services.shares_drafts,
            vocabulary=services.model.vocabulary,
        )
        self.closed = False
        self.retrieval_s = 0.0
        self.prefill_s = 0.0
        self.passages: Passages | None = None
        self._services = services
        self._reading: SequenceGroup | None = None
        self._weights: RelevanceWeights | None = None
        self._reading_interrupt = Interrupt()
        self._decoding: _Decoding | None = None
        self.drafts = 0

    @property
    def rows(self) -> int:
        """Rows that are kept free for it."""
        return max(1, self.begin.documents)

    @property
    def documents(self) -> int:
        """Passages read; 0 before the search has answered."""
        return len(self.passages.passages) if self.passages is not None else 0

    def search(self) -> None:
        """Begin with the search; everything else follows from its answer."""
        if self.begin.documents == 0:
            self._on_passages(NO_PASSAGES)
        else:
            begin = self.begin
            self._services.lookups.search(begin.question, begin.documents, begin.scorer, self._on_passages)

    def close(self) -> None:
        """Free the rows, behind whatever the compute thread still does with them."""
        if not self.closed:
            self._services.counts.add("rollbacks_total", self.dialogue.exchange.rollbacks)
        self.closed = True
        self._reading_interrupt.set()
        if self._decoding is not None:
            self._decoding.interrupt.set()
        if self._reading is not None:
            self._services.compute(self._reading.close, lambda _: None)
            self._reading = None

    @property
    @abstractmethod
    def rtt_s(self) -> float:
        """The round trip to the other side as it is now; 0 while none is known."""

    @abstractmethod
    def on_ready(self) -> None:
        """The question is read; drafting begins."""

    def on_static(self, reason: HocketError) -> None:
        """Passages can be scored no more: those of this side are weighed by the question alone from here on."""
        log.warning("weighed by the question alone from here on", reason=str(reason))

    @abstractmethod
    def take(self, turn: Effects) -> None:
        """Act on what an event led to."""

    @abstractmethod
    def fail(self, error: HocketError) -> None:
        """This side cannot go on."""

    def draft_next(self) -> None:
        """Decode the next step, unless one is being decoded or there is none; interrupt one that went stale."""
        exchange = self.dialogue.exchange
        step, reading = exchange.next_step(), self._reading
        if self._decoding is not None and self._decoding.stale(exchange.drafted):
            self._decoding.interrupt.set()
            self._decoding = None
        if reading is None or self._weights is None or self._decoding is not None or self.closed or step is None:
            return
        weighing = self._weights.of(step, exchange.drafted)
        if weighing is not None:
            self._decode_step(reading, step, weighing)

    def _decode_step(self, reading: SequenceGroup, step: int, weighing: Weighing) -> None:
        drafted, mass = self.dialogue.exchange.drafted, self.begin.wire_mass
        started_s, interrupt = time.monotonic(), Interrupt()
        decoding = self._decoding = _Decoding(step, drafted.digest, weighing.log_h, interrupt)

        def then(rows: NDArray[np.float32]) -> Distribution:
            return truncate(mix(rows, weighing.documents), mass)

        def done(outcome: Outcome[Decoded[Distribution]] | Preempted) -> None:
            self._on_distribution(decoding, outcome, time.monotonic() - started_s)

        self._services.decode(DecodeRequest(reading, list(drafted.ids), then, interrupt), done)

    def _on_passages(self, outcome: Outcome[Passages]) -> None:
        if self.closed:
            return
        if isinstance(outcome, HocketError):
            self.fail(outcome)
            return
        self.passages, self.retrieval_s = outcome, outcome.seconds
        score, on_news, on_static = self._services.lookups.score, self.draft_next, self.on_static
        self._weights = RelevanceWeights(
            self.begin, outcome, score, self._text_of, on_news=on_news, on_static=on_static
        )
        texts = [passage.text for passage in outcome.passages]
        begin, started_s = self.begin, time.monotonic()
        passes = read(
            self._services.model,
            begin.question,
            texts,
            task=begin.task,
            room=begin.sampling.max_tokens,
        )

        def done(outcome: Outcome[SequenceGroup] | Preempted) -> None:
            self._on_reading(outcome, time.monotonic() - started_s)

        self._services.prefill(passes, self._reading_interrupt, done)

    def _on_reading(self, outcome: Outcome[SequenceGroup] | Preempted, seconds: float) -> None:
        if isinstance(outcome, Preempted):  # closed meanwhile
            return
        if isinstance(outcome, HocketError):
            if not self.closed:
                self.fail(outcome)
            return
        self._reading = outcome
        if self.closed:
            self.close()
            return
        self.prefill_s = seconds
        self.on_ready()
        self.draft_next()

    def _on_distribution(
        self, decoding: _Decoding, outcome: Outcome[Decoded[Distribution]] | Preempted, seconds: float
    ) -> None:
        if decoding is self._decoding:
            self._decoding = None
        if self.closed or isinstance(outcome, Preempted):
            return
        if isinstance(outcome, HocketError):
            self.fail(outcome)
            return
        self.drafts += 1
        turn = self.dialogue.own(decoding.step, decoding.prefix, outcome.value, decoding.log_h, seconds)
        if turn is not None:  # before anything is counted, since the other side waits for it
            self.take(turn)
        self._services.counts.drafted(seconds if decoding.step > 0 else None)
        if decoding.step > 0 and not self.closed:  # the first distribution was there when the question was read
            self._measure(outcome.rows, seconds)
        self.draft_next()

    def _text_of(self, ids: list[int]) -> str:
        return str(self._services.model.tokenizer.decode(ids, skip_special_tokens=True))

    def _measure(self, rows: int, seconds: float) -> None:
        assert self._reading is not None
        expected_s = self._services.profiler.observe(rows, self._reading.length, seconds)
        self.dialogue.exchange.pace(self.rtt_s, expected_s, self._services.most_ahead(self.rows))
