"""Sockets: the only subpackage that imports zmq. A Server binds, a Link connects, and one Bus owns them all."""

from .bus import Bus, GuardedLoop, Routes
from .curve import new_key_pair
from .events import Event, Gone, Greeted, LinkDown, LinkDraining, LinkUp, Received
from .link import PING_S, Link
from .port import Port
from .server import Server

__all__ = [
    "PING_S",
    "Bus",
    "Event",
    "Gone",
    "Greeted",
    "GuardedLoop",
    "Link",
    "LinkDown",
    "LinkDraining",
    "LinkUp",
    "Port",
    "Received",
    "Routes",
    "Server",
    "new_key_pair",
]
