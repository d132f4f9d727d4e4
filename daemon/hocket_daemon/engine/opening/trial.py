"""A trial of a model in a process of its own, before a daemon loads it for the first time.

A broken GGUF file makes llama.cpp end its process, and a chat template may never end. Either would take a daemon along
at each of its starts. A file that was tried and has not changed since is not tried again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import structlog

from hocket_bus.errors import BadConfiguration
from hocket_bus.trust.private import write_whole

from ..backends.format_choice import has_gpu
from ..backends.llamacpp.gguf_model import SUFFIX
from ..backends.llamacpp.llama_interface import VERSION
from .tried import PARTS

MAX_REMEMBERED = 64
_FIRST_S, _S_PER_GIB = 60.0, 60.0  # of a processor, to load a file and read a token
_PATIENCE = 10  # times as long by the clock
_SPARE_BYTES = 6 << 30  # for the libraries, beside twice the file
_BESIDE = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")

log = structlog.get_logger(__name__)


def try_out(place: Path) -> None:
    """Try a model. Raises BadConfiguration for a GGUF file or a folder that ends its process or holds it up."""
    stamp, file = _stamp(place), _remembered_in()
    remembered = _read(file)
    if not stamp or remembered.get(str(place)) == stamp:
        return
    _try(place)
    remembered.pop(str(place), None)
    remembered[str(place)] = stamp
    try:
        write_whole(file, msgspec.json.encode(dict(list(remembered.items())[-MAX_REMEMBERED:])).decode())
    except OSError as error:
        log.warning("a model is tried at each start", file=str(file), why=error.strerror)


def _try(place: Path) -> None:
    size = place.stat().st_size if place.is_file() else 0
    seconds = _FIRST_S + _S_PER_GIB * size / 2**30
    memory = 0 if has_gpu() else 2 * size + _SPARE_BYTES  # a GPU's driver takes addresses without end
    command = [sys.executable, "-P", "-m", "hocket_daemon.engine.opening.tried", str(place), str(seconds), str(memory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            said, _ = process.communicate(timeout=_PATIENCE * seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
    part = next((part for part in reversed(PARTS) if part in said.split()), "")
    if part and part != PARTS[-1]:
        raise _refused(place, part, process.returncode)


def _refused(place: Path, part: str, status: int) -> BadConfiguration:
    is_slow = status in (-signal.SIGXCPU, -signal.SIGKILL)
    if part == PARTS[1]:
        why = "its chat template or its tokenizer does not end" if is_slow else "its chat template crashes the program"
        return BadConfiguration(f"the model '{place}' cannot be used: {why}", "use another, or correct chat_template")
    how = (
        "does not end"
        if is_slow
        else f"crashes the program ({signal.Signals(-status).name})"
        if status < 0
        else "fails"
    )
    return BadConfiguration(
        f"the model '{place}' cannot be used: loading it {how}", "download the file again, or use another model"
    )


def _stamp(place: Path) -> list[int | str]:
    """Return a stamp that changes with the model; empty where there is nothing to try."""
    folder = place if place.is_dir() else place.parent
    files = [place] if place.suffix == SUFFIX else []
    stats = [file.stat() for file in (*files, *(folder / name for name in _BESIDE)) if file.is_file()]
    return [VERSION, *(number for stat in stats for number in (stat.st_size, stat.st_mtime_ns))] if stats else []


def _read(file: Path) -> dict[str, list[int | str]]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, list[int | str]])
    except (OSError, msgspec.MsgspecError):
        return {}


def _remembered_in() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "hocket" / "tried-models.json"
