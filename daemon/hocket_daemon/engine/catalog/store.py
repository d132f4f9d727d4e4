"""The models of this machine: one folder each, in whatever formats were got."""

from __future__ import annotations

from pathlib import Path

from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import Side
from hocket_bus.paths import models

from ..settings import AUTO, BUNDLED, TUNED
from .catalogue import CATALOGUE, DEFAULT

SHIPPED = (BUNDLED, *TUNED.values())  # with hocket
_PATHS = (".", "/", "~")  # what a name that is a path begins with


def resolved(name: str) -> str:
    """The model that `auto` means on this machine; any other name means itself."""
    if name != AUTO:
        return name
    return DEFAULT if is_installed(DEFAULT) else BUNDLED


def advice(name: str) -> str:
    """How to have a better model than the one that `name` means here; empty where it is the best."""
    lacks = name == AUTO and resolved(name) == BUNDLED
    return f"{DEFAULT} is not on this machine; it answers better: hocket model get {DEFAULT}" if lacks else ""


def stand_in(name: str, side: Side) -> str:
    """What readers are told where a side answers with the bundled model and nobody has chosen it; empty elsewhere."""
    if not advice(name):
        return ""
    remedy = f'hocket model get {DEFAULT}, or choose it: [model] name = "{BUNDLED}"'
    return f"the {side} answers with a small bundled model, which nobody chose: run there {remedy}"


def place(name: str) -> Path:
    """The folder of a model that is got by its name, whether it is there or not; a name of the hub is one word."""
    repository, _, file = name.partition(":")
    parts = [*repository.split("/"), *filter(None, [file.removesuffix(".gguf")])]
    return models() / "--".join(parts)


def is_installed(name: str) -> bool:
    """Whether it is there: a folder comes whole or not at all."""
    return bool(name) and not name.startswith(_PATHS) and place(name).is_dir()


def place_of(name: str, side: Side) -> str:
    """The folder or Hugging Face name of the model that `name` means on a side. Raises BadConfiguration."""
    name = resolved(name)
    if is_installed(name):
        return str(place(name))
    if name in CATALOGUE:
        raise BadConfiguration(
            f"the model '{name}' is not in {models()}", f'run: hocket model get {name}; or set [model] name = "bundled"'
        )
    if name not in SHIPPED:
        return name
    import hocket_models

    return str(hocket_models.path(side if name == BUNDLED else name))


def tuned(name: str) -> str:
    """The shipped model that is tuned for composition, of the model that `name` means here; empty: there is none."""
    import hocket_models

    model = TUNED.get(resolved(name), "")
    return model if model and hocket_models.path(model).is_dir() else ""
