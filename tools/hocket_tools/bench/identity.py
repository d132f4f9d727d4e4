"""What a benchmark's figures depend on besides its settings: hocket's own code, models and texts, as short digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import hocket_bus
import hocket_client
import hocket_daemon
import hocket_models
import hocket_retrieval
import hocket_tools

PACKAGES = (hocket_bus, hocket_client, hocket_daemon, hocket_models, hocket_retrieval, hocket_tools)
SHORT = 16


def identity() -> Mapping[str, str]:
    """Digests of this code and of the bundled models with their tokenizers."""
    models = {"device model": hocket_models.path("device"), "cloud model": hocket_models.path("cloud")}
    return {"code": _code()} | {name: digest_of_files(sorted(at.glob("*"))) for name, at in models.items()}


def digest(texts: Iterable[str]) -> str:
    """Another for other texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:SHORT]


def digest_of_files(files: Sequence[Path]) -> str:
    """Another for other contents; files that are missing do not count."""
    sha = hashlib.sha256()
    for file in files:
        if file.is_file():
            sha.update(file.read_bytes())
    return sha.hexdigest()[:SHORT] if files else ""


@cache  # a process runs the code that it was started with
def _code() -> str:
    folders = [Path(folder) for package in PACKAGES for folder in package.__path__]
    sources = [(folder, path) for folder in folders for path in sorted(folder.rglob("*.py"))]
    return digest(part for at, path in sources for part in (str(path.relative_to(at)), path.read_text("utf-8")))
