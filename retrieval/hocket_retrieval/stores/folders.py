"""Names of documents in a folder, as a range: a store compares names by their bytes, and has no pattern to escape."""

from __future__ import annotations

from typing import NamedTuple


class Folder(NamedTuple):
    """The document `name` itself, and every name from `first` on that comes before `end`."""

    name: str
    first: str
    end: str


def folder_of(path: str) -> Folder:
    """Return the range of names in a folder; the path may also be the name of a single document."""
    name = path.rstrip("/")
    return Folder(name, name + "/", name + chr(ord("/") + 1))
