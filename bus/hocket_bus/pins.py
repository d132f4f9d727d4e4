"""The sealing keys of other devices of a group, as each was first seen: a later one that differs is refused."""

from __future__ import annotations

import shlex
from pathlib import Path

from msgspec import Struct

from .config import load, quoted
from .errors import BadConfiguration, BadMessage, BadRequest, Forbidden, Unavailable
from .keys import fingerprint as fingerprint_of_text
from .private import check_mode, write_whole
from .sealing import KEY_BYTES

FILE = "group-keys.toml"
MAX_PINS, MAX_NAME = 1_000, 64
_MODE = 0o600


class _Written(Struct, frozen=True, forbid_unknown_fields=True):
    """The file; keys are hexadecimal."""

    devices: dict[str, str] = {}


class Pins:
    """Keys by the name of their device. The file is read whenever it is asked, so that a command may change it."""

    def __init__(self, path: Path | None) -> None:
        """None: they are known until the daemon ends."""
        self._path = path
        self._in_memory: dict[str, bytes] = {}

    @classmethod
    def beside(cls, ledger: Path | None) -> Pins:
        """Those of the device that keeps this ledger; in memory where it keeps none."""
        return cls(ledger.with_name(FILE) if ledger is not None else None)

    def check(self, name: str, public: bytes) -> bool:
        """Whether this key of a device is new; then it is pinned.

        Raises Forbidden where another one is pinned, or too many are; BadMessage for what is no name or no key;
        BadConfiguration where the file cannot be read, and Unavailable where it cannot be written.
        """
        if not 0 < len(name) <= MAX_NAME or not name.isprintable() or len(public) != KEY_BYTES:
            raise BadMessage("a device without a name or a sealing key")
        pinned = self.names()
        if name not in pinned:
            if len(pinned) >= MAX_PINS:
                raise Forbidden(f"the keys of {MAX_PINS} devices are pinned", "hocket keys forget NAME")
            self._write(pinned | {name: public})
            return True
        if pinned[name] != public:
            raise Forbidden(
                f"the key of {name} has changed from {fingerprint(pinned[name])} to {fingerprint(public)}",
                f"compare fingerprints, then: hocket keys forget {shlex.quote(name)}",
            )
        return False

    def names(self) -> dict[str, bytes]:
        """What is pinned. Raises BadConfiguration."""
        if self._path is None:
            return dict(self._in_memory)
        if not self._path.exists():
            return {}
        check_mode(self._path, _MODE)
        written = load(self._path, _Written).devices
        try:
            found = {name: bytes.fromhex(key) for name, key in written.items()}
        except ValueError as error:
            raise _no_keys(self._path) from error
        if any(len(key) != KEY_BYTES for key in found.values()):
            raise _no_keys(self._path)
        return found

    def forget(self, name: str) -> None:
        """Take the next key of this device. Raises BadRequest where none is pinned, and as `check` does."""
        pinned = self.names()
        if name not in pinned:
            raise BadRequest(f"no key of a device called '{name}' is pinned here", "see: hocket keys list")
        del pinned[name]
        self._write(pinned)

    def _write(self, pinned: dict[str, bytes]) -> None:
        if self._path is None:
            self._in_memory = pinned
            return
        lines = [f"{quoted(name)} = '{key.hex()}'" for name, key in sorted(pinned.items())]
        try:
            write_whole(self._path, "\n".join(["[devices]", *lines, ""]))
        except OSError as error:
            text = f"the keys of the group cannot be pinned: {self._path}, {error.strerror}"
            raise Unavailable(text, "make its folder writable for the device daemon") from error


def fingerprint(public: bytes) -> str:
    """Twenty characters that people can compare, as of a machine's key."""
    return fingerprint_of_text(public.hex())


def _no_keys(path: Path) -> BadConfiguration:
    return BadConfiguration(f"{path} has what is no key", "remove that line, and compare fingerprints anew")
