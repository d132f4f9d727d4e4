"""What happens on the bus, as everything else sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hocket_bus.errors import HocketError
from hocket_bus.messages import Error, Hello, Message, Welcome

if TYPE_CHECKING:
    from .link import Link
    from .server import Server


@dataclass(frozen=True, slots=True)
class Received:
    """A message came. `route` names the sender on a Server and is empty on a Link.

    `user` is the name under which the sender's key is allowed; empty where the file system guards the socket.
    """

    port: Server | Link
    route: bytes
    message: Message
    user: str = ""


@dataclass(frozen=True, slots=True)
class LinkUp:
    """The other end has answered Hello, and the subscription, if any, is confirmed."""

    link: Link
    welcome: Welcome


@dataclass(frozen=True, slots=True)
class LinkDown:
    """The other end fell silent, or refused us; the link keeps trying."""

    link: Link
    reason: HocketError


Event = Received | LinkUp | LinkDown
Greeter = Callable[[Hello], Welcome | Error]
