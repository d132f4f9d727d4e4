"""Server-sent events out of bytes as they come (WHATWG HTML, "Server-sent events"). Knows nothing of what they say."""

from __future__ import annotations

from typing import NamedTuple

from hocket_bus.errors import BadMessage

MAX_EVENT_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """The data of an event, and its name, empty where it has none."""

    data: str
    name: str = ""


class Events:
    """A parser of events that have data. Ids and comments are left out; so is an event incomplete at the end."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._name = b""
        self._data: list[bytes] = []
        self._is_first = True  # line, before which a byte order mark may stand
        self._behind_return = False  # a line feed that comes now belongs to the end of the last line

    def feed(self, received: bytes) -> list[Event]:
        """The events that `received` completes; it may begin and end anywhere, within a character too.

        Bytes that are no UTF-8 become lone surrogates, as "surrogateescape" has it, so that the halves of a character
        in two events can be joined. Raises BadMessage for an event beyond MAX_EVENT_BYTES.
        """
        complete = [event for line in self._lines(received) if (event := self._take(line)) is not None]
        if len(self._line) + sum(map(len, self._data)) > MAX_EVENT_BYTES:
            raise BadMessage(f"an event of more than {MAX_EVENT_BYTES} bytes", "look at the server's log")
        return complete

    def _lines(self, received: bytes) -> list[bytes]:
        """The lines that are complete now; they end with CR, LF or both."""
        if self._behind_return and received:
            received = received.removeprefix(b"\n")
            self._behind_return = False
        if received:
            self._behind_return = received.endswith(b"\r")
        *complete, rest = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if not complete:
            self._line += rest
            return []
        complete[0] = bytes(self._line) + complete[0]
        self._line = bytearray(rest)
        return complete

    def _take(self, line: bytes) -> Event | None:
        """The event that an empty line ends, if it has data."""
        if self._is_first:
            line, self._is_first = line.removeprefix(_BOM), False
        if line:
            field, _, value = line.partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
            elif field == b"event":
                self._name = value.removeprefix(b" ")
            return None
        data, name, self._data, self._name = self._data, self._name, [], b""
        return Event(_decoded(b"\n".join(data)), _decoded(name)) if data else None


def _decoded(part: bytes) -> str:
    return part.decode("utf-8", "surrogateescape")
