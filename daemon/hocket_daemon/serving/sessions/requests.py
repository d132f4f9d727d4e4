"""Clients' messages: a question is checked, given a place and a stream, and handed to its mode.

Streams are opened here, found by their owner, read on, and let go of.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Protocol

import msgspec

from hocket_bus.errors import BadRequest, Cancelled, HocketError
from hocket_bus.faults import error_message
from hocket_bus.messages import MAX_QUESTION_CHARS, Accepted, Ask, Cancel, Credit, Error, Lost, Message, Resume
from hocket_bus.sockets import Received, Routes, Server

from ...engine.runtime.grammar import check_grammar
from ..mode import Asks, Peer, Session
from ..search.about_collection import asked_of_collection
from ..search.evidence import is_small_talk
from ..search.question_parts import parts_of
from ..services import Services
from ..stream.ended import Ended
from ..stream.reply import Reply, Stream
from .part_by_part import PartByPart
from .rewriting import Rewriting, is_rewritten
from .sessions import Sessions, place_of_request
from .surveying import Surveying


class Streams:
    """The streams of a daemon, in progress or ended a short while ago."""

    def __init__(self, server: Server, log_bytes: int) -> None:
        """Limit the events that are stored of each stream to `log_bytes`."""
        self._server = server
        self._log_bytes = log_bytes
        self._in_work: dict[bytes, Stream] = {}
        self._ended = Ended(log_bytes)

    def check_new(self, request: bytes) -> None:
        """Check that a request's number is new. Raises BadRequest if it is in use, or was a short while ago."""
        if self._get(request) is not None:
            raise BadRequest("that request belongs to another client", "choose a random number")

    def open(self, ask: Ask, route: bytes, user: str) -> Stream:
        """Open a stream for `ask`, which is new."""
        stream = Stream(ask, route, user, self._server.publish, self._log_bytes, ended=self._on_end)
        self._in_work[ask.request] = stream
        return stream

    def of(self, request: bytes) -> Stream:
        """Return the stream of a request in progress."""
        return self._in_work[request]

    def find(self, request: bytes, event: Received) -> Stream | None:
        """Return the stream of `request` if the sender of `event` owns it, and reply to where that came from."""
        stream = self._get(request)
        if stream is None or stream.user != event.user:
            return None
        stream.route = event.route
        return stream

    def read_on(self, event: Received, message: Resume | Credit) -> None:
        """Handle a reader's position in a stream; reply if the stream or the next event that it needs is gone."""
        stream = self.find(message.request, event)
        reply: Message | None = None
        if stream is None or stream.topic != message.topic:
            text, remedy = "that stream is not here any more", "ask again"
            reply = Error(code="unavailable", text=text, remedy=remedy, request=message.request)
        elif not (stream.resume if isinstance(message, Resume) else stream.grant)(message.seq):
            reply = Lost(request=message.request, first=stream.first)
        if reply is not None:
            self._server.send(event.route, reply)

    def in_work(self) -> Iterator[Stream]:
        """Return an iterator over the streams that have not ended."""
        return iter(self._in_work.values())

    def unread(self, silence_s: float) -> set[bytes]:
        """Return the requests in progress whose client has said nothing at all for `silence_s`."""
        return {stream.request for stream in self.in_work() if self._server.silence_s(stream.route) > silence_s}

    def forget(self) -> None:
        """Drop streams that ended long enough ago, and the oldest ones sooner if they all store too much together."""
        self._ended.forget(time.monotonic())

    def _get(self, request: bytes) -> Stream | None:
        return self._in_work.get(request) or self._ended.get(request)

    def _on_end(self, stream: Stream) -> None:
        self._ended.put(self._in_work.pop(stream.request))


class TakingDaemon(Protocol):
    """The daemon as seen by the services that take clients' requests."""

    def check_taking(self) -> None:
        """Check that new work is taken. Raises Unavailable while the daemon is stopping."""


class AnsweringDaemon(TakingDaemon, Protocol):
    """The daemon as seen by Requests."""

    def peer(self) -> Peer | None:
        """Return the other side for a client's question; None where there is none."""


class Requests:
    """Clients' questions on this side."""

    def __init__(
        self,
        daemon: AnsweringDaemon,
        services: Services,
        server: Server,
        sessions: Sessions,
        modes: Mapping[str, Asks],
        *,
        log_bytes: int,
    ) -> None:
        """Limit the events that are stored of a stream to `log_bytes`."""
        self._daemon = daemon
        self._services = services
        self._server = server
        self._sessions = sessions
        self._modes = modes
        self._streams = Streams(server, log_bytes)

    def add_to(self, routes: Routes) -> None:
        """Register the handlers for clients' messages."""
        routes.add([Ask], self._on_ask)
        routes.add([Cancel], self._on_cancel)
        routes.add([Resume, Credit], self._on_read)

    def in_work(self, user: str) -> int:
        """Return how many questions of `user` are in progress; "" counts everybody's."""
        return sum(user in ("", stream.user) for stream in self._streams.in_work())

    def tick(self, client_silence_s: float) -> None:
        """End the answers of clients that have been silent for `client_silence_s`, and drop old streams."""
        for request in self._streams.unread(client_silence_s) & self._sessions.led.keys():
            self._sessions.led[request].session.fail(Cancelled("the client has gone", "ask again"))
        self._streams.forget()

    def forget(self) -> None:
        """Drop streams that ended long enough ago, or that store too much together."""
        self._streams.forget()

    def _on_ask(self, event: Received) -> None:
        ask = event.message
        assert isinstance(ask, Ask)
        try:
            if self._streams.find(ask.request, event) is None:
                self._begin(ask, event)
        except HocketError as error:
            self._services.counters.add("errors_total", kind=error.code)
            self._server.send(event.route, error_message(error, ask.request))
        else:
            self._server.send(event.route, Accepted(request=ask.request))

    def _begin(self, ask: Ask, event: Received) -> None:
        services = self._services
        if ask.task == "answer" and is_small_talk(ask.prompt.query):
            ask = msgspec.structs.replace(ask, documents=0)
        mode, place, now = self._mode(ask), place_of_request(ask.request), time.monotonic()
        check(ask)
        mode.check(ask)
        self._daemon.check_taking()
        self._streams.check_new(ask.request)  # before it takes a place
        services.admission.enter(place, event.user, mode.rows(ask), now)
        eos = [] if ask.ignore_eos else services.model.eos
        stream = self._streams.open(ask, event.route, event.user)
        reply = Reply(ask, stream, services.model, eos, services.counters)
        if services.fallback_notice:
            reply.notice(services.fallback_notice)
        try:
            peer = self._daemon.peer()
            self._sessions.lead(ask.request, mode.name, self._session(mode, ask, reply, peer), peer)
        except HocketError as error:
            services.admission.leave(place, now)
            reply.fail(error)
        except Exception:
            services.admission.leave(place, now)
            reply.fail(HocketError(f"the mode {mode.name} failed", "see the daemon's log"))
            raise

    def _session(self, mode: Asks, ask: Ask, reply: Reply, peer: Peer | None) -> Session:
        parts = parts_of(ask.prompt.query) if _is_free(ask) and not ask.ignore_eos else []
        if len(parts) < 2:
            return self._of_part(mode, peer, ask, reply)
        begun = partial(self._of_part, mode, peer)
        return PartByPart(ask, parts, reply, begun=begun, recorded=self._sessions.ended)

    def _of_part(self, mode: Asks, peer: Peer | None, ask: Ask, reply: Reply) -> Session:
        asked = asked_of_collection(ask.prompt.query) if _is_free(ask) else None
        if asked is None:
            return self._answering(mode, ask, reply, peer)
        return Surveying(ask, asked, reply, self._services, begun=partial(self._answering, mode), peer=peer)

    def _answering(self, mode: Asks, ask: Ask, reply: Reply, peer: Peer | None) -> Session:
        if not is_rewritten(self._services, ask):
            return mode.begin(ask, reply, peer)
        return Rewriting(ask, reply, self._services, lambda rewritten: mode.begin(rewritten, reply, peer))

    def _mode(self, ask: Ask) -> Asks:
        if ask.mode not in self._modes:
            raise BadRequest(f"unknown mode '{ask.mode}'", f"use one of: {', '.join(self._modes)}")
        return self._modes[ask.mode]

    def _on_cancel(self, event: Received) -> None:
        cancel = event.message
        assert isinstance(cancel, Cancel)
        led = self._sessions.led.get(cancel.request)
        if led is not None and self._streams.find(cancel.request, event) is not None and not led.session.closed:
            led.session.cancel()

    def _on_read(self, event: Received) -> None:
        assert isinstance(event.message, Resume | Credit)
        self._streams.read_on(event, event.message)


def _is_free(ask: Ask) -> bool:
    """Tell whether a question is to be answered from documents, in words of any form."""
    return ask.task == "answer" and ask.documents != 0 and not ask.sampling.grammar


def check(ask: Ask) -> None:
    """Check a question. Raises BadRequest for what no mode can be asked."""
    if not ask.prompt.query.strip():
        raise BadRequest("the question is empty", "ask something")
    if len(ask.prompt.query) > MAX_QUESTION_CHARS:
        raise BadRequest(
            f"the question has {len(ask.prompt.query)} characters, the limit is {MAX_QUESTION_CHARS}", "shorten it"
        )
    if ask.prompt.turns and ask.task == "complete":
        raise BadRequest("a text to continue cannot have earlier turns", "leave them out, or ask a question")
    if "" in ask.stop:
        raise BadRequest("a stop text is empty", "leave it out")
    if ask.sampling.grammar:
        if ask.ignore_eos:
            raise BadRequest("an answer that obeys a grammar ends where the grammar does", "leave out ignore_eos")
        check_grammar(ask.sampling.grammar)
