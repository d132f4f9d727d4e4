"""The choice of a model's format on this machine: the fastest that is installed and was checked."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from hocket_bus.errors import BadConfiguration
from hocket_bus.trust.private import write_whole

from ..catalog.checking import Check
from .llamacpp.llama import obstacle

GGUF, _REPORT = "model.gguf", "formats.json"  # in a model's folder


class FormatChoice(NamedTuple):
    """The format that is read for a model, and the reason."""

    place: Path
    why: str


def report(folder: Path, checks: list[Check]) -> None:
    """Write down what the formats in a model's folder cost; `Check.model` is a file's name in it, or the folder's."""
    write_whole(folder / _REPORT, msgspec.json.encode(checks).decode())


def reported(folder: Path) -> list[Check]:
    """Read the report; empty where there is none, or none that this version reads."""
    try:
        return msgspec.json.decode((folder / _REPORT).read_bytes(), type=list[Check])
    except (OSError, msgspec.MsgspecError):
        return []


def chosen(folder: Path, dtype: str) -> FormatChoice:
    """The fastest format in a model's folder for `[model] dtype`. Raises BadConfiguration where there is none."""
    floats = has_floats(folder)
    if dtype != "auto":
        if not floats:
            raise unreadable(folder, f"it has no float weights, which dtype = {dtype} needs")
        return FormatChoice(folder, f"dtype = {dtype} needs transformers")
    if floats and has_gpu():
        return FormatChoice(folder, "there is a GPU")
    if (hindered := obstacle()) is not None:
        if not floats:
            raise hindered
        return FormatChoice(folder, f"llama.cpp cannot read the GGUF file: {hindered}")
    sound = [check for check in reported(folder) if not check.refused and (folder / check.model).exists()]
    if not sound and not floats:
        refused = [check.refused for check in reported(folder) if check.refused]
        raise unreadable(folder, refused[0] if refused else "its GGUF file is not checked")
    if not sound:
        return FormatChoice(folder, "it has no checked GGUF file: run hocket model get")
    best = min(sound, key=lambda check: check.step_ms)
    measured = ", ".join(f"{check.dtype} {check.step_ms:.1f}" for check in sound)
    return FormatChoice(folder / best.model, f"the fastest of the checked formats ({measured} ms a step)")


def has_floats(folder: Path) -> bool:
    """Tell whether transformers has weights to read in the folder."""
    return any(folder.glob("*.safetensors"))


def unreadable(folder: Path, why: str) -> BadConfiguration:
    """Return the error for a folder that lacks what is to be read, with how to get it."""
    return BadConfiguration(
        f"the model in {folder} cannot be read: {why}",
        "run: hocket model get NAME --float (NAME: the model's name); or remove dtype under [model]",
    )


def has_gpu() -> bool:
    """Tell whether torch finds a GPU. Where the kernel lists none, torch is not loaded, which would take seconds."""
    if not Path("/dev/nvidiactl").exists() and not Path("/dev/kfd").exists():
        return False
    import torch

    return torch.cuda.is_available()
