"""Servers that others wrote, started by a test on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

MODEL = Path(find_spec("hocket_models").submodule_search_locations[0]) / "cloud"  # type: ignore[union-attr,index]
TRANSFORMERS = Path(sys.executable).with_name("transformers")

needs_serving = pytest.mark.skipif(
    not TRANSFORMERS.exists() or find_spec("uvicorn") is None, reason="transformers[serving] is not installed"
)


def serve(port: int, model: Path = MODEL) -> list[str]:
    """The command of transformers' server with a model, a bundled one by default."""
    return [str(TRANSFORMERS), "serve", str(model), "--device", "cpu", "--dtype", "float32", "--port", str(port)]


@contextmanager
def started(command: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A program, killed at the end; what it says on its error stream lies in `folder`."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with (
        (folder / "server.log").open("w") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def listens(process: subprocess.Popen[str], port: int) -> bool:
    assert process.poll() is None, "it has ended by itself"
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
