"""What a binding end takes: judged by a message's code and its sender's key, before its body is read. Pure."""

from __future__ import annotations

from collections.abc import Container

from ..errors import BadMessage, Untrusted
from ..messages import NEEDS_OF, Hello, Message, Right
from .keys import Keys


class Taken:
    """The kinds of messages that a binding end takes, and what a key needs to send each of them.

    Users are as in Received: "" is everybody who reaches a socket that the file system guards, and may do all.
    """

    def __init__(self, takes: Container[type[Message]]) -> None:
        """`takes` may grow; greetings and pings are taken in any case."""
        self._takes = takes

    def check(self, kind: type[Message], user: str, keys: Keys | None) -> None:
        """Raises BadMessage for what is never taken here, Untrusted where the key has not the right to it."""
        needs = NEEDS_OF[kind]
        if needs == "nothing":
            return
        if needs == "never" or kind not in self._takes:
            raise BadMessage(f"no {kind.__name__} is taken here", "is that the right daemon?")
        require(needs, user, keys)

    def check_hello(self, hello: Hello, user: str, keys: Keys | None) -> None:
        """A device that greets an end of sessions comes to pair. Raises Untrusted where it may not."""
        if hello.role == "device" and any(needs == "pair" and kind in self._takes for kind, needs in NEEDS_OF.items()):
            require("pair", user, keys)


def may(user: str, right: Right, keys: Keys | None) -> bool:
    """Whether a user's key has a right."""
    return not user or (keys is not None and right in keys.may(user))


def require(right: Right, user: str, keys: Keys | None) -> None:
    """Raises Untrusted where a user's key has not the right, with the command that gives it."""
    if not may(user, right, keys):
        remedy = "" if keys is None else f"there, run: {keys.giving(user, right)}"
        raise Untrusted(f"this machine's key has no right '{right}' there", remedy)
