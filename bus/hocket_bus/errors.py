"""The errors that hocket raises, split by what the caller can do about them.

HocketError
├── BadRequest            the request cannot be served as it stands: change it
├── BadConfiguration      a configuration file is wrong: mend it (exit status 78)
├── Unavailable           nothing is wrong with the request: start, connect or ingest something, or try later
│   ├── Busy              the daemon is full: try again after `retry_after_s`
│   └── Forbidden         this machine's [egress] keeps it from leaving: allow it, or do without
├── DeadlineExceeded      no result came in time
├── Cancelled             the caller, or the daemon's end, stopped the request
└── ProtocolError         the other end speaks differently
    ├── Untrusted         the keys of the two ends do not fit: mend them with hocket keys
    └── BadMessage        bytes that are not a message of this protocol
        └── OtherVersion  a message of another version of the protocol

Each carries one line that says what happened and, in `remedy`, what to do.
"""

from __future__ import annotations

from typing import Literal

Code = Literal[
    "bad_request",
    "bad_configuration",
    "unavailable",
    "busy",
    "deadline",
    "cancelled",
    "protocol",
    "untrusted",
    "bad_message",
    "internal",
]


class HocketError(Exception):
    """Base of all errors; `str()` is one line: what happened and what to do."""

    code: Code = "internal"

    def __init__(self, text: str, remedy: str = "") -> None:
        super().__init__(f"{text}: {remedy}" if remedy else text)
        self.text = text
        self.remedy = remedy


class BadRequest(HocketError):
    """A request that cannot be served as it stands."""

    code: Code = "bad_request"


class BadConfiguration(HocketError):
    """A mistake in a configuration file."""

    code: Code = "bad_configuration"


class Unavailable(HocketError):
    """An absence of something that the request needs: it is not there now."""

    code: Code = "unavailable"


class Busy(Unavailable):
    """A refusal because the daemon takes no more work for the moment."""

    code: Code = "busy"

    def __init__(self, text: str, remedy: str = "try again shortly", retry_after_s: float = 1.0) -> None:
        super().__init__(text, remedy)
        self.retry_after_s = retry_after_s


class Forbidden(Unavailable):
    """A message that this machine's policy forbids to send."""


class DeadlineExceeded(HocketError):
    """A deadline that passed before a result came."""

    code: Code = "deadline"


class Cancelled(HocketError):
    """A request that was stopped before its result."""

    code: Code = "cancelled"


class ProtocolError(HocketError):
    """A breach of the protocol: the peer breaks it, or speaks another one."""

    code: Code = "protocol"


class Untrusted(ProtocolError):
    """A lack of trust: one end does not know the other one's key, or gives it no right to this."""

    code: Code = "untrusted"


class BadMessage(ProtocolError):
    """Bytes that are not a message of this protocol."""

    code: Code = "bad_message"


class OtherVersion(BadMessage):
    """A message of another version of this protocol."""


_BY_CODE: dict[str, type[HocketError]] = {
    kind.code: kind
    for kind in (
        BadRequest,
        BadConfiguration,
        Unavailable,
        Busy,
        DeadlineExceeded,
        Cancelled,
        ProtocolError,
        Untrusted,
        BadMessage,
    )
}


def from_code(code: str, text: str, remedy: str, retry_after_s: float = 0.0) -> HocketError:
    """Return the exception that a wire error stands for."""
    if code == Busy.code:
        return Busy(text, remedy, retry_after_s)
    return _BY_CODE.get(code, HocketError)(text, remedy)
