"""The headings above a place in a document, as a path."""

from __future__ import annotations

MAX_HEADING, MAX_PATH = 80, 160  # characters
_BETWEEN = " › "


class Headings:
    """The headings above one place, from the outermost in."""

    def __init__(self) -> None:
        self._above: list[tuple[int, str]] = []

    def enter(self, level: int, heading: str) -> None:
        """Enter a heading, which ends all of its own or a lower level: of a higher number."""
        while self._above and self._above[-1][0] >= level:
            self._above.pop()
        self._above.append((level, _shortened(" ".join(heading.split()))))

    @property
    def path(self) -> str:
        """Return a path such as "§ Lease › Deposit"; a long one lacks its outer headings. Empty before the first."""
        names = [name for _, name in self._above if name]
        while len(names) > 1 and sum(map(len, names)) + len(_BETWEEN) * len(names) > MAX_PATH:
            names = ["…", *names[2:]] if names[0] == "…" else ["…", *names[1:]]
        return f"§ {_BETWEEN.join(names)}" if names else ""


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_HEADING else f"{name[: MAX_HEADING - 1].rstrip()}…"
