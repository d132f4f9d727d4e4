"""Recordings that a simulation replays: for every answer, which drafts were accepted and how long each took to decode.

A JSON file (lab/docs/benchmarks.md shows one): `source` says where the values come from. Every sequence holds, step by
step, the acceptance of each side's draft under Algorithm 1 and under coupled aggregation, and each side's seconds.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal

import msgspec

from hocket_bus.errors import BadRequest

Decisions = Literal["independent", "coupled"]


class Accepted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The decisions of one answer: whether the draft of step t of each side became the target."""

    device: list[bool]
    cloud: list[bool]


class DecodeTimes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds that each side needs for its draft of step t."""

    device: list[float]
    cloud: list[float]


class Sequence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A recorded answer; all lists are of one length."""

    independent: Accepted
    coupled: Accepted
    decode_s: DecodeTimes

    def __post_init__(self) -> None:
        parts = (self.independent, self.coupled, self.decode_s)
        lengths = {len(values) for part in parts for values in (part.device, part.cloud)}
        if len(lengths) != 1 or min(lengths) < 2:
            raise ValueError("a sequence's lists have one length, of at least 2")
        if min(*self.decode_s.device, *self.decode_s.cloud) <= 0:
            raise ValueError("decode times are above 0")

    @property
    def tokens(self) -> int:
        """Return the number of steps of the answer."""
        return len(self.decode_s.device)

    def accepted(self, decisions: Decisions) -> Accepted:
        """The decisions under one way of drawing."""
        return self.coupled if decisions == "coupled" else self.independent


class Recording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Answers to replay and where they come from."""

    source: str
    sequences: list[Sequence]


class Rates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rates that a recording is drawn from: acceptance in [0, 1] and seconds per draft, each (device, cloud)."""

    independent: tuple[float, float] = (0.55, 0.50)
    coupled: tuple[float, float] = (0.90, 0.85)
    decode_s: tuple[float, float] = (0.025, 0.025)


def drawn(rates: Rates, tokens: int, sequences: int, seed: int) -> Recording:
    """Return a recording with decisions drawn independently of each other; a side's decode time is constant."""
    source = random.Random(seed)

    def accepted(of: tuple[float, float]) -> Accepted:
        return Accepted(*([source.random() < rate for _ in range(tokens)] for rate in of))

    made = [
        Sequence(
            independent=accepted(rates.independent),
            coupled=accepted(rates.coupled),
            decode_s=DecodeTimes(*([seconds] * tokens for seconds in rates.decode_s)),
        )
        for _ in range(sequences)
    ]
    return Recording(f"drawn from given rates, seed {seed}", made)


def load(path: Path) -> Recording:
    """Read a recording. Raises BadRequest with the place of the first fault."""
    try:
        recording = msgspec.json.decode(path.read_bytes(), type=Recording)
    except OSError as error:
        raise BadRequest(f"cannot read {path}: {error.strerror}", "make one with: hocket simulate record") from error
    except msgspec.DecodeError as error:
        raise BadRequest(f"{path} is no recording: {error}", "make one with: hocket simulate record") from error
    if not recording.sequences:
        raise BadRequest(f"{path} holds no sequence", "make one with: hocket simulate record")
    return recording


def save(path: Path, recording: Recording) -> None:
    """Write a recording that `load` reads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(recording), indent=1) + b"\n")
