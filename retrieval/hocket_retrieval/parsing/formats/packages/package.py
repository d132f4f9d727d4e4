"""Changes to some parts of files that are zip archives of parts, such as those of office programs."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping

Change = Callable[[Mapping[str, bytes]], Mapping[str, bytes]]
_KEPT = (".xml", ".rels", ".bin", "mimetype")


def changed(data: bytes, change: Change) -> bytes:
    """Return the file with the parts that `change` makes; as it is where it makes none. It may lack its pictures.

    What is no archive, or lacks a part that is looked for, stays as it is: its reader says what is wrong.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            parts = _Parts(package)
            new = change(parts)
            return zipped({name: parts[name] for name in parts} | dict(new)) if new else data
    except (zipfile.BadZipFile, KeyError, NotImplementedError):
        return data


class _Parts(Mapping[str, bytes]):
    """The parts of an archive that hold text, read when they are asked for."""

    def __init__(self, package: zipfile.ZipFile) -> None:
        self._package = package
        self._names = [name for name in package.namelist() if name.endswith(_KEPT)]

    def __getitem__(self, name: str) -> bytes:
        return self._package.read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def zipped(parts: Mapping[str, bytes]) -> bytes:
    """An archive of these parts, in their order."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        for name, part in parts.items():
            package.writestr(name, part)
    return out.getvalue()
