"""Results of profiling, as files that the daemons read: decode times per model and machine, figures per peer.

Files are replaced whole, so that an interruption leaves the one before. One that cannot be read counts as none.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from hocket_bus import paths
from hocket_bus.trust.private import write_whole

from .profiler import DecodeTime, Energy, PrefillTime

T = TypeVar("T", bound=Struct)
_WEIGHT = 0.3  # of a new run in a figure's average: runs are rare


class DecodeProfile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The results of an offline stage.

    `about` names model and machine, and `fits` has a model of the decode time by number of rows. `prefill` is one of
    the time to the first token, and `energy` the joules of a token where the machine counts them.
    """

    date: str
    about: dict[str, str | int]
    fits: dict[int, DecodeTime]
    prefill: PrefillTime | None = None
    energy: Energy | None = None


class Figure(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A figure of the network: seconds, or bytes per second; `average` moves over the runs."""

    name: str  # "round trip", "bandwidth there" or "bandwidth back"
    source: str
    now: float
    average: float
    date: str

    def after(self, earlier: Figure) -> Figure:
        """Return this measurement with the earlier ones in its average."""
        return msgspec.structs.replace(self, average=(1 - _WEIGHT) * earlier.average + _WEIGHT * self.now)


class NetworkProfile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The figures that were measured towards one host."""

    host: str
    figures: list[Figure] = []

    def with_new(self, measured: list[Figure]) -> NetworkProfile:
        """Return the profile with new measurements; a figure that was not measured this time stays as it was."""
        known = {(figure.name, figure.source): figure for figure in self.figures}
        for figure in measured:
            key = (figure.name, figure.source)
            known[key] = figure.after(known[key]) if key in known else figure
        return NetworkProfile(host=self.host, figures=list(known.values()))


def in_words(name: str, value: float) -> str:
    """Return the value of a figure of that name, with its unit."""
    return f"{value * 1000:.2f} ms" if name == "round trip" else f"{value * 8e-6:.1f} Mbit/s"


def decode_file(about: dict[str, str | int], home: Path | None = None) -> Path:
    """Return the file of the decode times of a model on a machine."""
    digest = hashlib.sha256(msgspec.json.encode(about, order="sorted")).hexdigest()
    return (home or paths.home()) / "profiles" / f"decode-{digest[:16]}.json"


def network_file(host: str, home: Path | None = None) -> Path:
    """Return the file of the figures of a host; an empty one is this machine."""
    name = "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in host or "local")
    return (home or paths.home()) / "profiles" / f"network-{name}.json"


def load(path: Path, kind: type[T]) -> T | None:
    """Return the record in `path`; None where it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        return None


def save(path: Path, record: Struct) -> None:
    """Replace `path` in one step. Raises OSError."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(record), indent=1).decode() + "\n")
