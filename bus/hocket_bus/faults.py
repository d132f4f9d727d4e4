"""Errors as messages, and back. Only this module cuts their texts to the bounds that readers check."""

from __future__ import annotations

from .errors import Busy, HocketError, from_code
from .messages import Error, Failed, Message, Refused

MAX_CHARS = 2_000  # of a text and of a remedy: the bound of messages.types.Line
MAX_RETRY_S = 86_400.0


def error_message(error: HocketError, request: bytes = b"") -> Error:
    """Return the message that refuses a request; `request` is empty for bytes that could not be read."""
    return Error(
        code=error.code,
        text=notice_text(error.text),
        remedy=notice_text(error.remedy),
        request=request,
        retry_after_s=_retry_after_s(error),
    )


def failed(error: HocketError, request: bytes, seq: int) -> Failed:
    """Return the message that ends a stream with an error."""
    text, remedy = notice_text(error.text), notice_text(error.remedy)
    return Failed(request=request, seq=seq, code=error.code, text=text, remedy=remedy)


def refused(error: HocketError, session: bytes, epoch: int) -> Refused:
    """Return the message that tells a device that this side cannot take part, and when it can."""
    return Refused(
        session=session,
        epoch=epoch,
        code=error.code,
        text=notice_text(error.text),
        remedy=notice_text(error.remedy),
        retry_after_s=_retry_after_s(error),
    )


def in_place_of(message: Message, error: HocketError) -> Error | Failed | Refused:
    """Return the message that tells those who wait for `message` that it cannot be sent."""
    fields = message.__struct_fields__
    if {"request", "seq"} <= {*fields}:
        return failed(error, message.request, message.seq)  # type: ignore[attr-defined]
    if {"session", "epoch"} <= {*fields}:
        return refused(error, message.session, message.epoch)  # type: ignore[attr-defined]
    return error_message(error, getattr(message, "request", b""))


def raised(message: Error | Failed | Refused) -> HocketError:
    """Return the exception that such a message stands for."""
    retry_after_s = 0.0 if isinstance(message, Failed) else message.retry_after_s
    return from_code(message.code, message.text, message.remedy, retry_after_s)


def notice_text(text: str) -> str:
    """Return a text for people as a message may carry it: its first 2,000 characters, '?' for invalid Unicode."""
    return text[:MAX_CHARS].encode("utf-8", "replace").decode()


def _retry_after_s(error: HocketError) -> float:
    """Return the error's delay in seconds, made finite and not negative; 0 for errors that have none."""
    return max(0.0, min(error.retry_after_s, MAX_RETRY_S)) if isinstance(error, Busy) else 0.0
