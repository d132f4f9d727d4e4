"""The list of models, made without loading a library of models."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypedDict

import hocket_models
from hocket_bus.paths import models
from hocket_daemon.engine.backends.automatic import fits, memory_of, resolved
from hocket_daemon.engine.catalog.catalogue import CATALOGUE
from hocket_daemon.engine.catalog.store import is_installed, place
from hocket_daemon.engine.settings import AUTO, BUNDLED

from .embedders import EMBEDDERS, KnownEmbedder

FAMILY = "qwen2.5"
QUICK_BYTES = 1_200_000_000


class Listed(TypedDict):
    """A model that a short name means; `auto` says that it is what `auto` means on this machine."""

    name: str
    kind: Literal["language model", "embedder"]
    title: str
    licence: str
    use: str
    here: bool
    auto: bool
    place: str
    bytes: int  # on disk where it is here, or to be downloaded
    memory: int  # bytes that a daemon takes, about
    fits: bool  # half of this machine's memory is enough for it


def listed() -> list[Listed]:
    """The bundled models, those of the catalogue, embedders, and what else was got."""
    found = [_listed(BUNDLED, "two small models trained for hocket", "Apache-2.0", "trying the pair", _BUNDLED_BYTES)]
    found += [_listed(name, each.title, each.licence, each.use, each.bytes) for name, each in CATALOGUE.items()]
    found += [_embedder(name, known) for name, known in EMBEDDERS.items()]
    known = {Path(each["place"]) for each in found}
    there = sorted(models().iterdir()) if models().is_dir() else []
    others = [each for each in there if each.is_dir() and not each.name.startswith(".") and each not in known]
    return found + [_listed(str(each), each.name, "its own", "", bytes_of(each)) for each in others]


def proposed(*, gpu: bool) -> Listed:
    """Return the largest model of one family that suits this machine, so that two machines get models that make a pair.

    On a CPU each token takes as long as reading the weights from memory.
    """
    family = [each for each in listed() if each["name"].startswith(FAMILY)]
    suits = [each for each in family if each["fits"] and (gpu or each["bytes"] <= QUICK_BYTES)]
    return max(suits, key=lambda each: each["bytes"], default=family[0])


_BUNDLED_BYTES = 6_000_000


def _listed(name: str, title: str, licence: str, use: str, size: int) -> Listed:
    bundled = name == BUNDLED
    folder = hocket_models.path("device") if bundled else place(name) if "/" not in name else Path(name)
    here = bundled or is_installed(name) or "/" in name
    memory = memory_of(size)
    return Listed(
        name=name, kind="language model", title=title, licence=licence, use=use, here=here,
        auto=resolved(AUTO) == name, place=str(folder), bytes=bytes_of(folder) if here else size, memory=memory,
        fits=fits(memory),
    )  # fmt: skip


def _embedder(name: str, known: KnownEmbedder) -> Listed:
    here = is_installed(name)
    return Listed(
        name=name, kind="embedder", title=known.title, licence=known.licence, use=known.use, here=here, auto=False,
        place=str(place(name)), bytes=bytes_of(place(name)) if here else known.bytes, memory=known.memory,
        fits=fits(known.memory),
    )  # fmt: skip


def bytes_of(folder: Path) -> int:
    """Return the bytes that the files in a folder take."""
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
