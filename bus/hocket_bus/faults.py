"""Errors as messages: the one place that cuts them to the bounds that their readers check."""

from __future__ import annotations

from .errors import Busy, HocketError, from_code
from .messages import Error, Failed, Refused

MAX_CHARS = 2_000  # of a text and of a remedy: that of messages.types.Line


def error_message(error: HocketError, request: bytes = b"") -> Error:
    """The refusal of a request, or of bytes that were none."""
    return Error(
        code=error.code,
        text=_cut(error.text),
        remedy=_cut(error.remedy),
        request=request,
        retry_after_s=_retry_after_s(error),
    )


def failed(error: HocketError, request: bytes, seq: int) -> Failed:
    """The end of a stream."""
    return Failed(request=request, seq=seq, code=error.code, text=_cut(error.text), remedy=_cut(error.remedy))


def refused(error: HocketError, session: bytes, epoch: int) -> Refused:
    """What tells a device that this side cannot take part, and when it can."""
    return Refused(
        session=session,
        epoch=epoch,
        code=error.code,
        text=_cut(error.text),
        remedy=_cut(error.remedy),
        retry_after_s=_retry_after_s(error),
    )


def raised(message: Error | Failed | Refused) -> HocketError:
    """The exception that such a message stands for."""
    retry_after_s = 0.0 if isinstance(message, Failed) else message.retry_after_s
    return from_code(message.code, message.text, message.remedy, retry_after_s)


def notice_text(text: str) -> str:
    """A line for people, cut to what a message may carry; surrogates, which no encoder takes, are replaced."""
    return _cut(text)


def _cut(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:MAX_CHARS]


def _retry_after_s(error: HocketError) -> float:
    return error.retry_after_s if isinstance(error, Busy) else 0.0
