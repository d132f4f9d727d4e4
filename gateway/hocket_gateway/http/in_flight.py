"""Bytes on their way to clients that may not read them: sent in small pieces, and bounded over all answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.datastructures import Headers
from starlette.types import Message, Send

from .refusals import Refusal

PIECE_BYTES = 64 << 10  # of an answer that are handed on before the client has read what came before
MAX_BYTES = 64 << 20  # of long whole answers that are not sent yet, of all clients
MAX_DOCUMENTS, MAX_OF_ONE = 32, 4  # that are being shown, page by page: of all, and of one person


class InFlight:
    """The bytes and documents that a gateway is sending."""

    def __init__(self) -> None:
        self.bytes = 0
        self._showing: Counter[str] = Counter()

    @contextmanager
    def answer(self, send: Send, path: str) -> Iterator[Send]:
        """Yield a `send` for one answer; one that there is no room for is replaced by a refusal."""
        held = 0
        refused = False

        async def sent(message: Message) -> None:
            nonlocal held, refused
            if message["type"] == "http.response.start":
                length = _length(message)
                refused = length > PIECE_BYTES and self.bytes > 0 and self.bytes + length > MAX_BYTES
                if refused:
                    await _send_refusal(send, path)
                    return
                held = length if length > PIECE_BYTES else 0
                self.bytes += held
            if not refused:
                await _in_parts(send, message)

        try:
            yield sent
        finally:
            self.bytes -= held

    @contextmanager
    def document(self, account: str) -> Iterator[None]:
        """Count a document while it is being shown. Raises Refusal if too many are shown already."""
        if self._showing[account] >= MAX_OF_ONE or self._showing.total() >= MAX_DOCUMENTS:
            raise busy()
        self._showing[account] += 1
        try:
            yield
        finally:
            self._showing[account] -= 1
            if not self._showing[account]:
                del self._showing[account]


def busy() -> Refusal:
    """Return the refusal of an answer for which there is no room."""
    text = "too many answers wait for clients that do not read them"
    return Refusal(503, text, "ask again in a moment", "busy", retry_after_s=1.0)


def _length(message: Message) -> int:
    length = Headers(raw=message["headers"]).get("content-length", "")
    return int(length) if length.isdecimal() else 0


async def _in_parts(send: Send, message: Message) -> None:
    body = memoryview(message.get("body", b""))
    while len(body) > PIECE_BYTES:
        await send({**message, "body": bytes(body[:PIECE_BYTES]), "more_body": True})
        body = body[PIECE_BYTES:]
    await send({**message, "body": bytes(body)} if "body" in message else message)


async def _send_refusal(send: Send, path: str) -> None:
    answer = busy().response(path)
    await send({"type": "http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})
