"""A device's own calibration, in a file beside its others; without one the shipped calibration holds."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hocket_bus.errors import BadConfiguration
from hocket_bus.trust.private import write_whole

from .gate import Calibration
from .shipped import SHIPPED


def load(path: str) -> Calibration:
    """Return the calibration in `path`, or the shipped one where there is no file. Raises BadConfiguration."""
    if not path or not Path(path).exists():
        return SHIPPED
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Calibration)
    except (OSError, msgspec.DecodeError) as error:
        raise BadConfiguration(f"{path}: {error}", "create it again: hocket graph calibrate; or remove it") from error


def save(path: Path, calibration: Calibration) -> None:
    """Replace the calibration's file. Raises OSError."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(calibration)).decode())
