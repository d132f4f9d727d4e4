"""Who may begin: places and rows are promised up front, and a full daemon says `busy` and when to try again.

Fair between machines: a place goes to whoever asks, unless one that holds fewer was told `busy` and may come back.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from hocket_bus.errors import BadRequest, Busy

_RETRY_S = (0.2, 10.0)
_FIRST_HELD_S = 4.0  # how long a place is held, before any has been given back
_WEIGHT = 0.2  # of a new observation of that


@dataclass(frozen=True, slots=True)
class _Held:
    user: str
    rows: int
    since_s: float


class Admission:
    """The places of one daemon; times are the monotonic clock's."""

    def __init__(self, places: int, rows: int) -> None:
        self._places = places
        self._rows = rows
        self._held: dict[Hashable, _Held] = {}
        self._refused: dict[str, float] = {}  # machines that were told `busy`, and until when a place is kept for them
        self._held_s = _FIRST_HELD_S

    def __len__(self) -> int:
        return len(self._held)

    def enter(self, key: Hashable, user: str, rows: int, now_s: float) -> None:
        """Promise a place and `rows` rows. Raises Busy while there are none, BadRequest where there never are."""
        if rows > self._rows:
            raise BadRequest(f"{rows} documents were asked for, the model has {self._rows} slots", "ask for fewer")
        taken = sum(held.rows for held in self._held.values())
        if len(self._held) >= self._places or taken + rows > self._rows:
            full = f"{len(self)} of {self._places} places and {taken} of {self._rows} rows are taken"
            raise self._busy(user, now_s, full)
        if self._keeps_for_another(user, now_s):
            raise self._busy(user, now_s, "the free place is kept for a machine that holds fewer")
        self._refused.pop(user, None)
        self._held[key] = _Held(user, rows, now_s)

    def leave(self, key: Hashable, now_s: float) -> None:
        """Give a place back."""
        held = self._held.pop(key, None)
        if held is not None:
            self._held_s += _WEIGHT * (now_s - held.since_s - self._held_s)

    def headroom(self, rows: int) -> float:
        """How freely a session of `rows` rows may work ahead, in [0, 1]: 1 while half of what others can take is free.

        From there down to 0 when all is taken, so that sessions draw in before anybody is told `busy`.
        """
        taken = sum(held.rows for held in self._held.values()) - rows
        load = max((len(self) - 1) / max(1, self._places - 1), taken / max(1, self._rows - rows))
        return min(1.0, max(0.0, 2 * (1 - load)))

    def _keeps_for_another(self, user: str, now_s: float) -> bool:
        self._refused = {name: until_s for name, until_s in self._refused.items() if until_s > now_s}
        return any(self._holds(name) < self._holds(user) for name in self._refused)

    def _holds(self, user: str) -> int:
        return sum(held.user == user for held in self._held.values())

    def _busy(self, user: str, now_s: float, text: str) -> Busy:
        retry_s = min(max(self._held_s / max(1, len(self)), _RETRY_S[0]), _RETRY_S[1])
        self._refused[user] = now_s + 2 * retry_s
        return Busy(text, f"try again in {retry_s:.1f} s", retry_s)
