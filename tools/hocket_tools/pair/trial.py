"""A cloud and several devices in one folder of this machine, to try a federation: files and keys; starts nothing.

The cloud lives in the folder itself, each device in a folder of its own below it, which is a home like any other.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping

from hocket_bus.endpoints import is_tcp
from hocket_bus.errors import BadConfiguration
from hocket_bus.sockets import new_key_pair
from hocket_bus.trust import keys
from hocket_bus.trust.keys import KeyPair, Peer
from hocket_bus.trust.pins import fingerprint
from hocket_bus.trust.sealing import SealingKey
from hocket_tools.pair.home import NOTHING, Home
from hocket_tools.settings import Value

GROUP = "family"
SHARED: Mapping[str, Value] = {"egress.summaries": True, "egress.evidence": True, "egress.drafts_for": ("*",)}
_NAME = re.compile(r"device-[1-9]\d*")


def devices(home: Home) -> list[Home]:
    """The homes of the devices of a trial, in their order; none where `home` is no trial's."""
    found = [
        path for path in home.at.glob("device-*") if _NAME.fullmatch(path.name) and (path / "device.toml").exists()
    ]
    return [Home(path) for path in sorted(found, key=lambda path: int(path.name.partition("-")[2]))]


def members(home: Home) -> list[Home]:
    """The home itself, and those of its devices."""
    return [home, *devices(home)]


def prepare(
    home: Home, count: int, cloud: Mapping[str, Value] = NOTHING, device: Mapping[str, Value] = NOTHING
) -> None:
    """Make a cloud and `count` devices; `cloud` and `device` are further values of their files, by dotted name.

    Raises BadConfiguration where something else is there.
    """
    if home.config("device").exists() or (home.config("cloud").exists() and not devices(home)):
        raise BadConfiguration(
            f"{home.at} has a pair already", "choose another folder: hocket up --devices 3 --home PATH"
        )
    there = devices(home)
    if there and len(there) != count:
        raise BadConfiguration(
            f"{home.at} has {len(there)} devices already", f"pass --devices {len(there)}, or leave it out"
        )
    if there:
        return
    names = [f"device-{number}" for number in range(1, count + 1)]
    at = f"tcp://127.0.0.1:{_free_ports()}"
    home.prepare_side("cloud", "cloud", at, {"federation.groups": {GROUP: names}, **cloud})
    own = new_key_pair()
    keys.write_own(home.at / "keys", own)
    peers = {"self": Peer(own.public, at, frozenset({"dial", "watch", "drain"}))}
    made = {name: _device(Home(home.at / name), own.public, at, device) for name in names}
    keys.write_peers(
        home.at / "keys", peers | {name: Peer(key.public, may=frozenset({"pair"})) for name, key in made.items()}
    )
    for name in names:
        _pin_others(Home(home.at / name), name, made)


def _pin_others(home: Home, own: str, made: Mapping[str, KeyPair]) -> None:
    """Pin the keys of the other devices, which were made here: as good as by hand."""
    for name, key in made.items():
        if name != own:
            home.pins().pin(name, fingerprint(SealingKey.of_secret(key.secret).public))


def _device(home: Home, cloud_key: str, at: str, more: Mapping[str, Value]) -> KeyPair:
    """Make a device's files, with all sharing within the group allowed, and its key, which is returned."""
    home.prepare_side("device", home.at.name, "", {**SHARED, **more})
    home.set_peer(at)
    own = new_key_pair()
    keys.write_own(home.at / "keys", own)
    keys.write_peers(home.at / "keys", {"cloud": Peer(cloud_key, at, frozenset({"dial"}))})
    return own


def dial(device: Home, cloud: str, at: str) -> None:
    """Let a device reach its cloud, which listens at `cloud`, at another address, such as a link emulator's."""
    folder = device.at / "keys"
    peers = keys.read_peers(folder)
    known = {
        name: Peer(peer.key, at if peer.endpoint == cloud else peer.endpoint, peer.may) for name, peer in peers.items()
    }
    keys.write_peers(folder, known)
    device.set_peer(at)


def _free_ports() -> int:
    """Return a port that nothing listens on, and neither on the next one."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


def is_trial(home: Home) -> bool:
    """Tell whether devices live below the home, and its cloud listens for them."""
    return bool(devices(home)) and home.config("cloud").exists() and is_tcp(home.listening("cloud"))
