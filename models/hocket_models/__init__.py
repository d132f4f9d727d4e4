"""Where the bundled models lie; knows folders, and nothing about loading them."""

from pathlib import Path

__all__ = ["path"]

_NAMES = ("device", "cloud", "bundled-composition", "smollm2-composition")


def path(name: str) -> Path:
    """The folder of a side's model, or of weights tuned for composition; ValueError for any other name.

    It is for transformers' `from_pretrained`, but for smollm2-composition, which is an adapter in peft's form.
    """
    if name not in _NAMES:
        raise ValueError(f"no model {name!r}: there are {', '.join(_NAMES)}")
    return Path(__file__).parent / name
