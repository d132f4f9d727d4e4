"""One text that a client composes: what is typed comes in, suggestions and what is remembered go out."""

from __future__ import annotations

import time
from collections.abc import Callable

from hocket_bus.errors import HocketError
from hocket_bus.faults import error_message, notice_text
from hocket_bus.messages import Behind, Compose, Edit, Memory, Message, Remembered, Side, Suggestion, Takeaway

from ..serving.mode import Facts, Peer
from ..serving.services import Services
from .completer import Completer, Told
from .document import Document
from .memory import Item, Takeaways
from .pieces import Pieces
from .redaction import Redaction
from .remembering import Remembering
from .settings import CompositionSettings

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
        pieces: Pieces,
        peer: Peer | None,
        user: str,
        route: bytes,
        send: Callable[[bytes, Message], None],
        publish: Callable[[bytes, Message], None],
    ) -> None:
        """`send` reaches the client's connection, `publish` its topic. Raises BadRequest."""
        self.request, self.user, self.route = whole.request, user, route
        self.closed = False
        self.last: Told | None = None
        self._topic = whole.topic
        self._send = send
        self._publish = publish
        self._document = Document.of(whole)
        voice = services.voice
        self._memory = Takeaways(settings.memory_tokens, lambda text: len(voice.continued(text)))
        asker = services.retrieval.asker(user)
        self._remembering = Remembering(
            settings,
            memory=self._memory,
            redact=redact,
            asker=asker,
            peer=peer if whole.remembers else None,
            told=self._on_remembered,
        )
        self._completer = Completer(services.compute, voice, pieces, most=whole.tokens, tell=self._tell, fail=self.fail)
        self.counted = dict.fromkeys(COUNTED, 0)
        self._began_s = self._changed_s = time.monotonic()

    @property
    def id(self) -> bytes:
        """Of the request for memory that is under way."""
        return self._remembering.session

    @property
    def rests(self) -> bool:
        """Whether its writer has not touched it for a while; it stays open."""
        return time.monotonic() - self._changed_s > REST_S

    @property
    def remembered(self) -> tuple[Item, ...]:
        """What the memory holds now."""
        return self._memory.items

    def start(self) -> None:
        """Make the first suggestion, and ask for memory."""
        self._look()

    def whole(self, message: Compose) -> None:
        """All of the text again. Raises BadRequest."""
        self._topic = message.topic
        self._document = Document.of(message)
        self._look()

    def edit(self, edit: Edit) -> None:
        """A change of the text; the whole is asked for where one before was lost. Raises BadRequest."""
        if edit.base == edit.version == self._document.version:
            if self.last is not None and self.last.version == edit.version:
                self._tell(self.last)
        elif self._document.apply(edit):
            self._look()
        elif edit.version != self._document.version:
            self._send(self.route, Behind(request=self.request))

    def receive(self, message: Message) -> None:
        """What the cloud says of the request for memory."""
        if isinstance(message, Memory):
            self._remembering.receive(message)
            self._ask()  # what the text has become meanwhile, also of a writer who rests
        else:
            self._remembering.refused()

    def on_peer(self, up: bool, _: HocketError | None) -> None:
        """The cloud can be reached from now on, or cannot."""
        if not up:
            self._remembering.refused()

    def due_s(self) -> float:
        """When `tick` is next needed."""
        return self._remembering.due_s

    def tick(self, now: float) -> None:
        """Act on what has not come in time."""
        self._remembering.tick(now)

    def cancel(self) -> None:
        """The client composes no more."""
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
        """How much was suggested and asked; nothing of the text."""
        return {
            **self.counted,
            "takeaways": len(self._memory.items),
            "seconds": round(time.monotonic() - self._began_s, 1),
        }

    def _look(self) -> None:
        self._changed_s = time.monotonic()
        self._completer.suggest(self._document)
        self._ask()
        self._renew()

    def _ask(self) -> None:
        self._remembering.look(self._completer.context(self._document), self._document.read)
        self.counted["memory_requests"] = self._remembering.requests
        self.counted["memory_replies"] = self._remembering.replies

    def _renew(self) -> None:
        self._completer.renew(self._document, self._memory.items, self._memory.changed_s)

    def _tell(self, told: Told) -> None:
        self.last = told
        self.counted["suggestions"] += 1
        self.counted["computed"] += told.passes > 0
        self.counted["passes"] += told.passes
        changed_s, window = told.reference.changed_s, told.path.window
        self._publish(
            self._topic,
            Suggestion(
                request=self.request,
                version=told.version,
                text=notice_text(told.text),
                ms=told.ms,
                passes=told.passes,
                memory_age_s=0.0 if changed_s is None else time.monotonic() - changed_s,
                sources=told.reference.sources(window.text + window.typed, told.text),
            ),
        )

    def _on_remembered(self, side: Side, takeaways: list[Takeaway], generator: str) -> None:
        self._publish(
            self._topic, Remembered(request=self.request, side=side, takeaways=takeaways, generator=generator)
        )
        self._renew()
