"""Clients' messages while they compose: a text is opened, changed and closed; and each open text (Composing)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

from hocket_bus.errors import BadRequest, HocketError
from hocket_bus.faults import error_message, notice_text
from hocket_bus.messages import Behind, Cancel, Compose, Edit, Memory, Message, Remembered, Side, Suggestion, Takeaway
from hocket_bus.sockets import Received, Routes, Server

from ..serving.mode import Facts, Peer
from ..serving.services import Services
from ..serving.sessions.requests import TakingDaemon
from ..serving.sessions.sessions import Sessions, place_of_request
from .completer import Completed, Completer
from .document import Document
from .memory import Item, Takeaways
from .redaction import Redaction
from .remembering import Remembering
from .settings import PATIENCE_S, PAUSE_S, CompositionSettings
from .window import TokenTexts

REST_S = 5.0  # behind a change, from which on other work may be done
COUNTED = ("suggestions", "computed", "passes", "memory_requests", "memory_replies")


class Composing:
    """A session that this device leads for a client; its number for the cloud is that of the request under way."""

    def __init__(
        self,
        whole: Compose,
        services: Services,
        *,
        settings: CompositionSettings,
        redact: Redaction,
        token_texts: TokenTexts,
        peer: Peer | None,
        user: str,
        route: bytes,
        send: Callable[[bytes, Message], None],
        publish: Callable[[bytes, Message], None],
    ) -> None:
        """Open a text; `send` reaches the client's connection, `publish` its topic. Raises BadRequest."""
        self.request, self.user, self.route = whole.request, user, route
        self.closed = False
        self.last: Completed | None = None
        self._topic = whole.topic
        self._send = send
        self._publish = publish
        self._document = Document.of(whole)
        model = services.model
        self._memory = Takeaways(settings.memory_tokens, lambda text: len(model.continued(text)))
        lookups = services.retrieval.lookups(user)
        self._remembering = Remembering(
            settings,
            memory=self._memory,
            redact=redact,
            lookups=lookups,
            peer=peer if whole.remembers else None,
            on_memory=self._on_remembered,
            on_ended=self._on_ended,
        )
        self._completer = Completer(
            services.compute,
            model,
            token_texts,
            maximum=whole.tokens,
            minimum=settings.confidence,
            on_completed=self._show,
            fail=self.fail,
        )
        self.counted = dict.fromkeys(COUNTED, 0)
        self._has_paused = self._expects = False
        self._began_s = self._changed_s = time.monotonic()

    @property
    def id(self) -> bytes:
        """The number of the request for memory that is under way."""
        return self._remembering.session

    @property
    def rests(self) -> bool:
        """Tell whether the text's writer has not touched it for a while; it stays open."""
        return time.monotonic() - self._changed_s > REST_S

    @property
    def remembered(self) -> tuple[Item, ...]:
        """The items that the memory holds now."""
        return self._memory.items

    def start(self) -> None:
        """Make the first suggestion, and ask for memory."""
        self._look()

    def whole(self, message: Compose) -> None:
        """Replace all of the text. Raises BadRequest."""
        self._topic = message.topic
        self._document = Document.of(message)
        self._look()

    def edit(self, edit: Edit) -> None:
        """Apply a change of the text; ask for the whole where an earlier change was lost. Raises BadRequest."""
        if edit.base == edit.version == self._document.version:
            if self.last is not None and self.last.version == edit.version:
                self._show(self.last)
        elif self._document.apply(edit):
            self._look()
        elif edit.version != self._document.version:
            self._send(self.route, Behind(request=self.request))

    def receive(self, message: Message) -> None:
        """Handle the cloud's answer to the request for memory."""
        if isinstance(message, Memory):
            self._remembering.receive(message)
        else:
            self._remembering.refused()

    def on_peer(self, up: bool, _: HocketError | None) -> None:
        """Note that the cloud can be reached from now on, or cannot."""
        if not up:
            self._remembering.refused()

    def due_s(self) -> float:
        """Return the time at which `tick` is next needed."""
        return self._remembering.due_s if self._has_paused else min(self._remembering.due_s, self._changed_s + PAUSE_S)

    def tick(self, now: float) -> None:
        """Act on what has not come in time, and on a pause."""
        self._remembering.tick(now)
        if not self._has_paused and now >= self._changed_s + PAUSE_S:
            self._has_paused = True
            self._ask()

    def cancel(self) -> None:
        """Close the text: the client composes no more."""
        if not self.closed:
            self.closed = True
            self._remembering.close()
            self._completer.close()

    def fail(self, error: HocketError) -> None:
        """End with an error."""
        if not self.closed:
            self._send(self.route, error_message(error, self.request))
            self.cancel()

    def record(self) -> Facts:
        """Return how much was suggested and asked; nothing of the text."""
        return {
            **self.counted,
            "takeaways": len(self._memory.items),
            "seconds": round(time.monotonic() - self._began_s, 1),
        }

    def _look(self) -> None:
        self._changed_s, self._has_paused = time.monotonic(), False
        self._ask()  # first: a suggestion tells whether memory is on its way
        self._completer.suggest(self._document)
        self._renew()

    def _ask(self) -> None:
        context = self._completer.context(self._document)
        self._remembering.look(context, self._document.read, paused=self._has_paused)
        self.counted["memory_requests"] = self._remembering.requests
        self.counted["memory_replies"] = self._remembering.replies

    def _renew(self) -> None:
        self._completer.renew(self._document, self._memory.items, self._memory.changed_s)

    def _show(self, completed: Completed) -> None:
        self.last = completed
        self.counted["suggestions"] += 1
        self.counted["computed"] += completed.passes > 0
        self.counted["passes"] += completed.passes
        self._publish_suggestion(completed)

    def _publish_suggestion(self, completed: Completed) -> None:
        expects_s = self._expects_s()
        self._expects = expects_s > 0
        changed_s = completed.reference.changed_s
        self._publish(
            self._topic,
            Suggestion(
                request=self.request,
                version=completed.version,
                text=notice_text(completed.text),
                ms=completed.ms,
                passes=completed.passes,
                memory_age_s=0.0 if changed_s is None else time.monotonic() - changed_s,
                sources=completed.reference.sources(completed.written, completed.text),
                expects_s=expects_s,
            ),
        )

    def _expects_s(self) -> float:
        """Return the seconds within which newer memory is expected for the text as it is; 0 where none is."""
        read_s = (self._memory.changed_s or 0.0) + PATIENCE_S if self._completer.is_reading else 0.0
        until_s = min(max(self._remembering.expected_s, read_s), self._changed_s + PATIENCE_S)
        return max(0.0, until_s - time.monotonic())

    def _on_remembered(self, side: Side, takeaways: list[Takeaway], generator: str) -> None:
        self._publish(
            self._topic, Remembered(request=self.request, side=side, takeaways=takeaways, generator=generator)
        )
        self._renew()
        if not self._completer.is_reading:
            self._completer.suggest(self._document)

    def _on_ended(self) -> None:
        """Ask about what the text has become meanwhile, and report if nothing more is on its way."""
        if self.closed:
            return
        self._ask()
        is_known = self.last is not None and self.last.version == self._document.version
        if self.last is not None and is_known and self._expects and not self._expects_s():
            self._publish_suggestion(self.last)


NAME = "composition"
ROWS = 2  # one that is read, and one that is made ready


class ComposingDaemon(TakingDaemon, Protocol):
    """The daemon as seen by the composition service."""

    def memory_peer(self) -> Peer | None:
        """Return the cloud where memory may be asked of it, else None."""


class CompositionService:
    """Clients' texts on this device."""

    def __init__(
        self,
        daemon: ComposingDaemon,
        services: Services,
        server: Server,
        sessions: Sessions,
        settings: CompositionSettings,
        *,
        why: str,
    ) -> None:
        """Set up; `why` tells why the model of `services` composes, empty without a choice. Raises BadConfiguration."""
        self._by = f"{services.model.name} ({why})" if why else services.model.name
        self._daemon = daemon
        self._services = services
        self._server = server
        self._sessions = sessions
        self._settings = settings
        self._redact = Redaction(settings.redact)
        self._open: dict[bytes, Composing] = {}
        self._closed: Counter[str] = Counter()  # what was counted of texts that are closed

    def add_to(self, routes: Routes) -> None:
        """Register the handlers for clients' messages."""
        routes.add([Compose], self._on_compose)
        routes.add([Edit], self._on_edit)
        routes.add([Cancel], self._on_cancel)

    def facts(self) -> dict[str, str]:
        """Return a line for `hocket status`."""
        sums = self._sums()
        passes = sums["passes"] / max(1, sums["computed"])
        opened = sum(not each.closed for each in self._open.values())
        return {
            "composition": f"{opened} text(s) open, by {self._by}; {sums['suggestions']} suggestions, "
            f"{sums['computed']} of them computed in {passes:.1f} passes each; "
            f"{sums['memory_requests']} requests for memory"
        }

    def metrics(self) -> dict[str, float]:
        """Return the same facts as numbers, for programs, as counts since the start."""
        sums = self._sums()
        return {f"composition_{name}_total": float(sums[name]) for name in COUNTED}

    def _sums(self) -> Counter[str]:
        return sum((Counter(each.counted) for each in self._open.values()), self._closed)

    @property
    def at_rest(self) -> int:
        """The number of open texts whose writers do something else."""
        return sum(each.rests for each in self._open.values() if not each.closed)

    def tick(self, client_silence_s: float) -> None:
        """Close the texts of clients that have been silent for `client_silence_s`."""
        for composing in list(self._open.values()):
            if self._server.silence_s(composing.route) > client_silence_s:
                composing.cancel()
        self._forget()

    @cached_property
    def _token_texts(self) -> TokenTexts:
        return TokenTexts(self._services.model)

    def _on_compose(self, event: Received) -> None:
        message = event.message
        assert isinstance(message, Compose)
        self._forget()
        try:
            composing = self._find(message.request, event)
            if composing is None:
                self._begin(message, event)
            else:
                composing.whole(message)
        except HocketError as error:
            self._refuse(error, message.request, event)

    def _begin(self, message: Compose, event: Received) -> None:
        now, place = time.monotonic(), place_of_request(message.request)
        self._daemon.check_taking()
        if message.request in self._open:
            raise BadRequest("that text belongs to another client", "choose a random number")
        self._services.admission.enter(place, event.user, ROWS, now)
        peer = self._daemon.memory_peer()
        try:
            composing = Composing(
                message,
                self._services,
                settings=self._settings,
                redact=self._redact,
                token_texts=self._token_texts,
                peer=peer,
                user=event.user,
                route=event.route,
                send=self._server.send,
                publish=self._server.publish,
            )
        except Exception:
            self._services.admission.leave(place, now)
            raise
        self._open[message.request] = composing
        self._sessions.lead(message.request, NAME, composing, peer)
        composing.start()

    def _on_edit(self, event: Received) -> None:
        edit = event.message
        assert isinstance(edit, Edit)
        composing = self._find(edit.request, event)
        try:
            if composing is None:
                self._server.send(event.route, Behind(request=edit.request))
            else:
                composing.edit(edit)
        except HocketError as error:
            self._refuse(error, edit.request, event)

    def _on_cancel(self, event: Received) -> None:
        cancel = event.message
        assert isinstance(cancel, Cancel)
        composing = self._find(cancel.request, event)
        if composing is not None:
            composing.cancel()

    def _refuse(self, error: HocketError, request: bytes, event: Received) -> None:
        self._services.counters.add("errors_total", kind=error.code)
        self._server.send(event.route, error_message(error, request))

    def _find(self, request: bytes, event: Received) -> Composing | None:
        """Return the open text of the sender of `event`, and reply to where that came from."""
        composing = self._open.get(request)
        if composing is None or composing.closed or composing.user != event.user:
            return None
        composing.route = event.route
        return composing

    def _forget(self) -> None:
        for request, each in list(self._open.items()):
            if each.closed:
                self._closed.update(each.counted)
                del self._open[request]
