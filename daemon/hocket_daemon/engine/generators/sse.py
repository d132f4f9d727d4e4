"""Server-sent events out of bytes as they come (WHATWG HTML, "Server-sent events"). Knows nothing of what they say."""

from __future__ import annotations

from hocket_bus.errors import BadMessage

MAX_EVENT_BYTES = 1 << 20


class Events:
    """The data of each event. Names, ids and comments are left out; so is an event that is not complete at the end."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._behind_return = False  # a line feed that comes now belongs to the end of the last line

    def feed(self, received: bytes) -> list[str]:
        """The data of the events that `received` completes; it may begin and end anywhere, within a character too.

        Bytes that are no UTF-8 become lone surrogates, as "surrogateescape" has it, so that the halves of a character
        in two events can be joined. Raises BadMessage for an event beyond MAX_EVENT_BYTES.
        """
        complete = [data for line in self._lines(received) if (data := self._take(line)) is not None]
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

    def _take(self, line: bytes) -> str | None:
        """The data of the event that an empty line ends, if it has any."""
        if line:
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
            return None
        data, self._data = self._data, []
        return b"\n".join(data).decode("utf-8", "surrogateescape") if data else None
