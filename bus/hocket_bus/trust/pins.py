"""Pinned sealing keys of the other devices of a group: a key that differs from the first one seen is refused.

The cloud reports a key at first sight, and could have invented it. So the owner may pin a device by hand, with the
fingerprint that the other device's owner reads out: before the device is seen, or afterwards.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ..config import load, quoted
from ..errors import BadConfiguration, BadMessage, BadRequest, Forbidden, Unavailable
from .keys import fingerprint as fingerprint_of_text
from .private import changing, check_mode, write_whole
from .sealing import KEY_BYTES

FILE = "group-keys.toml"
MAX_PINS, MAX_NAME = 1_000, 64
_MODE = 0o600
_FINGERPRINT = re.compile(r"[a-z2-7]{4}(?:-[a-z2-7]{4}){4}")


class _Written(Struct, frozen=True, forbid_unknown_fields=True):
    """The file of pins; keys are hexadecimal."""

    devices: dict[str, str] = {}
    by_hand: dict[str, str] = {}  # fingerprints


class Pins:
    """Keys by the name of their device. The file is read at every query, so that a command may change it."""

    def __init__(self, path: Path | None) -> None:
        """Store pins in the file `path`; None keeps them in memory until the daemon ends."""
        self._path = path
        self._in_memory = _Written()

    @classmethod
    def beside(cls, ledger: Path | None) -> Pins:
        """Return the pins beside a device's ledger, the record of what it sent; in memory if there is no ledger."""
        return cls(ledger.with_name(FILE) if ledger is not None else None)

    def check(self, name: str, public: bytes) -> bool:
        """Pin a device's key if it is new; tell whether it was.

        Raises Forbidden if another key is pinned, or too many are; BadMessage for a malformed name or key;
        BadConfiguration if the file cannot be read, and Unavailable if it cannot be written.
        """
        if not is_name(name) or len(public) != KEY_BYTES:
            raise BadMessage("a device without a name or a sealing key")
        if self._is_pinned(name, public):
            return False
        with self._changing():
            if self._is_pinned(name, public):
                return False
            written = self._read()
            if len(written.devices) >= MAX_PINS and name not in written.by_hand:
                raise Forbidden(f"the keys of {MAX_PINS} devices are pinned", "hocket keys forget NAME")
            self._write(replace(written, devices=written.devices | {name: public.hex()}))
        return True

    def _is_pinned(self, name: str, public: bytes) -> bool:
        """Tell whether this key is pinned for the device already. Raises Forbidden if another key is pinned."""
        written = self._read()
        pinned, confirmed = written.devices.get(name), written.by_hand.get(name)
        known = fingerprint(bytes.fromhex(pinned)) if pinned is not None else confirmed
        if known is not None and known != fingerprint(public):
            raise Forbidden(
                f"the key of {name} has changed from {known} to {fingerprint(public)}",
                f"compare fingerprints, then: hocket keys forget {shlex.quote(name)}",
            )
        return pinned is not None

    def pin(self, name: str, compared: str) -> None:
        """Pin a device by hand, by the fingerprint from its owner. Raises BadRequest, and as `check` does."""
        said = compared.strip().lower()
        if not is_name(name) or not _FINGERPRINT.fullmatch(said):
            raise BadRequest("that is not a device's fingerprint", "copy the line 'in a group' from: hocket keys show")
        with self._changing():
            written = self._read()
            pinned = written.devices.get(name)
            if pinned is not None and (seen := fingerprint(bytes.fromhex(pinned))) != said:
                remedy = f"if {said} is right, first run: hocket keys forget {shlex.quote(name)}"
                raise BadRequest(f"the key of {name} that was seen here has the fingerprint {seen}", remedy)
            self._write(replace(written, by_hand=written.by_hand | {name: said}))

    def is_by_hand(self, name: str, public: bytes) -> bool:
        """Tell whether this device's key was pinned by hand. Raises BadConfiguration."""
        return self._read().by_hand.get(name) == fingerprint(public)

    def by_hand(self) -> dict[str, str]:
        """Return the fingerprints that were pinned by hand, by device. Raises BadConfiguration."""
        return self._read().by_hand

    def names(self) -> dict[str, bytes]:
        """Return all pinned keys by the name of their device. Raises BadConfiguration."""
        return {name: bytes.fromhex(key) for name, key in self._read().devices.items()}

    def _read(self) -> _Written:
        if self._path is None:
            return self._in_memory
        if not self._path.exists():
            return _Written()
        check_mode(self._path, _MODE)
        written = load(self._path, _Written)
        try:
            sizes = {len(bytes.fromhex(key)) for key in written.devices.values()}
        except ValueError as error:
            raise _no_keys(self._path) from error
        if sizes - {KEY_BYTES}:
            raise _no_keys(self._path)
        return written

    def forget(self, name: str) -> None:
        """Forget a device's key, and accept its next one. Raises BadRequest if none is pinned, and as `check` does."""
        with self._changing():
            written = self._read()
            if name not in written.devices and name not in written.by_hand:
                raise BadRequest(f"no key of a device called '{name}' is pinned here", "see: hocket keys list")
            self._write(_Written(_without(written.devices, name), _without(written.by_hand, name)))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Lock the file, which a daemon and a command may change at once. Raises Unavailable."""
        if self._path is None:
            yield
            return
        try:
            with changing(self._path):
                yield
        except OSError as error:
            text = f"the keys of the group cannot be pinned: {self._path}, {error.strerror}"
            raise Unavailable(text, "make its folder writable for the device daemon") from error

    def _write(self, written: _Written) -> None:
        if self._path is None:
            self._in_memory = written
            return
        lines = ["[devices]", *_lines(written.devices), "", "[by_hand]", *_lines(written.by_hand), ""]
        write_whole(self._path, "\n".join(lines))


def is_name(name: str) -> bool:
    """Tell whether a device may have this name."""
    return 0 < len(name) <= MAX_NAME and name.isprintable()


def _without(values: dict[str, str], name: str) -> dict[str, str]:
    return {other: value for other, value in values.items() if other != name}


def _lines(values: dict[str, str]) -> list[str]:
    return [f"{quoted(name)} = '{value}'" for name, value in sorted(values.items())]


def fingerprint(public: bytes) -> str:
    """Return the fingerprint of a sealing key: twenty characters that people can compare, as of a machine's key."""
    return fingerprint_of_text(public.hex())


def _no_keys(path: Path) -> BadConfiguration:
    return BadConfiguration(f"{path} contains an invalid key", "remove that line, and compare fingerprints again")
