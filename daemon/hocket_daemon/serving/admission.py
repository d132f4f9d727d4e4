"""Admission of sessions: places and rows are reserved up front; a full daemon answers `busy` with a retry time.

Fair between machines, which are told apart by their keys:
- Where several keys may connect, one place and the rows of an ordinary session are reserved for a key that holds none:
  a key that holds a place, or asks for more rows than an ordinary session has, must leave them free.
- A free place goes to any key, unless another that holds fewer was refused and may come back, for no more rows.
- While such a key waits, a key that holds more is `pressed`: those of its sessions that make no progress, or have had
  their time, are ended (sessions.py).
- The number of sessions that a key may begin in a second is limited.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from operator import le

from hocket_bus.errors import BadRequest, Busy

from .rates import Rates

ORDINARY_ROWS = 3  # what a question asks for that does not say how many documents it wants: theirs, and its own
_RETRY_S = (0.2, 10.0)
_FIRST_HELD_S = 4.0  # how long a place is held, before any has been given back
_WEIGHT = 0.2  # of a new observation of that


@dataclass(frozen=True, slots=True)
class _Held:
    user: str
    rows: int
    since_s: float


@dataclass(frozen=True, slots=True)
class _Refused:
    """A refused key: the rows that it asked for, and until when a place is held for it."""

    rows: int
    until_s: float


class Admission:
    """The places and rows of one daemon; times are on the monotonic clock."""

    def __init__(self, places: int, rows: int, *, shared: bool = False) -> None:
        """Set the limits; `shared`, where several keys may connect, reserves a share for newcomers.

        A daemon with one place reserves nothing, and one with too few rows reserves no rows.
        """
        self._places = places
        self._rows = rows
        self._reserved_places = 1 if shared and places > 1 else 0
        self._reserved_rows = ORDINARY_ROWS if self._reserved_places and rows >= 2 * ORDINARY_ROWS else 0
        self._rates = Rates() if shared else None
        self._held: dict[Hashable, _Held] = {}
        self._taken = 0  # rows of all of them
        self._refused: dict[str, _Refused] = {}
        self._held_s = _FIRST_HELD_S

    def __len__(self) -> int:
        return len(self._held)

    def enter(self, key: Hashable, user: str, rows: int, now_s: float) -> None:
        """Reserve a place and `rows` rows.

        Raises Busy while none are free, BadRequest if there can never be so many.
        """
        self._check_rows(rows)
        if self._rates is not None:
            self._rates.begin(user, now_s)
        if len(self._held) >= self._places or self._taken + rows > self._rows:
            full = (
                f"{len(self)} of at most {self._places} questions are being answered, with {self._taken} of "
                f"{self._rows} passages and prompts that the model reads at once"
            )
            raise self._busy(user, rows, now_s, full)
        if self._is_reserved(user, rows, self._taken):
            raise self._busy(user, rows, now_s, "the free slots are reserved for a machine that uses none")
        if self._keeps_for_another(user, rows, now_s):
            raise self._busy(user, rows, now_s, "the free place is reserved for a machine that uses fewer")
        self._refused.pop(user, None)
        self._held[key] = _Held(user, rows, now_s)
        self._count_rows()

    def leave(self, key: Hashable, now_s: float) -> None:
        """Give back the place that is held under `key`."""
        held = self._held.pop(key, None)
        if held is not None:
            self._count_rows()
            self._held_s += _WEIGHT * (now_s - held.since_s - self._held_s)

    def pressed(self, user: str, now_s: float) -> bool:
        """Tell whether a waiting key, given what it was refused, would still hold less than `user` does."""
        self._forget(now_s)
        has = self._holds(user), self._holds_rows(user)
        for name, refused in self._refused.items():
            would_have = self._holds(name) + 1, self._holds_rows(name) + refused.rows
            if name != user and would_have != has and all(map(le, would_have, has)):
                return True
        return False

    def retry_s(self) -> float:
        """Return the seconds after which a refused client may try again."""
        return min(max(self._held_s / max(1, len(self)), _RETRY_S[0]), _RETRY_S[1])

    def headroom(self, rows: int) -> float:
        """Return how freely a session of `rows` rows may work ahead, in [0, 1]: 1 while half of the rest is free.

        It falls from there to 0 when everything is taken, so that sessions slow down before anyone is refused.
        """
        others = self._taken - rows
        load = max((len(self) - 1) / max(1, self._places - 1), others / max(1, self._rows - rows))
        return min(1.0, max(0.0, 2 * (1 - load)))

    def _count_rows(self) -> None:
        self._taken = sum(held.rows for held in self._held.values())

    def _check_rows(self, rows: int) -> None:
        maximum = self._rows - self._reserved_rows
        if rows > maximum:
            share = f", of which one machine may have {maximum}" if self._reserved_rows else ""
            text = f"the question needs {rows} rows, the model has {self._rows} slots{share}"
            raise BadRequest(text, "ask for fewer documents")

    def _is_reserved(self, user: str, rows: int, taken: int) -> bool:
        """Tell whether another `rows` rows for `user` would take what is reserved for a key that holds nothing."""
        if not self._holds(user) and rows <= ORDINARY_ROWS:
            return False
        free_places, free_rows = self._places - len(self._held), self._rows - taken
        return free_places - 1 < self._reserved_places or free_rows - rows < self._reserved_rows

    def _keeps_for_another(self, user: str, rows: int, now_s: float) -> bool:
        """Tell whether a key that holds fewer places waits, for no more rows than `user` would then have."""
        self._forget(now_s)
        places, rows = self._holds(user), self._holds_rows(user) + rows
        return any(
            self._holds(name) < places and self._holds_rows(name) + refused.rows <= rows
            for name, refused in self._refused.items()
        )

    def _forget(self, now_s: float) -> None:
        self._refused = {name: refused for name, refused in self._refused.items() if refused.until_s > now_s}

    def _holds(self, user: str) -> int:
        return sum(held.user == user for held in self._held.values())

    def _holds_rows(self, user: str) -> int:
        return sum(held.rows for held in self._held.values() if held.user == user)

    def _busy(self, user: str, rows: int, now_s: float, text: str) -> Busy:
        retry_s = self.retry_s()
        self._refused[user] = _Refused(rows, now_s + 2 * retry_s)
        return Busy(text, f"try again in {retry_s:.1f} s", retry_s)
