"""Org files made ready for their reader: states of tasks stay, drawers and priorities go."""

from __future__ import annotations

import re

from ..encodings import decoded

_STATE = re.compile(r"(?m)^(\*+[^\S\n]+)(TODO|DONE|NEXT|WAITING|CANCELLED)[^\S\n]+(?=\S)")
_PRIORITY = re.compile(r"(?m)^(\*+[^\S\n](?:[^\n\[]*))\[#[A-Z]\][^\S\n]*")
_DRAWER = re.compile(
    r"(?mi)^[^\S\n]*:(?:PROPERTIES|LOGBOOK|CLOCK):[^\S\n]*\n"
    r"(?:(?![^\S\n]*:(?:PROPERTIES|LOGBOOK|CLOCK|END):|\*+[^\S\n]).*\n)*+[^\S\n]*:END:[^\S\n]*(?:\n|\Z)"
)
_TIMES = re.compile(r"(?m)^([^\S\n]*(?:CLOSED|SCHEDULED|DEADLINE):.*)$")


def outline(data: bytes) -> bytes:
    """Prepare a file for its reader, which leaves out states and takes drawers for text. Raises DocumentError."""
    text = _DRAWER.sub("", decoded(data).replace("\r\n", "\n"))
    return _TIMES.sub(r"\1\n", _STATE.sub(r"\1\2: ", _PRIORITY.sub(r"\1", text))).encode()
