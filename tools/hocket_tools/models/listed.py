"""Which models there are, told without loading a library of models."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

import hocket_models
from hocket_daemon.engine.catalog.published import PUBLISHED, is_installed, place, resolved
from hocket_daemon.engine.settings import AUTO, BUNDLED


class Listed(TypedDict):
    """A model that a short name means; `auto` says that it is what `auto` means on this machine."""

    name: str
    title: str
    licence: str
    here: bool
    auto: bool
    place: str
    bytes: int


def listed() -> list[Listed]:
    """The bundled models, and the published ones, whether they are here or not."""
    titles = {BUNDLED: ("two small models trained for hocket", "Apache-2.0")}
    titles |= {name: (model.title, model.licence) for name, model in PUBLISHED.items()}
    found: list[Listed] = []
    for name, (title, licence) in titles.items():
        here = name == BUNDLED or is_installed(name)
        folder = hocket_models.path("device") if name == BUNDLED else place(name)
        size = bytes_of(folder) if here else 0
        auto = resolved(AUTO) == name
        found.append(
            Listed(name=name, title=title, licence=licence, here=here, auto=auto, place=str(folder), bytes=size)
        )
    return found


def bytes_of(folder: Path) -> int:
    """What the files in a folder take."""
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
