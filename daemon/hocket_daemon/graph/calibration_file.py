"""A calibration of one's own, in a file beside the device's others; without one the shipped one holds."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hocket_bus.errors import BadConfiguration
from hocket_bus.trust.private import write_whole

from .gate import Calibration
from .shipped import SHIPPED


def load(path: str) -> Calibration:
    """What `path` holds, or the shipped one where nothing is there. Raises BadConfiguration."""
    if not path or not Path(path).exists():
        return SHIPPED
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Calibration)
    except (OSError, msgspec.DecodeError) as error:
        raise BadConfiguration(f"{path}: {error}", "make it anew: hocket graph calibrate; or remove it") from error


def save(path: Path, calibration: Calibration) -> None:
    """Replace the file. Raises OSError."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(calibration)).decode())
