"""The sockets: the only room that imports zmq. A Server binds, a Link connects, one Bus owns them all."""

from .curve import new_key_pair
from .events import Event, LinkDown, LinkUp, Received
from .io import Bus
from .link import PING_S, Link
from .server import Server

__all__ = ["PING_S", "Bus", "Event", "Link", "LinkDown", "LinkUp", "Received", "Server", "new_key_pair"]
