"""An engine that reads chunks: a server with OpenAI's API. Where it fails, the rules read, and this is reported.

Requests go one at a time, each with a deadline of its own, and are abandoned when the reading is interrupted. A server
that has not answered FAILURES times in a row is left alone for a while, in which the rules read at once.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from http.client import HTTPResponse

import structlog

from hocket_bus.errors import BadConfiguration, HocketError, Unavailable
from hocket_bus.web.connection import BROKEN, HttpConnection
from hocket_bus.web.dialect import PLAIN
from hocket_bus.web.server_address import ServerAddress, server_at

from ..config import GraphConfig
from ..text.phrases import mentions
from .answer import BadAnswer, body_of, reading_of
from .reading import BATCH_CHUNKS, By, Extractor, Reading, Rules

CONNECT_S = 5.0
ANSWER_S = 60.0  # with connecting
POLL_S = 0.1  # between two looks whether the reading is interrupted
FAILURES = 3
ALONE_S = 60.0
MAX_ANSWER_BYTES = 1 << 16
log = structlog.get_logger(__name__)


def extractor_of(config: GraphConfig) -> Extractor:
    """The engine that a configuration names, or else the rules. Raises BadConfiguration; connects to nothing yet."""
    if not config.engine:
        return Rules()
    if not config.model:
        raise BadConfiguration("[graph] engine is set, but no model", "name the server's model in [graph] model")
    return Engine(server_at("[graph] engine", config.engine, "chat/completions", config.key_file), config.model)


class Engine:
    """An Extractor that asks a server. It is used by one thread at a time."""

    def __init__(self, server: ServerAddress, model: str) -> None:
        self.name = model
        self._server = server
        self._context = ssl.create_default_context() if server.is_encrypted else None
        self._failures = 0
        self._alone_until_s = 0.0
        self._sent_bytes = 0
        self._problem = ""
        self._dialect = PLAIN

    @property
    def at_once(self) -> int:
        """Return 1, or as many as the rules read at once while the server is left alone."""
        return BATCH_CHUNKS if self._is_alone else 1

    @property
    def fact(self) -> str:
        """Return a line that says which server gets the text, how much of it, and the last problem."""
        why = f"; {self._problem}" if self._problem else ""
        sent = f"{self._sent_bytes:,} bytes since the start"
        return f"by {self.name}: documents' text goes to {self._server.place}, {sent}{why}"

    def read(self, text: str, interrupted: Callable[[], bool]) -> Reading | None:
        """Return what a chunk says, by the rules where the engine fails; None where it was `interrupted`."""
        if self._is_alone:
            return _by_rules(text, "rules: no answer")
        try:
            answer = self._ask(text, interrupted)
            return None if answer is None else reading_of(answer, text)
        except BadAnswer as error:
            self._problem = f"its last bad answer: {error}"
            return _by_rules(text, "rules: bad answer")
        except HocketError as error:
            self._fail(error)
            return _by_rules(text, "rules: no answer")

    @property
    def _is_alone(self) -> bool:
        return time.monotonic() < self._alone_until_s

    def _ask(self, text: str, interrupted: Callable[[], bool]) -> bytes | None:
        """Return the server's answer, or None where this was interrupted. Raises HocketError."""
        connection = HttpConnection(self._server, self._context)
        thread = ThreadPoolExecutor(1, thread_name_prefix="graph engine")
        asked = thread.submit(self._exchange, connection, text)
        thread.shutdown(wait=False)  # it ends with this request, which is left to itself when it is interrupted
        while not wait((asked,), POLL_S).done:
            if interrupted():
                connection.close()
                return None
        answer = asked.result()
        self._failures, self._problem = 0, ""
        return answer

    def _exchange(self, connection: HttpConnection, text: str) -> bytes:
        """Send a request and return the body of its answer, cut where it is too long. Raises HocketError."""
        place, until_s = self._server.place, time.monotonic() + ANSWER_S
        try:
            while True:
                connection.open(time.monotonic() + CONNECT_S)
                request = self._server.post(body_of(text, self.name, self._dialect), "application/json")
                self._sent_bytes += len(request)
                answer = connection.send(request, until_s)
                body = _read(connection, answer, until_s)
                if answer.status == 200:
                    return body
                dialect = self._dialect.after(answer.status, body)
                if dialect is None:
                    raise Unavailable(f"{place} refuses with status {answer.status}")
                self._dialect = dialect
        except TimeoutError:
            raise Unavailable(f"{place} has not answered within {ANSWER_S:g} s") from None
        except BROKEN:
            raise Unavailable(f"{place} broke off") from None
        finally:
            connection.free()

    def _fail(self, error: HocketError) -> None:
        self._failures += 1
        self._problem = error.text
        if self._failures >= FAILURES:
            self._alone_until_s = time.monotonic() + ALONE_S
            log.warning("the graph's engine is left alone for a while", seconds=ALONE_S, reason=error.text)


def _read(connection: HttpConnection, answer: HTTPResponse, until_s: float) -> bytes:
    body = b""
    while len(body) <= MAX_ANSWER_BYTES and (more := connection.read(answer, until_s)):
        body += more
    return body


def _by_rules(text: str, by: By) -> Reading:
    return Reading(mentions(text), by=by)
