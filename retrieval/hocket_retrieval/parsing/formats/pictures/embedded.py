"""Pictures inside files: the text recognised in each, once, and how many were skipped."""

from __future__ import annotations

import hashlib
import struct
from functools import partial

from ....errors import DocumentError
from ..content import Section, listed
from .picture import opened, pixels
from .recognition import MISSING, RECOGNISED, REMEDY, Postponed, Recognise

MAX_PICTURES = 100  # of one file
_MIN_SIDE, _MIN_AREA = 24, 96 * 96  # pixels; what is smaller decorates
_MIN_BYTES = 4_096  # of a picture of which only its reader knows the size
_FAULTS = (DocumentError, OSError, ValueError, SyntaxError, TypeError, IndexError, struct.error)


class Pictures:
    """The pictures of one file, and of its attachments. `recognise` is None where no recognition is installed."""

    def __init__(self, recognise: Recognise | None) -> None:
        self.recognise = recognise
        self._known: set[bytes] = set()
        self._recognised = self._unread = self._surplus = 0

    def section(self, data: bytes, place: str = "") -> Section:
        """Return the text of a picture at this place; none for one that decorates, or that was there before."""
        return Section(self._text(data), listed(place, "picture"))

    @property
    def notice(self) -> str:
        """Return a line for people about pictures that were read or not; empty where there were none."""
        lines = []
        if self._unread:
            missing = f", and {MISSING}: {REMEDY}" if self.recognise is None else ""
            lines.append(f"{_counted(self._unread)} not read{missing}")
        if self._recognised:
            lines.append(f"{_counted(self._recognised)} {RECOGNISED}")
        if self._surplus:
            lines.append(f"{_counted(self._surplus)} not read, after the first {MAX_PICTURES}")
        return "; ".join(reversed(lines))

    def _text(self, data: bytes) -> str:
        key = hashlib.sha256(data).digest()
        if key in self._known or not _may_say_something(data):
            return ""
        self._known.add(key)
        if len(self._known) > MAX_PICTURES:
            self._surplus += 1
            return ""
        try:
            text = self.recognise(partial(opened, data)) if self.recognise else ""
        except _FAULTS:
            self._unread += 1
            return ""
        self._unread += self.recognise is None or isinstance(self.recognise, Postponed)
        self._recognised += bool(text)
        return text


def _may_say_something(data: bytes) -> bool:
    size = pixels(data)
    if size is None:
        return False
    if size == (0, 0):
        return len(data) >= _MIN_BYTES
    return min(size) >= _MIN_SIDE and size[0] * size[1] >= _MIN_AREA


def _counted(number: int) -> str:
    return "1 picture in it is" if number == 1 else f"{number} pictures in it are"
