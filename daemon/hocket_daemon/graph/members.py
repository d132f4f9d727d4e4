"""The devices that may ask each other, and where those are that are connected now. Knows no sockets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Member:
    """A connected device: where it is reached, and whether it left a question unanswered since it came."""

    route: bytes
    sleeps: bool = False


class Members:
    """Devices by name: that of its key, or on ipc the number of its document store, which it tells by itself."""

    def __init__(self, groups: Mapping[str, Sequence[str]], lets_in: Callable[[str], bool]) -> None:
        """Begin with nobody connected; `lets_in` tells whether the key of a name may still pair here."""
        self._groups = [frozenset(names) for names in groups.values()]
        self._lets_in = lets_in
        self._members: dict[str, Member] = {}
        self._names: dict[bytes, str] = {}

    @property
    def known(self) -> frozenset[str]:
        """The names of groups whose keys may still pair."""
        return frozenset(name for group in self._groups for name in group if self._lets_in(name))

    @property
    def keyless(self) -> list[str]:
        """The names of groups for which no key may pair."""
        return sorted({name for group in self._groups for name in group} - self.known)

    def others(self, name: str) -> frozenset[str]:
        """Return the devices that `name` may ask: those of its groups, without itself."""
        known = self.known
        asked = (group for group in self._groups if name in group and name in known)
        return frozenset[str]().union(*asked) & known - {name}

    def is_member(self, name: str) -> bool:
        """Tell whether the device is in any group."""
        return name in self.known

    def here(self, name: str, route: bytes) -> None:
        """Note that the device is connected at `route`; its link may be a new one."""
        self._names[route] = name
        if name not in self._members or self._members[name].route != route:
            self._members[name] = Member(route)

    def back(self, route: bytes) -> None:
        """Note that something has come from `route` that shows the device to be awake."""
        if member := self._members.get(self._names.get(route, "")):
            member.sleeps = False

    def gone(self, route: bytes) -> None:
        """Note that nothing is connected at `route` any more."""
        name = self._names.pop(route, "")
        if name in self._members and self._members[name].route == route:
            del self._members[name]

    def name_at(self, route: bytes) -> str:
        """Return the name of the device at `route`; empty if it has not given one."""
        return self._names.get(route, "")

    def route_of(self, name: str) -> bytes | None:
        """Return the route to a device that is awake; None for others."""
        member = self._members.get(name)
        return None if member is None or member.sleeps else member.route

    def why_not(self, name: str) -> str:
        """Return why a device is not asked."""
        return "has not answered lately" if name in self._members else "is not connected"

    def silent(self, name: str) -> None:
        """Mark a device that left a question unanswered: it is asked no more until something comes from it."""
        if name in self._members:
            self._members[name].sleeps = True

    def connected(self) -> list[str]:
        """Return the names of the devices that are connected."""
        return sorted(self._members)
