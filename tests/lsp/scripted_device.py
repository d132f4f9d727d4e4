"""A device at the bus whose suggestions say what they are for: it keeps texts as one does, and has no model."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable

from hocket_bus.messages import Behind, Cancel, Compose, Edit, Error, Message, Suggestion, Welcome
from hocket_bus.sockets import Bus, Event, Received, Server
from hocket_daemon.composition.document import Document


def about(text: str, cursor: int) -> str:
    """A suggestion that this text with the cursor there alone has."""
    return f" at {cursor} of {len(text)}: {zlib.crc32(text.encode()):08x}"


class ScriptedDevice:
    """Suggests at once, unless told to hold, or to be busy."""

    def __init__(self, endpoint: str, suggest: Callable[[str, int], str] = about) -> None:
        self.endpoint = endpoint
        self.suggest = suggest
        self.texts: dict[bytes, Document] = {}  # that are open
        self.got: list[Message] = []
        self.seen: list[tuple[str, int]] = []  # every text as it stood, and its cursor
        self.busy_s = 0.0  # so long it says that it is full
        self.expects_s = 0.0  # so long it says that memory is on its way
        self.asked = threading.Semaphore(0)  # released once for each suggestion that is due
        self._topics: dict[bytes, bytes] = {}
        self._holds = False
        self._held: list[Callable[[], None]] = []
        self.open()

    def open(self) -> None:
        """Come up, with nothing in work."""
        self.texts.clear()
        self._bus = Bus(self._on_event)
        self._server = self._bus.serve(self.endpoint, lambda _: Welcome(role="device", epoch=1))

    def close(self) -> None:
        self._bus.close(0)

    def hold(self) -> None:
        """Suggest nothing from now on."""
        self._holds = True

    def release(self) -> None:
        """Suggest again, what was held first."""

        def release() -> None:
            self._holds = False
            for publish in self._held:
                publish()
            self._held.clear()

        self._bus.post(release)

    def remember(self, add: str) -> None:
        """Memory has come: each text is suggested for anew, with these words more."""

        def remember() -> None:
            self.expects_s, suggest = 0.0, self.suggest
            self.suggest = lambda text, cursor: suggest(text, cursor) + add
            for request in self.texts:
                self._answer(request)

        self._bus.post(remember)

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, Received):
            return
        assert isinstance(event.port, Server)
        message = event.message
        self.got.append(message)
        match message:
            case Compose() if self.busy_s:
                event.port.send(
                    event.route,
                    Error(
                        code="busy",
                        text="full",
                        remedy="try again",
                        retry_after_s=self.busy_s,
                        request=message.request,
                    ),
                )
            case Compose():
                self.texts[message.request] = Document.of(message)
                self._topics[message.request] = message.topic
                self._answer(message.request)
            case Edit():
                document = self.texts.get(message.request)
                if document is not None and message.base == message.version == document.version:
                    return  # a reader that has heard nothing for a while
                if document is None or not document.apply(message):
                    event.port.send(event.route, Behind(request=message.request))
                else:
                    self._answer(message.request)
            case Cancel():
                self.texts.pop(message.request, None)

    def _answer(self, request: bytes) -> None:
        document = self.texts[request]
        self.seen.append((document.text, document.cursor))
        server, topic = self._server, self._topics[request]
        suggestion = Suggestion(
            request=request,
            version=document.version,
            text=self.suggest(document.text, document.cursor),
            ms=1.0,
            passes=1,
            memory_age_s=0.0,
            expects_s=self.expects_s,
        )

        def publish() -> None:
            server.publish(topic, suggestion)

        if self._holds:
            self._held.append(publish)
        else:
            publish()
        self.asked.release()
