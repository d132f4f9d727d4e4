"""Replacement of a model's folder: written beside it and renamed, so that it is there whole or not at all.

The next writer removes what a killed one has left.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hocket_bus.errors import Unavailable
from hocket_bus.trust.private import lock, private_folder

_LARGE = (".gguf", ".safetensors")  # these are never written to again, so a second name for them will do


@contextmanager
def renewed(folder: Path, *, empty: bool) -> Iterator[Path]:
    """Yield a folder that replaces `folder` at the end; it begins as a copy of that one, or `empty`.

    An error leaves `folder` as it was. Raises Unavailable while another program is at it.
    """
    private_folder(folder.parent)
    partial = _partial(folder)
    with _alone(folder):
        _tidy(folder)
        try:
            if folder.exists() and not empty:
                shutil.copytree(folder, partial, copy_function=_taken_over)
            private_folder(partial)
            yield partial
            _swap_in(partial, folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _taken_over(source: str, target: str) -> None:
    if source.endswith(_LARGE):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def _alone(folder: Path) -> IO[str]:
    try:
        return lock(folder.with_name(f".{folder.name}.lock"))
    except BlockingIOError as error:
        raise Unavailable(f"another program is getting {folder.name}", "wait until it is done") from error


def _tidy(folder: Path) -> None:
    """Clean up after a killed process: remove what is half written, and restore what was being replaced."""
    old = _old(folder)
    if old.exists() and not folder.exists():
        old.rename(folder)
    for left in (old, _partial(folder)):
        shutil.rmtree(left, ignore_errors=True)


def _partial(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}-new")


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}-old")


def _swap_in(partial: Path, folder: Path) -> None:
    old = _old(folder)
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
