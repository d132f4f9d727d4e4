"""Where the bundled models lie; knows folders, and nothing about loading them."""

from pathlib import Path
from typing import Literal

__all__ = ["path"]


def path(side: Literal["device", "cloud"]) -> Path:
    """The folder of a side's model, for transformers' `from_pretrained`; ValueError for any other name."""
    if side not in ("device", "cloud"):
        raise ValueError(f"no model for side {side!r}: the sides are 'device' and 'cloud'")
    return Path(__file__).parent / side
