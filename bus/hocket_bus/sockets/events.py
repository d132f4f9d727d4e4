"""Events of the bus, as all other code receives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hocket_bus.errors import HocketError
from hocket_bus.messages import Error, Hello, Message, Welcome

from .port import Port


@dataclass(frozen=True, slots=True)
class Received:
    """A message that came to `port`, a Server or a Link. `route` names the sender on a Server and is empty on a Link.

    `user` is the name under which the sender's key is allowed; empty if the file system guards the socket.
    """

    port: Port
    route: bytes
    message: Message
    user: str = ""


@dataclass(frozen=True, slots=True)
class LinkUp:
    """A link's connection: the other end has answered Hello, and the subscription, if any, is confirmed."""

    link: Port
    welcome: Welcome


@dataclass(frozen=True, slots=True)
class LinkDown:
    """A link's break: the other end fell silent, or refused us; the link keeps trying.

    `answered` means that the other end has welcomed us, and that only its streams cannot be reached.
    """

    link: Port
    reason: HocketError
    answered: bool = False


@dataclass(frozen=True, slots=True)
class LinkDraining:
    """A notice that the other end of a Link takes no new requests and will be gone soon."""

    link: Port


@dataclass(frozen=True, slots=True)
class Greeted:
    """A peer that said Hello to a Server and was welcomed, or is heard again after its Gone. `user` as in Received."""

    port: Port
    route: bytes
    hello: Hello
    user: str


@dataclass(frozen=True, slots=True)
class Gone:
    """A peer that had greeted, but was silent for `ends.GONE_AFTER_S`; the fields are those of its Greeted."""

    port: Port
    route: bytes
    hello: Hello
    user: str


Event = Received | LinkUp | LinkDown | LinkDraining | Greeted | Gone
Greeter = Callable[[Hello], Welcome | Error]
