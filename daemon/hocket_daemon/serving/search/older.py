"""Notices about notes that were left out for newer ones. Pure."""

from __future__ import annotations

from pathlib import PurePath

from hocket_bus.messages import Older, Passages


def left_out(found: Passages | None) -> list[str]:
    """Return a line for each document that was left out."""
    return list(dict.fromkeys(map(_line, found.older))) if found is not None else []


def _line(older: Older) -> str:
    if older.document == older.newer:
        return f"{_name(older.document)} has an older entry of {older.time}; that of {older.newer_time} is used"
    newer = f"{_name(older.newer)} of {older.newer_time}"
    return f"{_name(older.document)} of {older.time} is older and may differ; {newer} is used"


def _name(document: str) -> str:
    return PurePath(document).name
