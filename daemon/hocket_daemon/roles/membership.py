"""The signed list of the cloud daemons that a device may use: made by their owner, stored beside a machine's keys.

The file is TOML. Its first line is an Ed25519 signature of every byte behind that line, so what is signed is read as it
stands. Whoever takes a list for the first time takes its owner with it; a later list counts where that owner has signed
it and its version is higher. Knows no socket, and nothing of which daemon runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from nacl.encoding import HexEncoder
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from hocket_bus.config import load, quoted
from hocket_bus.endpoints import check_endpoint, is_tcp
from hocket_bus.errors import BadConfiguration, BadRequest
from hocket_bus.trust.keys import Z85Key
from hocket_bus.trust.private import changing, check_mode, write_new, write_whole

FILE, OWNER = "members.toml", "owner.toml"
BY_LIST = "members"  # in place of the cloud's endpoint in a device's configuration
CANDIDATES = 2  # how many of the list a device may be with
_FILE_MODE, _OWNER_MODE = 0o640, 0o600
_DOMAIN = b"hocket members\n"  # no other signature of that key is one of a list
_SIGNED = "signature = "

HexKey = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class CloudMember(Struct, frozen=True, forbid_unknown_fields=True):
    """A cloud daemon: where it is, its CURVE key, the fingerprint of its model, and how many sessions it takes."""

    endpoint: str
    key: Z85Key
    model: str
    capacity: Annotated[int, Meta(ge=1)]


class MemberList(Struct, frozen=True, forbid_unknown_fields=True):
    """The list that an owner has signed. Its version only rises."""

    owner: HexKey
    version: Annotated[int, Meta(ge=1)]
    members: dict[str, CloudMember]

    def candidates(self, device: str, model: str, *, by_words: bool = False) -> list[CloudMember]:
        """Return the members that the device with this public key may use: those of its model, by rendezvous hashing.

        A device that can answer `by_words` may use others, too, where there is none of its model.
        A member that comes or goes changes them for about 2 devices in n, of n members (Thaler and Ravishankar 1998).
        """
        same = [member for member in self.members.values() if member.model == model]
        fitting = same or (list(self.members.values()) if by_words else [])
        return sorted(fitting, key=lambda member: _weight(device, member.key), reverse=True)[:CANDIDATES]


class _Owner(Struct, frozen=True, forbid_unknown_fields=True):
    secret: HexKey


class _Entries(Struct, frozen=True, forbid_unknown_fields=True):
    """The list before it is signed."""

    members: dict[str, CloudMember]


def new_owner(folder: Path) -> str:
    """Make the key that signs lists; return its public half. Raises BadRequest where there is one already."""
    path, key = folder / OWNER, SigningKey.generate()
    try:
        write_new(path, f"secret = '{key.encode(HexEncoder).decode()}'\n")
    except FileExistsError as error:
        text = f"{path} exists, and devices accept no list signed with another key"
        raise BadRequest(text, "sign with it") from error
    return key.verify_key.encode(HexEncoder).decode()


def entries(path: Path) -> dict[str, CloudMember]:
    """Read the members that an owner has written down. Raises BadConfiguration."""
    return _checked(load(path, _Entries).members, str(path))


def sign(folder: Path, members: Mapping[str, CloudMember]) -> MemberList:
    """Sign a list with the owner's key in `folder`, one version above the last one, and store it there.

    Raises BadConfiguration.
    """
    path = folder / OWNER
    if not path.exists():
        raise BadConfiguration(
            f"this machine has no key to sign lists: there is no {path}", "create it: hocket members new"
        )
    check_mode(path, _OWNER_MODE)
    key = SigningKey(load(path, _Owner).secret.encode(), HexEncoder)
    with changing(folder / FILE):
        former = read(folder)
        owner, version = key.verify_key.encode(HexEncoder).decode(), former.version + 1 if former is not None else 1
        text = _written(MemberList(owner, version, dict(members)))
        signature = key.sign(_DOMAIN + text.encode()).signature.hex()
        return _taken(folder, f"{_SIGNED}'{signature}'\n{text}")


def take(folder: Path, text: str) -> MemberList:
    """Store a list that its owner has signed. Raises BadRequest where it must not replace the one that there is."""
    with changing(folder / FILE):
        return _taken(folder, text)


def _taken(folder: Path, text: str) -> MemberList:
    new, former = parse(text, "the list"), read(folder)
    if former is not None:
        check_successor(new, former)
    write_whole(folder / FILE, text)
    return new


def check_successor(new: MemberList, former: MemberList) -> None:
    """Check that a list is the same, or a later one of the same owner. Raises BadRequest."""
    if new.owner != former.owner:
        raise BadRequest("the list is signed by another owner than the known one", f"remove {FILE} to accept it")
    if new != former and new.version <= former.version:
        text = f"the list has version {new.version}, but version {former.version} is known already"
        raise BadRequest(text, "use the newest list")


def read(folder: Path) -> MemberList | None:
    """Return the stored list; None where there is none. Raises BadConfiguration."""
    path = folder / FILE
    if not path.exists() or not path.stat().st_size:  # the system's install makes an empty one
        return None
    check_mode(path, _FILE_MODE)
    return parse(path.read_text(encoding="utf-8"), str(path))


def parse(text: str, origin: str) -> MemberList:
    """Return the list in `text`, whose signature must be its owner's. Raises BadConfiguration."""
    first, _, signed = text.partition("\n")
    try:
        found = msgspec.toml.decode(signed, type=MemberList)
        signature = bytes.fromhex(first.removeprefix(_SIGNED).strip("'"))
        VerifyKey(found.owner.encode(), HexEncoder).verify(_DOMAIN + signed.encode(), signature)
    except (msgspec.DecodeError, ValueError, BadSignatureError) as error:
        raise BadConfiguration(
            f"{origin} does not match its owner's signature", "fetch it again from its owner"
        ) from error
    _checked(found.members, origin)
    return found


def _checked(members: dict[str, CloudMember], origin: str) -> dict[str, CloudMember]:
    """Check the members. Raises BadConfiguration for ones that cannot be told apart, or dialled."""
    for name, member in members.items():
        check_endpoint(member.endpoint)
        if not is_tcp(member.endpoint):
            raise BadConfiguration(f"{origin}: {name} can be reached only from its own machine", "name a tcp endpoint")
    if not members or len({member.key for member in members.values()}) < len(members):
        raise BadConfiguration(
            f"{origin}: there are no members, or two with the same key", "give each daemon its own entry"
        )
    return members


def _written(found: MemberList) -> str:
    lines = [f"owner = '{found.owner}'", f"version = {found.version}"]
    for name, member in sorted(found.members.items()):
        lines += ["", *entry_lines(name, member)]
    return "\n".join([*lines, ""])


def entry_lines(name: str, member: CloudMember) -> Iterable[str]:
    """Return the lines of an entry in a file."""
    values = msgspec.to_builtins(member)
    return [f"[members.{quoted(name)}]", *(f"{field} = {quoted(value)}" for field, value in values.items())]


def _weight(device: str, member: str) -> bytes:
    return hashlib.blake2b(f"{device} {member}".encode(), digest_size=8).digest()
