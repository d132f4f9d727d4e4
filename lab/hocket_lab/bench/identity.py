"""What a benchmark's figures depend on besides its settings, as digests: the code that it measures, and models."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

import hocket_bus
import hocket_client
import hocket_daemon
import hocket_gateway
import hocket_lab
import hocket_models
import hocket_retrieval
import hocket_tools
from hocket_bus.messages import AggregationOptions, Ask, Compose, DispatchOptions, Prompt
from hocket_daemon.config import CloudSettings, DeviceSettings
from hocket_daemon.engine.catalog.automatic import resolved
from hocket_daemon.engine.catalog.store import is_installed, place
from hocket_lab.bench.measured import DEFAULTS, parts_of
from hocket_lab.bench.sources import digest, digest_of_files, digest_under
from hocket_retrieval.config import RetrievalConfig

ROOTS: Mapping[str, Path] = {
    package.__name__.removeprefix("hocket_"): Path(next(iter(package.__path__)))
    for package in (
        *(hocket_bus, hocket_client, hocket_daemon, hocket_gateway, hocket_models, hocket_retrieval, hocket_tools),
        hocket_lab,
    )
}


def identity(command: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the parts that a command measures, and of the models that its settings name."""
    named = {name: _model(value) for name, value in settings.items() if name.endswith("model")}
    return {part: today(part) for part in parts_of(command)} | {name: found for name, found in named.items() if found}


@cache  # a process runs the code that it was started with
def today(part: str) -> str:
    """The digest of a part of this code."""
    return of_part(part, ROOTS)


def of_part(part: str, roots: Mapping[str, Path]) -> str:
    """The digest of a part of the packages in `roots`; empty where it is not there."""
    if part == DEFAULTS:
        return _defaults()
    package, _, inside = part.partition("/")
    return digest_under(roots[package], inside or "*")


def _defaults() -> str:
    """Another where somebody who says nothing is served otherwise."""
    nobody, nothing = bytes(16), ""
    line = (
        Ask(request=nobody, topic=nobody, prompt=Prompt(query=nothing)),
        Compose(request=nobody, topic=nobody, version=0, text=nothing, cursor=0),
        AggregationOptions(),
        DispatchOptions(),
        DeviceSettings(endpoint=nothing, retrieval=nothing),
        CloudSettings(endpoint=nothing, retrieval=nothing),
        RetrievalConfig(endpoint=nothing, state=nothing),
    )
    return digest(msgspec.json.encode(record, order="deterministic").decode() for record in line)


def _model(name: object) -> str:
    """The digest of a model's files where a name stands for files of this machine that are no part of hocket."""
    meant = resolved(str(name))
    path = place(meant) if is_installed(meant) else Path(meant)
    return digest_of_files(sorted(path.glob("*")) if path.is_dir() else [path] if path.is_file() else [])
