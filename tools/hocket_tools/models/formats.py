"""The formats of a published model on this machine: laid together, checked, and written down for the daemons."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hocket_daemon.engine.backends.gguf_model import GGUFModel
from hocket_daemon.engine.backends.llama import is_installed
from hocket_daemon.engine.backends.transformers_model import TransformersModel
from hocket_daemon.engine.catalog.checking import Check, check
from hocket_daemon.engine.catalog.format_choice import report, reported

from .checked import settings

GGUF, FLOAT = "model.gguf", "."  # in the model's folder


def lacks_formats(folder: Path) -> bool:
    """Whether there is something to do: llama.cpp is installed, and no format of this folder was checked."""
    return is_installed() and not reported(folder)


def add_formats(file: Path, folder: Path, progress: Callable[[str], None]) -> None:
    """Lay the published `file` into its `folder` of float weights as it is; check and time both."""
    if not is_installed():
        progress("llama.cpp is not installed, so transformers reads it, which takes more memory and time")
        return
    partial = folder / f".{GGUF}"
    shutil.copyfile(file, partial)
    partial.replace(folder / GGUF)
    progress("checking the file beside the float weights")
    floats = TransformersModel(settings(str(folder), "float32"), "device")
    model = GGUFModel(settings(GGUF, "auto"), folder / GGUF)
    checks = [replace(check(floats, None), model=FLOAT), check(model, floats)]
    model.close()
    report(folder, checks)
    for each in checks:
        progress(_line(each))


def _line(check: Check) -> str:
    worse = "" if check.worse_by is None else f", {check.worse_by:+.4f} nats a token"
    refused = f"; refused: {check.refused}" if check.refused else ""
    return f"{check.dtype}: {check.step_ms:.1f} ms a step of two rows{worse}{refused}"
