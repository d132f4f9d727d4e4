"""The common part of both daemons: the bus's loop, a model with its thread, a retrieval daemon, and the modes."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Protocol

import structlog

from hocket_bus.ending import Ending
from hocket_bus.endpoints import check_endpoint, is_tcp
from hocket_bus.errors import HocketError
from hocket_bus.messages import (
    PROTOCOL_VERSION,
    Chunks,
    Error,
    Hello,
    Side,
    Status,
    StatusRequest,
    Welcome,
)
from hocket_bus.service import Service
from hocket_bus.sockets import Bus, Event, Gone, Greeted, GuardedLoop, LinkDown, LinkDraining, LinkUp, Received, Routes
from hocket_bus.trust.unseen import close_daemon

from ..config import DaemonSettings
from ..engine.backends.automatic import advice, fallback_notice
from ..engine.generators.openai import open_server
from ..engine.language_model import LanguageModel
from ..engine.opening.engines import open_model, remote_model
from ..engine.preemption import Interrupt
from ..engine.reading import reading_of
from ..engine.runtime.sequences import Ahead, compute_ahead
from ..monitoring.counters import Counters, fact
from ..monitoring.prometheus import Exporter
from ..monitoring.status import StatusBoard
from ..privacy.disclosure_account import DisclosureAccount
from ..privacy.egress import EgressSettings, Ledger, ServerPolicy
from ..privacy.history import History, HistoryPolicy
from ..privacy.link_switch import LinkSwitch
from ..profiling.decode_times import Profiling
from ..serving.admission import Admission
from ..serving.background import Background
from ..serving.disclosure import Disclosure
from ..serving.mode import Peer
from ..serving.peers.peer_group import PeerGroup
from ..serving.records.decisions import Decisions
from ..serving.records.explaining import Explaining
from ..serving.search.gatherer import Gatherer
from ..serving.search.retrieval import ANSWERS, RetrievalClient
from ..serving.services import Services
from ..serving.sessions.requests import Requests
from ..serving.sessions.sessions import Sessions, stopping
from .modes import modes
from .parts import Parts
from .priority import come_first

TICK_S = 5.0  # the longest time between two ticks
log = structlog.get_logger(__name__)


class Duty(Protocol):
    """A task of a daemon that waits for a time."""

    @property
    def due_s(self) -> float:
        """The time at which `tick` is next needed, on the monotonic clock."""

    def tick(self, now: float) -> None:
        """Do what is due."""


class Daemon:
    """A daemon that answers clients; a subclass adds the other side. All but jobs and I/O runs on the main thread."""

    def __init__(
        self,
        settings: DaemonSettings,
        side: Side,
        parts: Parts,
        *,
        shares_drafts: bool = True,
        shares_bridges: bool = False,
        silence_s: float = inf,
        history: HistoryPolicy = "all",
    ) -> None:
        """Open the parts; the other side may be silent for `silence_s` about a session that it leads."""
        self._parts = parts
        check_endpoint(settings.retrieval)
        if settings.advertise:
            check_endpoint(settings.advertise)
        self.side: Side = side
        self.settings = settings
        self.ledger = Ledger(Path(settings.egress.ledger) if settings.egress.ledger else None)
        self._shares_drafts, self._shares_bridges = shares_drafts, shares_bridges
        self.history = History(history, self.ledger.path)
        self._silence_s, self._is_remote = silence_s, settings.model.engine == "openai"
        self._aggregates = not self._is_remote or settings.server.logprobs > 0
        self._opened = ExitStack()  # closed in reverse order
        model: LanguageModel
        if self._is_remote:
            remote = model = remote_model(settings.model, settings.server, side, self.server_policy())
            self._opened.callback(remote.close)
        else:
            model = open_model(settings.model, side, settings.kv)
        self._fallback_notice = "" if self._is_remote else fallback_notice(settings.model.name, side)
        self._better = "" if self._is_remote else advice(settings.model.name)
        _log_choice(model, self._fallback_notice)
        self._profiling = Profiling(model, settings.model, side)
        self._epoch = int.from_bytes(os.urandom(8), "big")
        self._end_s = inf  # when what is in work then is ended
        self._ending: Ending | None = None  # of a process that is this daemon's
        self._ticked_s = 0.0
        self._comes_first = False  # the bus runs in real time
        self._loop = GuardedLoop(log, "error in the main loop")  # one bad event must not end the daemon
        self.at_server, self.at_peer, self._at_retrieval = Routes(), Routes(), Routes()
        self.peer_group: PeerGroup | None = None  # the other devices of the group
        self.disclosure = self.open_disclosure()
        self.peer: Callable[[], Peer | None] = _nobody  # the other side for a client's question
        self.duties: list[Duty] = []  # what a side does beside answering
        with ExitStack() as undo:
            undo.callback(self._opened.close)
            self._open(model)
            self.connect()
            undo.pop_all()

    def _open(self, model: LanguageModel) -> None:
        settings, opened = self.settings, self._opened
        self.bus = Bus(self._on_event, Path(settings.keys) if settings.keys else None, own_thread=False)
        opened.callback(self.bus.close, linger_s=1.0)
        self.server = self.bus.serve(settings.endpoint, self.greet, self.at_server)
        self._service = Service(self.bus, self.server, self.bus.post)
        self._retrieval = self.bus.dial(settings.retrieval, Hello(role=self.side), takes=self._at_retrieval)
        if model.stored is not None:
            opened.callback(model.stored.close)
        decisions = Decisions(Path(settings.decisions) if settings.decisions else None)
        opened.callback(decisions.close)
        self._explaining = Explaining(decisions, self.ledger, self.server, post=self.bus.post, sweep=self._sweep)
        compute = self._parts.compute(self.bus.post, model.read)
        opened.callback(compute.close)
        egress, ledger, switch = self.server_policy()
        server = open_server(settings.server, self.bus.post, egress, ledger, self.side, switch=switch)
        rows = settings.model.slots // settings.max_sessions
        reading = reading_of(model, rows, settings.model.turns, is_server=not self._aggregates)
        self.services = Services(
            side=self.side,
            model=model,
            compute=compute,
            retrieval=RetrievalClient(self._retrieval, self.side, settings.retrieval),
            profiler=self._profiling.profiler,
            counters=Counters(),
            admission=Admission(settings.max_sessions, settings.model.slots, shared=is_tcp(settings.endpoint)),
            reading=reading,
            server=None if self._is_remote else server,
            reader=server if self._is_remote else None,
            aggregates=self._aggregates,
            shares_drafts=self._shares_drafts,
            account=self.open_account(),
            shares_bridges=self._shares_bridges,
            rewrites=settings.model.rewrites,
            history=self.history,
            fallback_notice=self._fallback_notice,
        )
        self.services = replace(self.services, gatherer=self.open_gatherer())
        self.modes = modes(self.services, settings, self._parts, lambda: self.peer_group, self.disclosure)
        self.sessions = Sessions(self.services.admission, self._silence_s, self._explaining.keep)
        self._requests = Requests(
            self, self.services, self.server, self.sessions, self.modes.asks, log_bytes=settings.log_bytes
        )
        self._background = Background(model.stored, self._retrieval.send, self._compute_ahead, reading.words)
        self.board = self._status_board()
        if settings.metrics:
            opened.callback(Exporter(settings.metrics, self.bus.post, self.board.metrics).close)
        self._route()

    def _route(self) -> None:
        self._requests.add_to(self.at_server)
        self._explaining.add_to(self.at_server)
        self.at_server.add([StatusRequest], self._on_status_request)
        self._at_retrieval.add([Chunks, Error], self._background.on_reply)
        self._at_retrieval.add([*ANSWERS, Error], self.services.retrieval.on_reply)

    def server_policy(self) -> ServerPolicy:
        """Return the policy of the server of [server], which stands in for the other side or is this one's model."""
        return ServerPolicy(EgressSettings(), self.ledger, LinkSwitch())

    def open_disclosure(self) -> Disclosure | None:
        """Return the bounds on what drafts disclose to others; None where there are none."""
        return None

    def open_account(self) -> DisclosureAccount | None:
        """Return the account of what this side's words disclose; None where they are not counted."""
        return None

    def open_gatherer(self) -> Gatherer | None:
        """Return what asks other devices for passages; None where nothing does."""
        return None

    def connect(self) -> None:
        """Open the links to the other side, and register the handlers for what comes from there."""

    # --- the main loop

    def run(self) -> None:
        """Serve until `stop` or the end of `drain`. SIGTERM drains, a second one or SIGINT stops, SIGHUP reloads."""
        if threading.current_thread() is threading.main_thread():
            close_daemon()
            self._ending = Ending()
            signal.signal(signal.SIGTERM, lambda *_: self.drain())
            signal.signal(signal.SIGINT, lambda *_: self.stop())
            signal.signal(signal.SIGHUP, lambda *_: self.bus.post(self.reload))
            sys.setswitchinterval(5e-4)  # the main thread must not wait 5 ms for the compute thread's interpreter turn
            self._comes_first = come_first()
        gc.collect()
        gc.freeze()  # what is loaded stays: no later collection looks at it again
        self._service.watch(side=self.side, endpoint=self.settings.endpoint, model=self.services.model.name)
        while time.monotonic() < self._end_s and not (self._stopping and self.idle()):
            self.step()
        self.close()

    def step(self) -> None:
        """Wait for events and whatever is due by then."""
        self._loop.run(self._turn)
        self._sweep()
        self._background.step(time.monotonic(), self.idle())
        self.server.load, self.server.waiting = len(self.services.admission), self.services.compute.waiting
        self.server.first_tokens_s = list(self.services.first_tokens.quantiles_s)
        self.server.draining = self._stopping

    def _turn(self) -> None:
        self.services.compute.let_finish()
        due_s = self.due_s()
        self.bus.step(due_s)  # what is due sooner now is due in the next turn, which will not wait
        now = time.monotonic()
        if now >= due_s or now - self._ticked_s >= TICK_S:
            self._ticked_s = now
            self.tick(now)

    def _sweep(self) -> None:
        if self.sessions.sweep(time.monotonic()):
            self._requests.forget()

    def stop(self) -> None:
        """Ask the main loop to end at once; safe from any thread and from signal handlers."""
        self.bus.post(lambda: self.end_within(0.0))

    def drain(self) -> None:
        """Ask the main loop to end when current work is done, or after `drain_s`; a second call ends it at once."""
        self.bus.post(lambda: self.end_within(0.0 if self._stopping else self.settings.drain_s))

    @property
    def _stopping(self) -> bool:
        return self._end_s < inf

    def reload(self) -> None:
        """Read again which keys this machine knows."""
        self._service.reload()

    def end_within(self, seconds: float) -> None:
        """Take nothing new, and end once current work is done, or after so many seconds."""
        if not self._stopping:
            self._service.stopping("no new requests are taken")
        self._end_s = min(self._end_s, time.monotonic() + seconds)
        if self._ending:
            self._ending.by(self._end_s)

    def check_taking(self) -> None:
        """Check that new work is taken. Raises Unavailable while the daemon is stopping."""
        if self._stopping:
            raise stopping(self.side)

    def close(self) -> None:
        """End every session with a reason, then the threads."""
        if self._ending:
            self._ending.by(time.monotonic())
        self.sessions.stop(self.side)
        self.sessions.sweep(time.monotonic())
        self._background.interrupt()
        self._opened.close()
        self.history.write()
        self.ledger.write()  # the last words to the other side are counted, too
        log.info("stopped", side=self.side)

    def due_s(self) -> float:
        """Return the time at which `tick` is next needed."""
        duties = (duty.due_s for duty in self.duties)
        return min(self._end_s, self._background.due_s, self.services.retrieval.due_s, self.sessions.due_s(), *duties)

    def tick(self, now: float) -> None:
        """Act on what has not come in time, and take over new profiles."""
        self._profiling.refresh()
        self.sessions.tick(now)
        self._requests.tick(self.settings.client_silence_s)
        self.services.retrieval.tick(now)
        for duty in self.duties:
            duty.tick(now)
        self.history.write()
        self.ledger.write()

    def idle(self) -> bool:
        """Tell whether no request is in progress."""
        return not len(self.sessions)

    def _compute_ahead(
        self, texts: list[str], interrupt: Interrupt, done: Callable[[Ahead | HocketError], None]
    ) -> None:
        self.services.compute.run(partial(compute_ahead, self.services.model, texts, interrupt), done)

    # --- events

    def _on_event(self, event: Event) -> None:
        if isinstance(event, LinkUp | LinkDown | LinkDraining):
            if event.link is not self._retrieval:
                self.on_peer_link(event)
            elif not isinstance(event, LinkDraining):
                self._on_retrieval_link(up=isinstance(event, LinkUp))
        elif isinstance(event, Greeted | Gone):
            self.on_end(event)

    def _on_retrieval_link(self, *, up: bool) -> None:
        if up:
            self.services.retrieval.on_up()
            self._background.restart()
        else:
            self.services.retrieval.on_down()

    def _on_status_request(self, event: Received) -> None:
        request = event.message
        assert isinstance(request, StatusRequest)
        self._profiling.refresh()
        ready, facts, metrics = self._retrieval.up, self.board.facts(event.user), self.board.metrics(event.user)
        status = Status(request=request.request, role=self.side, ready=ready, facts=facts, metrics=metrics)
        self.server.send(event.route, status)

    def greet(self, hello: Hello) -> Welcome | Error:
        """Return the answer to Hello."""
        model = self.services.model
        if hello.protocol != PROTOCOL_VERSION:
            text = f"protocol version {hello.protocol}, this daemon speaks {PROTOCOL_VERSION}"
            return Error(code="protocol", text=text, remedy="install the same hocket on both ends")
        return Welcome(
            role=self.side,
            epoch=self._epoch,
            tokenizer=model.fingerprint,
            model=model.name,
            streams_port=self.settings.advertise_streams,
            aggregates=self._aggregates,
            words=self.services.words,
        )

    # --- the other side

    def on_peer_link(self, event: LinkUp | LinkDown | LinkDraining) -> None:
        """Handle a change of a link to the other side."""

    def on_end(self, event: Greeted | Gone) -> None:
        """Handle a client or daemon that has connected, or has gone."""

    # --- how it is

    def _status_board(self) -> StatusBoard:
        board = StatusBoard()
        board.add_for_users(facts=[self._own_facts], metrics=[self._own_metrics])
        board.add(facts=[self._facts, self._profiling.facts], metrics=[self._profiling.metrics])
        board.add(metrics=[self.services.compute.metrics, self.services.counters.metrics, self._metrics])
        for mode in self.modes.reports:
            board.add(facts=[mode.facts], metrics=[mode.metrics])
        return board

    def _own_facts(self, user: str) -> dict[str, str]:
        model = self.services.model
        return {
            "model": model.name,
            **({"default model": self._fallback_notice} if self._fallback_notice else {}),
            **({"a better model": self._better} if self._better and not self._fallback_notice else {}),
            "compute": self._compute_fact(model),
            "precision": "; ".join(filter(None, (model.precision, model.why))),
            "reading": str(self.services.reading),
            "bus": "real-time priority" if self._comes_first else "normal priority",
            "retrieval": "connected" if self._retrieval.up else "not connected",
            "requests in work": str(self._requests.in_work(user)),
        }

    def _compute_fact(self, model: LanguageModel) -> str:
        if not self._is_remote:
            return f"{model.compute}, {self.settings.model.compute_threads} thread(s)"
        read = "passages" if self.settings.egress.passages else "no passages"
        return f"{model.compute}, which reads questions and {read} ([egress] passages)"

    def _own_metrics(self, user: str) -> dict[str, float]:
        return {"requests": float(self._requests.in_work(user))}

    def _facts(self) -> dict[str, str]:
        return {
            "batching": self.services.compute.fact(),
            "stored KV": self._background.fact(),
            "since the start": fact(self.services.counters.metrics()),
            "metrics": f"http://{self.settings.metrics}/metrics" if self.settings.metrics else "off",
        }

    def _metrics(self) -> dict[str, float]:
        return {
            "events_waiting": float(self.bus.waiting),
            "bad_messages_total": float(self.server.bad_messages.count),
        }


def _log_choice(model: LanguageModel, fallback_notice: str) -> None:
    if fallback_notice:
        log.warning("model", name=model.name, why=fallback_notice)
    if model.why:
        log.info("model", name=model.name, compute=model.compute, precision=model.precision, why=model.why)


def _nobody() -> None:
    """Return None: there is no other side."""
