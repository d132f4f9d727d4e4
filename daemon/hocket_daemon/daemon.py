"""What both daemons are: the bus's loop, a compute thread, a link to the retrieval daemon."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from hocket_bus.endpoints import check_endpoint
from hocket_bus.errors import Busy, Cancelled, HocketError, Unavailable
from hocket_bus.log import GuardedLoop
from hocket_bus.messages import (
    PROTOCOL_VERSION,
    Accepted,
    AggregationOptions,
    Ask,
    Begin,
    Cancel,
    Chunks,
    Credit,
    Error,
    Hello,
    Message,
    Passages,
    Resume,
    Scores,
    Side,
    Status,
    StatusRequest,
    Welcome,
)
from hocket_bus.service import Service
from hocket_bus.sockets import Bus, Event, LinkDown, LinkUp, Received, Server

from .aggregation.leader import Cloud, Leader
from .aggregation.session import Outcome
from .aggregation.window import MAX_LOOKAHEAD
from .config import DaemonSettings
from .engine.batch import Decoded, DecodeRequest
from .engine.compute import Compute
from .engine.documents import Ahead, compute_ahead
from .engine.preemption import Interrupt, Preempted
from .engine.sequences import Prefill
from .engine.transformers_voice import LanguageModel
from .monitoring.counters import Counts, fact
from .monitoring.prometheus import Metrics
from .priority import come_first
from .profiling.decode_times import Profiling
from .serving.admission import Admission
from .serving.background import Background
from .serving.requests import check
from .serving.retrieval import RetrievalClient
from .serving.streams import Stream, Streams

T = TypeVar("T")
log = structlog.get_logger(__name__)


class Daemon(ABC):
    """Answers clients; a subclass adds the other side. Everything but jobs and I/O runs on the main thread."""

    shares_drafts = True

    def __init__(self, settings: DaemonSettings, side: Side) -> None:
        check_endpoint(settings.retrieval)
        self.side: Side = side
        self.settings = settings
        self.aggregating = settings.aggregating
        self.model = LanguageModel(settings.model, side, settings.kv)
        self.profiling = Profiling(self.model, settings.model, side)
        self.profiler = self.profiling.profiler
        self.admission = Admission(settings.max_sessions, settings.model.slots)
        self.counts = Counts()
        self.answers: dict[bytes, Leader] = {}
        self._epoch = int.from_bytes(os.urandom(8), "big")
        self._end_s = float("inf")  # when what is in work then is ended
        self._ticked_s = 0.0
        self._comes_first = False  # the bus runs in real time
        self._turns = GuardedLoop(log, "error in the main loop")  # one bad event must not end the daemon
        self._common_scorer = ""  # of both sides' retrieval daemons, as the last answer found it
        keys = Path(settings.keys) if settings.keys else None
        self.bus = Bus(self._on_event, keys, own_thread=False)
        self._compute = Compute(self.bus.post, self.model.read, settings.model.hold_decode_s)
        self.server = self.bus.serve(settings.endpoint, self.greet)
        self._service = Service(self.bus, self.server, self.bus.post)
        self._streams = Streams(self.server, settings.log_bytes)
        self._metrics = Metrics(settings.metrics, self.bus.post, self.figures) if settings.metrics else None
        self._retrieval = self.bus.dial(settings.retrieval, Hello(role=side))
        self.lookups = RetrievalClient(self._retrieval, side, settings.retrieval)
        self._background = Background(self.model.stored, self._retrieval.send, self._compute_ahead)

    # --- the main loop

    def run(self) -> None:
        """Serve until `stop` or the end of `drain`. SIGTERM drains, again or SIGINT stops, SIGHUP reloads."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: self.drain())
            signal.signal(signal.SIGINT, lambda *_: self.stop())
            signal.signal(signal.SIGHUP, lambda *_: self.bus.post(self._service.reload))
            sys.setswitchinterval(5e-4)  # the main thread must not wait 5 ms for the compute thread's interpreter turn
            self._comes_first = come_first()
        gc.collect()
        gc.freeze()  # what is loaded stays: no later collection looks at it again
        self._service.watch(side=self.side, endpoint=self.settings.endpoint, model=self.model.name)
        while time.monotonic() < self._end_s and not (self._stopping and self.idle()):
            self.step()
        self.close()

    def step(self) -> None:
        """Wait for events and whatever is due by then."""
        self._turns.run(self._turn)
        self._forget()
        self._background.step(time.monotonic(), self.idle())
        self.server.load, self.server.waiting = len(self.admission), self._compute.waiting

    def _turn(self) -> None:
        self._compute.let_finish()
        self.bus.step(self.due_s())
        now = time.monotonic()
        if now >= self.due_s() or now - self._ticked_s >= 5.0:
            self._ticked_s = now
            self.tick(now)

    def stop(self) -> None:
        """Ask the main loop to end at once; safe from any thread and from signal handlers."""
        self.bus.post(lambda: self._end_within(0.0))

    def drain(self) -> None:
        """The same once what is in work is done, but no later than `drain_s`; a second call ends at once."""
        self.bus.post(lambda: self._end_within(0.0 if self._stopping else self.settings.drain_s))

    @property
    def _stopping(self) -> bool:
        return self._end_s < float("inf")

    def _end_within(self, seconds: float) -> None:
        if not self._stopping:
            self._service.stopping("no new requests are taken")
        self._end_s = min(self._end_s, time.monotonic() + seconds)

    def check_taking(self) -> None:
        """Raises Unavailable while the daemon is stopping."""
        if self._stopping:
            raise self._stopped()

    def _stopped(self) -> Unavailable:
        return Unavailable(f"the {self.side} daemon is stopping", "ask again when it is back")

    def close(self) -> None:
        """End every stream with a reason, then the threads."""
        for answer in list(self.answers.values()):
            answer.fail(self._stopped())
        if self._metrics is not None:
            self._metrics.close()
        self._background.interrupt()
        self._compute.close()
        if self.model.stored is not None:
            self.model.stored.close()
        self.bus.close(linger_s=1.0)
        log.info("stopped", side=self.side)

    def due_s(self) -> float:
        """When `tick` is next needed."""
        answers = (answer.due_s() for answer in self.answers.values())
        return min(self._end_s, self._background.due_s, self.lookups.due_s, *answers)

    def tick(self, now: float) -> None:
        """Act on what has not come in time, and take over new profiles."""
        self.profiling.refresh()
        for answer in list(self.answers.values()):
            if now >= answer.due_s():
                answer.tick(now)
        for request in self._streams.unread(self.settings.client_silence_s) & self.answers.keys():
            self.answers[request].fail(Cancelled("the client has gone", "ask again"))
        self.lookups.tick(now)
        self._streams.forget()

    def _forget(self) -> None:
        closed = [request for request, answer in self.answers.items() if answer.closed]
        for request in closed:
            del self.answers[request]
            self.admission.leave(request, time.monotonic())
        if closed:
            self._streams.forget()

    def idle(self) -> bool:
        """Whether no question is in work."""
        return not self.answers

    # --- services for sessions

    def most_ahead(self, rows: int) -> int:  # noqa: ARG002 - the cloud looks at them
        """The device drafts as far ahead as pays."""
        return MAX_LOOKAHEAD

    def compute(self, job: Callable[[], T], done: Callable[[Outcome[T]], None]) -> None:
        """Run `job` on the compute thread and `done` on the main thread."""
        self._compute.run(job, done)

    def prefill(self, passes: Prefill[T], interrupt: Interrupt, done: Callable[[Outcome[T] | Preempted], None]) -> None:
        """The same for the forward passes of a prompt, in which others decode, too."""
        self._compute.prefill(passes, interrupt, done)

    def decode(self, step: DecodeRequest[T], done: Callable[[Outcome[Decoded[T]] | Preempted], None]) -> None:
        """The same for a decode step, together with those of other sessions; Preempted when none is wanted any more."""
        self._compute.decode(step, done)

    def _compute_ahead(self, texts: list[str], interrupt: Interrupt, done: Callable[[Outcome[Ahead]], None]) -> None:
        self._compute.run(partial(compute_ahead, self.model, texts, interrupt), done)

    # --- events

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Received):
            self._on_message(event)
        elif event.link is self._retrieval:
            self._on_retrieval_link(event)
        else:
            self.on_link(event)

    def _on_message(self, event: Received) -> None:
        message = event.message
        if event.port is self._retrieval:
            self._on_retrieval(message)
        elif isinstance(event.port, Server):
            self._on_request(event)
        else:
            self.on_peer(message)

    def _on_request(self, event: Received) -> None:
        route, message = event.route, event.message
        if isinstance(message, Ask):
            self._on_ask(event, message)
        elif isinstance(message, Cancel):
            if message.request in self.answers and self._streams.find(message.request, event) is not None:
                self.answers[message.request].finish("cancelled")
        elif isinstance(message, Resume | Credit):
            self._streams.read_on(event, message)
        elif isinstance(message, StatusRequest):
            self.profiling.refresh()
            self.server.send(route, self._status(message.request))
        else:
            self.on_other(event)

    def _status(self, request: bytes) -> Status:
        ready, facts, figures = self._retrieval.up, self.facts(), self.figures()
        return Status(request=request, role=self.side, ready=ready, facts=facts, metrics=figures)

    def _on_ask(self, event: Received, ask: Ask) -> None:
        route = event.route
        try:
            if self._streams.find(ask.request, event) is None:
                self._begin(ask, event)
        except HocketError as error:
            self.counts.add("errors_total", kind=error.code)
            self.server.send(route, _refusal(error, ask.request))
        else:
            self.server.send(route, Accepted(request=ask.request))

    def _begin(self, ask: Ask, event: Received) -> None:
        check(ask)
        self.check_taking()
        self._streams.check_new(ask.request)  # before it takes a place
        self.admission.enter(ask.request, event.user, max(1, ask.documents), time.monotonic())
        self._open(ask, self._streams.open(ask, event.route, event.user))

    def _open(self, ask: Ask, stream: Stream) -> None:
        answer = Leader(self, ask=ask, begin=self._terms(ask), stream=stream, cloud=self.cloud(), agree=self._agree)
        self.answers[ask.request] = answer
        self.start(answer)

    def _agree(self, scorer: str, anew: Ask | None) -> None:
        self._common_scorer = scorer
        if anew is not None:
            self._open(anew, self._streams.of(anew.request))

    def _terms(self, ask: Ask) -> Begin:
        return Begin(
            session=os.urandom(16),
            epoch=0,
            question=ask.question,
            task=ask.task,
            sampling=ask.sampling,
            method=(ask.options or AggregationOptions()).method,  # type: ignore[arg-type] # checked by `check`
            documents=ask.documents,
            eos=[] if ask.ignore_eos else self.model.eos,
            weights=(ask.options or AggregationOptions()).weights,  # type: ignore[arg-type] # checked by `check`
            reweigh_every=self.settings.reweigh_every,
            relevance_temperature=self.settings.relevance_temperature,
            wire_mass=self.settings.wire_mass,
            scorer=self._common_scorer,
        )

    def _on_retrieval(self, message: Message) -> None:
        if isinstance(message, Chunks | Error):
            self._background.receive(message)
        if isinstance(message, Passages | Scores | Error):
            self.lookups.receive(message)

    def _on_retrieval_link(self, event: LinkUp | LinkDown) -> None:
        if isinstance(event, LinkUp):
            self.lookups.ask_again()
            self._background.restart()
        else:
            self.lookups.hurry()

    # --- the other side

    def greet(self, hello: Hello) -> Welcome | Error:
        """The answer to Hello."""
        if hello.protocol != PROTOCOL_VERSION:
            text = f"protocol version {hello.protocol}, this daemon speaks {PROTOCOL_VERSION}"
            return Error(code="protocol", text=text, remedy="install the same hocket on both ends")
        return Welcome(role=self.side, epoch=self._epoch, tokenizer=self.model.fingerprint, model=self.model.name)

    def facts(self) -> dict[str, str]:
        """Lines for `hocket status`."""
        return {
            "model": self.model.name,
            "compute": f"{self.model.device.type}, {self.settings.model.threads} thread(s)",
            "bus": "in real time" if self._comes_first else "at the priority of other programs",
            "requests in work": str(len(self.answers)),
            "batching": self._compute.fact(),
            "retrieval": "connected" if self._retrieval.up else "not connected",
            "stored KV": self._background.fact(),
            "since the start": fact(self.counts.figures()),
            "metrics": f"http://{self.settings.metrics}/metrics" if self.settings.metrics else "off",
        } | self.profiling.facts()

    def figures(self) -> dict[str, float]:
        """The numbers among them, for programs."""
        now = {
            "requests": float(len(self.answers)),
            "events_waiting": float(self.bus.waiting),
            "bad_messages_total": float(self.server.bad_messages.count),
        }
        return self.profiling.figures() | self._compute.figures() | self.counts.figures() | now

    @abstractmethod
    def cloud(self) -> Cloud | None:
        """How an answer reaches the other side, if there is one."""

    @abstractmethod
    def start(self, answer: Leader) -> None:
        """Start an answer, knowing how the other side is."""

    @abstractmethod
    def on_link(self, event: LinkUp | LinkDown) -> None:
        """The link to the other side changed."""

    @abstractmethod
    def on_peer(self, message: Message) -> None:
        """A message from the other side over a link of ours."""

    @abstractmethod
    def on_other(self, event: Received) -> None:
        """A message at our server that no client sends."""


def _refusal(error: HocketError, request: bytes) -> Error:
    retry_after_s = error.retry_after_s if isinstance(error, Busy) else 0.0
    return Error(code=error.code, text=error.text, remedy=error.remedy, request=request, retry_after_s=retry_after_s)
