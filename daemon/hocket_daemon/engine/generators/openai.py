"""A server of text as a TextGenerator: vLLM, SGLang, llama.cpp, transformers serve and whoever else has OpenAI's API.

A thread for each text waits for the server; everything is called back on the main thread. What leaves is the question,
its passages and the answer so far, through the gate of [egress] and into its ledger, counted before TLS.
"""

from __future__ import annotations

import ssl
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.client import HTTPResponse

import structlog

from hocket_bus.errors import BadRequest, Busy, DeadlineExceeded, HocketError, ProtocolError, Unavailable
from hocket_bus.messages import Finish, Side
from hocket_bus.web.connection import BROKEN, HttpConnection
from hocket_bus.web.dialect import PLAIN, Dialect
from hocket_bus.web.server_address import ServerAddress, is_here

from ...privacy.egress import EgressSettings, Ledger, PeerGate
from ...privacy.link_switch import CUT, LinkSwitch
from ..runtime.compute import Post
from ..settings import ServerSettings
from .completions import Body, Streamed, body_of, continues, refused, thinking_of
from .generation import Usage
from .generator import TextRequest, unread
from .server import server_of
from .sse import Events

MAX_TEXTS = 32  # at once, a thread each
USAGE_WAIT_S = 1.0  # for the count of tokens behind the end of a text
MAX_REFUSAL_BYTES = 1 << 16
log = structlog.get_logger(__name__)


def open_server(
    settings: ServerSettings,
    post: Post,
    egress: EgressSettings,
    ledger: Ledger,
    side: Side = "device",
    *,
    switch: LinkSwitch | None = None,
) -> OpenAIGenerator | None:
    """The generator behind [server], or None where there is none. Raises BadConfiguration; connects to nothing yet.

    While `switch` is cut, a server elsewhere is asked nothing.
    """
    server = server_of(settings)
    if server is None:
        return None
    return OpenAIGenerator(server, settings, post, PeerGate(egress, server.host, ledger, side), switch)


class OpenAIGenerator:
    """The TextGenerator of a server. Each text has a connection of its own, whose end the server takes for its end."""

    def __init__(
        self,
        server: ServerAddress,
        settings: ServerSettings,
        post: Post,
        gate: PeerGate,
        switch: LinkSwitch | None = None,
    ) -> None:
        self.continues, self.is_here, self.place = continues(settings.api), is_here(server.host), server.place
        self._server = server
        self._settings = settings
        self._post = post
        self._gate = gate
        self._switch = switch or LinkSwitch()
        self._free = threading.BoundedSemaphore(MAX_TEXTS)
        self._dialect = PLAIN
        self._context = ssl.create_default_context() if server.is_encrypted else None  # reads all authorities: once

    def generate(
        self,
        request: TextRequest,
        on_text: Callable[[str], None],
        on_end: Callable[[Finish | HocketError], None],
        on_thought: Callable[[str], None] = unread,
    ) -> ServerText:
        """Begin a text, as in TextGenerator.

        A text ends with Forbidden where [egress] keeps it here, Busy where the server is, DeadlineExceeded where it is
        silent for too long, Untrusted for a key or a certificate, BadConfiguration for a path or a model that it does
        not know, BadRequest where it refuses the request, ProtocolError where it streams no text, and else Unavailable.
        """
        connection = HttpConnection(self._server, self._context)
        text = ServerText(connection, on_text, on_end, on_thought)
        refusal = self._refusal(request)
        if refusal is not None:
            self._post(partial(text.end, refusal, None))
            return text
        count, deliver = partial(self._count, request), partial(self._deliver, text)
        worker = _Worker(
            connection,
            self._settings,
            request,
            dialect=self._dialect,
            learn=self._learn,
            count=count,
            deliver=deliver,
        )
        threading.Thread(target=self._run, args=(worker,), name="server text", daemon=True).start()
        return text

    def _learn(self, dialect: Dialect) -> None:
        if dialect != self._dialect:
            log.info("the server takes a request otherwise", server=self._server.place, takes=str(dialect))
            self._dialect = dialect

    def _refusal(self, request: TextRequest) -> HocketError | None:
        """Return why nothing may be sent; None where it may, and a thread has been reserved."""
        if self._switch.is_cut and not self.is_here:
            return CUT
        try:
            self._gate.require("query", "question")
            if request.turns:
                self._gate.require("history", "turn of a conversation")
            if request.passages:
                self._gate.require("passages", "passage")
            if request.prefix:
                self._gate.require("targets", "answer")
        except HocketError as error:
            return error
        if request.prefix and not self.continues:
            return BadRequest("a chat API cannot continue a given text", 'set api = "completions" in [server]')
        if not self._free.acquire(blocking=False):
            return Busy(f"{MAX_TEXTS} requests to the server are open already")
        return None

    def _run(self, worker: _Worker) -> None:
        try:
            worker.run()
        finally:
            self._free.release()

    def _count(self, request: TextRequest, size_bytes: int, body: Body) -> None:
        """Count in the ledger turns, passages and the text so far by their classes, all the rest with the question."""
        rest = size_bytes - body.prefix_bytes - body.passage_bytes - body.history_bytes
        self._gate.add("query", request.session, rest)
        if body.history_bytes:
            self._gate.add("history", request.session, body.history_bytes)
        if body.passage_bytes:
            self._gate.add("passages", request.session, body.passage_bytes)
        if body.prefix_bytes:
            self._gate.add("targets", request.session, body.prefix_bytes)

    def _deliver(
        self, text: ServerText, piece: str, thought: str, end: Finish | HocketError | None, usage: Usage | None
    ) -> None:
        if thought:
            self._post(partial(text.think, thought))
        if piece:
            self._post(partial(text.add, piece))
        if end is not None:
            self._post(partial(text.end, end, usage))


class ServerText:
    """A text that a server is writing. For the main thread."""

    def __init__(
        self,
        connection: HttpConnection,
        on_text: Callable[[str], None],
        on_end: Callable[[Finish | HocketError], None],
        on_thought: Callable[[str], None],
    ) -> None:
        self.usage: Usage | None = None  # once it has ended, where the server has told
        self._connection = connection
        self._on_text = on_text
        self._on_end = on_end
        self._on_thought = on_thought
        self._ended = False

    def cancel(self) -> None:
        """End it as "cancelled" before this returns; nothing is called back later. An ended one stays as it is."""
        self._connection.close()
        self.end("cancelled", None)

    def add(self, piece: str) -> None:
        """Pass on a piece of the text."""
        if not self._ended:
            self._on_text(piece)

    def think(self, piece: str) -> None:
        """Pass on a piece of the thought before the text."""
        if not self._ended:
            self._on_thought(piece)

    def end(self, end: Finish | HocketError, usage: Usage | None) -> None:
        """End the text; only the first end counts."""
        if not self._ended:
            self._ended = True
            self.usage = usage
            self._on_end(end)


class _Worker:
    """A request for one text, which runs on a thread of its own and delivers what it receives."""

    def __init__(
        self,
        connection: HttpConnection,
        settings: ServerSettings,
        request: TextRequest,
        *,
        dialect: Dialect,
        learn: Callable[[Dialect], None],
        count: Callable[[int, Body], None],
        deliver: Callable[[str, str, Finish | HocketError | None, Usage | None], None],
    ) -> None:
        """Prepare the request; `learn` gets the dialect that the server takes, `count` the bytes sent and the body.

        `deliver` gets the pieces of the text, and of what is thought before it, then the one end.
        """
        self._dialect, self._learn = dialect, learn
        self._server = connection.server
        self._settings = settings
        self._connection = connection
        self._request = request
        self._count = count
        self._deliver = deliver
        self._streamed = Streamed(request, settings.api, thinking_of(request, settings))
        self._has_text = False

    def run(self) -> None:
        """Run the request and deliver one end, whatever happens; a failure after the text's own end is ignored."""
        failure = self._failure()
        self._connection.free()
        self._deliver("", "", self._streamed.finish or failure or self._broken(), self._streamed.usage)

    def _failure(self) -> HocketError | None:
        """Send the request and read to the end; return the error that stopped this, if any."""
        try:
            self._ask()
        except HocketError as error:
            return error
        except TimeoutError:
            return self._silent()
        except BROKEN:
            return self._broken()
        except Exception as error:  # noqa: BLE001 - its text and its values may be the prompt, and are for no log
            where = traceback.extract_tb(error.__traceback__)[-1]
            log.error("error on a server's thread", error=type(error).__name__, file=where.filename, line=where.lineno)
            return HocketError("the request to the server failed", "see the daemon's log")
        return None

    def _ask(self) -> None:
        until_s = time.monotonic() + self._settings.first_wait_s
        answer = self._taken(until_s)
        kind = answer.headers.get_content_type() if "content-type" in answer.headers else "text/event-stream"
        if kind != "text/event-stream":
            raise ProtocolError(f"{self._server.place} does not answer with a text stream", "see [server] url and api")
        self._read(answer, until_s)

    def _taken(self, until_s: float) -> HTTPResponse:
        """Send the request, in other dialects if refused, until the server takes it; learn that dialect for later."""
        while True:
            self._connection.open(time.monotonic() + self._settings.connect_wait_s)
            body = body_of(self._request, self._settings, self._dialect)
            asked = self._server.post(body.data, "text/event-stream")
            self._count(len(asked), body)
            answer = self._connection.send(asked, until_s)
            if answer.status == 200:
                self._learn(self._dialect)
                return answer
            refusal = self._refusal(answer, until_s)
            other = self._dialect.after(answer.status, refusal)
            if other is None:
                raise refused(answer.status, refusal, answer.headers.get("Retry-After", ""))
            self._dialect = other

    def _read(self, answer: HTTPResponse, until_s: float) -> None:
        events = Events()
        while not self._streamed.is_over and (received := self._connection.read(answer, until_s)):
            was_finished, has_come = self._streamed.finish is not None, False
            for event in events.feed(received):
                piece = self._streamed.add(event.data, event.name)
                self._deliver(piece, self._streamed.thought, None, None)
                self._has_text = self._has_text or bool(piece)
                has_come = has_come or bool(piece) or self._streamed.has_thought
                if self._streamed.is_over:
                    return
            if self._streamed.finish is not None and not was_finished:
                until_s = time.monotonic() + USAGE_WAIT_S
            elif has_come:
                until_s = time.monotonic() + self._settings.piece_wait_s
        self._streamed.check_end()

    def _refusal(self, answer: HTTPResponse, until_s: float) -> bytes:
        """Return the body of a refusal, as far as it arrives in time."""
        content = b""
        with suppress(*BROKEN):
            while len(content) < MAX_REFUSAL_BYTES and (more := self._connection.read(answer, until_s)):
                content += more
        return content

    def _silent(self) -> HocketError:
        if self._has_text:
            waited, name = self._settings.piece_wait_s, "piece_wait_s"
        else:
            waited, name = self._settings.first_wait_s, "first_wait_s"
        text = f"{self._server.place} has sent nothing for {waited:g} s"
        return DeadlineExceeded(text, f"ask again, or raise server.{name} under [expert]")

    def _broken(self) -> HocketError:
        return Unavailable(f"{self._server.place} broke the connection", "ask again, or see its log")
