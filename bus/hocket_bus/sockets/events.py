"""What happens on the bus, as everything else sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hocket_bus.errors import HocketError
from hocket_bus.messages import Error, Hello, Message, Welcome

from .port import Port


@dataclass(frozen=True, slots=True)
class Received:
    """A message came to `port`, a Server or a Link. `route` names the sender on a Server and is empty on a Link.

    `user` is the name under which the sender's key is allowed; empty where the file system guards the socket.
    """

    port: Port
    route: bytes
    message: Message
    user: str = ""


@dataclass(frozen=True, slots=True)
class LinkUp:
    """The other end of a Link has answered Hello, and the subscription, if any, is confirmed."""

    link: Port
    welcome: Welcome


@dataclass(frozen=True, slots=True)
class LinkDown:
    """The other end of a Link fell silent, or refused us; the link keeps trying.

    `answered` says that it has welcomed us, and that its streams alone cannot be reached.
    """

    link: Port
    reason: HocketError
    answered: bool = False


@dataclass(frozen=True, slots=True)
class LinkDraining:
    """The other end of a Link takes no new requests and will be gone soon."""

    link: Port


@dataclass(frozen=True, slots=True)
class Greeted:
    """An end has said Hello to a Server and was welcomed, or is heard again after its Gone. `user` as in Received."""

    port: Port
    route: bytes
    hello: Hello
    user: str


@dataclass(frozen=True, slots=True)
class Gone:
    """Of an end that had greeted nothing has come for `ends.GONE_AFTER_S`; the fields are those of its Greeted."""

    port: Port
    route: bytes
    hello: Hello
    user: str


Event = Received | LinkUp | LinkDown | LinkDraining | Greeted | Gone
Greeter = Callable[[Hello], Welcome | Error]
