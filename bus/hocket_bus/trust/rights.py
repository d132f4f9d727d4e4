"""Authorization of messages at a server: by a message's code and its sender's key, before its body is read. Pure."""

from __future__ import annotations

from collections.abc import Container

from ..errors import BadMessage, Untrusted
from ..messages import NEEDS_OF, Hello, Message, Right
from .keys import Keys


class Taken:
    """The types of messages that a server takes, and the right that a key needs to send each of them.

    Users are named as in Received. "" is everybody who reaches a socket that the file system guards; they may do all.
    """

    def __init__(self, takes: Container[type[Message]]) -> None:
        """Keep the set `takes`, which may grow; greetings and pings are taken in any case."""
        self._takes = takes

    def check(self, kind: type[Message], user: str, keys: Keys | None) -> None:
        """Raise BadMessage for a type that is never taken here, and Untrusted if the key lacks the right to send it."""
        needs = NEEDS_OF[kind]
        if needs == "nothing":
            return
        if needs == "never" or kind not in self._takes:
            raise BadMessage(f"{kind.__name__} is not accepted here", "is that the right daemon?")
        require(needs, user, keys)

    def check_hello(self, hello: Hello, user: str, keys: Keys | None) -> None:
        """Check the Hello of a device at a server of sessions: it comes to pair. Raises Untrusted if it may not."""
        if hello.role == "device" and any(needs == "pair" and kind in self._takes for kind, needs in NEEDS_OF.items()):
            require("pair", user, keys)


def may(user: str, right: Right, keys: Keys | None) -> bool:
    """Tell whether a user's key has a right."""
    return not user or (keys is not None and right in keys.may(user))


def require(right: Right, user: str, keys: Keys | None) -> None:
    """Raise Untrusted if a user's key lacks the right, with the command that gives it."""
    if not may(user, right, keys):
        remedy = "" if keys is None else f"there, run: {keys.giving(user, right)}"
        raise Untrusted(f"this machine's key has no right '{right}' there", remedy)
