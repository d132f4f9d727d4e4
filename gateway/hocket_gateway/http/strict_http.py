"""Refusal of requests with more than one body length: a proxy before the gateway may have read the other one."""

from __future__ import annotations

import re
from typing import Any

import h11

_LENGTHS = re.compile(rb"(?im)^(content-length|transfer-encoding)[ \t]*:(.*)$")


class StrictConnection(h11.Connection):
    """An h11 connection with a strict length: h11 itself accepts one given twice alike, or beside chunked encoding."""

    def next_event(self) -> Any:  # noqa: ANN401 - as h11 has it
        """Return h11's next event. Raises RemoteProtocolError for a head with more than one length."""
        head = self.trailing_data[0] if self.their_state is h11.IDLE else b""
        event = super().next_event()
        if isinstance(event, h11.Request) and has_two_lengths(_first_head(head)):
            raise h11.RemoteProtocolError("the request has more than one length")
        return event


def has_two_lengths(head: bytes) -> bool:
    """Tell whether the lines of a head give the body's length more than once."""
    said = _LENGTHS.findall(head)
    return len(said) > 1 or any(b"," in value for name, value in said if name.lower() == b"content-length")


def _first_head(data: bytes) -> bytes:
    return re.split(rb"\r?\n\r?\n", data.lstrip(b"\r\n"), maxsplit=1)[0]
