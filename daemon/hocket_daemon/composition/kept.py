"""Paths that were computed, so that what is typed along one, or deleted back to one, is not computed again."""

from __future__ import annotations

from .path import Path
from .pieces import Pieces
from .reference import Reference
from .window import Window

MOST = 256  # paths
LATEST = 4  # of them that what is typed may lie on
LATE = 128  # of them that proposals are taken from


class Kept:
    """The paths behind one reference."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._paths: dict[tuple[str, str], Path] = {}
        self._reference: Reference | None = None
        self._earlier: list[Path] = []

    def late(self) -> list[Path]:
        """Those that were put last, the very last one last: behind this reference or behind earlier ones."""
        return [*self._earlier, *self._paths.values()][-LATE:]

    def put(self, reference: Reference, path: Path) -> None:
        """Keep a path, unless a longer one is here."""
        self._begin(reference)
        place = path.window.text, path.window.typed
        known = self._paths.pop(place, None)
        self._paths[place] = known if known is not None and len(known.tokens) > len(path.tokens) else path
        if len(self._paths) > MOST:
            del self._paths[next(iter(self._paths))]

    def find(self, reference: Reference, window: Window) -> Path | None:
        """A path from this window, as far as one is known."""
        self._begin(reference)
        known = self._paths.get((window.text, window.typed))
        if known is not None:
            return known
        latest = list(self._paths.values())[-LATEST:]
        along = (path.along(window, self._pieces) for path in reversed(latest))
        return next((path for path in along if path is not None), None)

    def _begin(self, reference: Reference) -> None:
        if reference is not self._reference:
            self._earlier = self.late()
            self._reference, self._paths = reference, {}
