"""The models of this machine: one folder each, in whatever formats were got."""

from __future__ import annotations

from pathlib import Path

from hocket_bus.paths import models

from ..settings import BUNDLED, TUNED

SHIPPED = (BUNDLED, *TUNED.values())  # with hocket
_PATHS = (".", "/", "~")  # what a name that is a path begins with


def place(name: str) -> Path:
    """The folder of a model that is got by its name, whether it is there or not; a name of the hub is one word."""
    repository, _, file = name.partition(":")
    parts = [*repository.split("/"), *filter(None, [file.removesuffix(".gguf")])]
    return models() / "--".join(parts)


def is_installed(name: str) -> bool:
    """Tell whether a model of this name is installed: its folder is there whole or not at all."""
    return bool(name) and not name.startswith(_PATHS) and place(name).is_dir()
