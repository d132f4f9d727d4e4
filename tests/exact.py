"""Models as tests mean them: in float32, whatever `auto` is on the machine that they run on, and on its CPU for ids."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from hocket_daemon.engine.settings import PREFILL_TOKENS, ModelSettings

DTYPE = "float32"


def exact(**options: object) -> ModelSettings:
    """The settings of a model whose numbers are compared: its parts are not measured, for the same bits every time."""
    fixed = {"dtype": DTYPE, "prefill_tokens": PREFILL_TOKENS, "threads": 1, "turns": "always"}
    return ModelSettings(**fixed | options)  # type: ignore[arg-type]


def table(model: Path, **options: object) -> str:
    """The same as the table of a configuration, with what else is set in it."""
    lines = {"name": f'"{model}"', "dtype": f'"{DTYPE}"', "threads": 1} | options
    return "\n".join(["[model]", *(f"{name} = {value}" for name, value in lines.items())]) + "\n"


@contextmanager
def on_cpu() -> Iterator[None]:
    """Whoever loads a model sees no GPU: its last digits, and whoever is nearly drawn, are the CPU's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: False)
        yield
