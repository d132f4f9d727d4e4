"""The GGUF file of a model on this machine: with its tokenizer beside it, checked, and reported to the daemons."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from hocket_daemon.engine.backends.format_choice import GGUF, report, reported
from hocket_daemon.engine.backends.llamacpp.conversion import write_tokenizer
from hocket_daemon.engine.backends.llamacpp.gguf_model import GGUFModel
from hocket_daemon.engine.backends.llamacpp.llama import is_installed, obstacle
from hocket_daemon.engine.catalog.checking import Check, check
from hocket_daemon.engine.opening.trial import try_out

from .checked import settings


def lay(file: Path, folder: Path, progress: Callable[[str], None]) -> None:
    """Put a GGUF file and its tokenizer into `folder`. Raises BadRequest."""
    target = folder / GGUF
    target.unlink(missing_ok=True)
    try:
        os.link(file, target)
    except OSError:  # another disk, or one that has no links
        shutil.copyfile(file, target)
    if not (folder / "tokenizer.json").exists():
        progress("reading the tokenizer")
        write_tokenizer(target, folder)


def check_file(folder: Path, floats: float | None, progress: Callable[[str], None]) -> None:
    """Check the GGUF file in `folder` and store what it costs; `floats` is nats per token with float weights."""
    if (hindered := obstacle()) is not None:
        progress(f"the file cannot be loaded yet: {hindered}; then run hocket model get again, which checks it")
        return
    progress("checking the file")
    try_out(folder / GGUF)
    model = GGUFModel(settings(GGUF, "auto"), folder / GGUF)
    try:
        found = check(model, floats)
    finally:
        model.close()
    report(folder, [found])
    progress(_line(found))


def is_checked(folder: Path) -> bool:
    """Tell whether no check is due: there is no GGUF file, it was checked already, or nothing here can read it."""
    return not (folder / GGUF).exists() or bool(reported(folder)) or not is_installed()


def _line(check: Check) -> str:
    worse = "" if check.worse_by is None else f", {check.worse_by:+.4f} nats a token"
    refused = f"; refused: {check.refused}" if check.refused else ""
    return f"{check.dtype}: {check.step_ms:.1f} ms a step of two rows{worse}{refused}"
