"""The processes in which one file after another is read: one for all, and one that recognises text where needed."""

from __future__ import annotations

from pathlib import Path

from hocket_bus.errors import Unavailable

from ..errors import DocumentError
from .formats.pictures import recognition
from .limits import RECOGNITION
from .readers import is_picture, shown
from .sandbox import Parsed, Sandbox, Scanned


class Sandboxes:
    """Two sandboxes, without and with text recognition. `read` one at a time, on the same thread; `close` on any."""

    def __init__(self) -> None:
        self._plain = Sandbox()
        self._recognising = Sandbox(RECOGNITION)

    def read(self, path: Path, data: bytes, words: int) -> Parsed:
        """The document in `data`, the bytes of the file at `path`. Raises DocumentError, Cancelled, Unavailable."""
        if is_picture(path) and recognition.is_installed():
            return self._recognised(path, data, words)
        try:
            return self._plain.read(path, data, words)
        except Scanned as scanned:
            try:
                return self._recognised(path, data, words)
            except DocumentError as error:  # what has a text of its own is worth something without the rest
                if scanned.parsed is None:
                    raise
                reason = str(error).removeprefix(f"{shown(path)}: ")
                return scanned.parsed._replace(notice=f"{scanned.parsed.notice}: {reason}")

    def rest(self) -> None:
        """End the processes, until there is something to read again."""
        self._plain.rest()
        self._recognising.rest()

    def close(self) -> None:
        """End the processes, and a `read` under way by Cancelled."""
        self._plain.close()
        self._recognising.close()

    def _recognised(self, path: Path, data: bytes, words: int) -> Parsed:
        try:
            return self._recognising.read(path, data, words)
        except Unavailable as error:
            text = f"{shown(path)}: the process that recognises text does not start"
            raise DocumentError(text, "free some memory, and ingest again") from error
