"""Keys with which one machine may do everything with itself over tcp, for pairs that are gone afterwards."""

from __future__ import annotations

from pathlib import Path

from hocket_bus.messages import RIGHTS
from hocket_bus.sockets import new_key_pair
from hocket_bus.trust import keys
from hocket_bus.trust.keys import Peer


def trust_self(folder: Path, *endpoints: str) -> Path:
    """Make a key in `folder`, trust it at these endpoints, and return the folder."""
    own = new_key_pair()
    keys.write_own(folder, own)
    may = frozenset(RIGHTS)
    keys.write_peers(folder, {f"self-{number}": Peer(own.public, at, may) for number, at in enumerate(endpoints)})
    return folder
