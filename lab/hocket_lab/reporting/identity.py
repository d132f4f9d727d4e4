"""Digests of what a benchmark's figures depend on besides its settings: the code that it measures, and models."""

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
from hocket_daemon.engine.backends.automatic import resolved
from hocket_daemon.engine.catalog.store import is_installed, place
from hocket_lab.reporting.measured import PREFIX, Modules
from hocket_lab.reporting.sources import digest, digest_of_files, digest_under, significant
from hocket_retrieval.config import RetrievalConfig

DEFAULTS = "defaults"
ROOTS: Mapping[str, Path] = {
    package.__name__.removeprefix("hocket_"): Path(next(iter(package.__path__)))
    for package in (
        *(hocket_bus, hocket_client, hocket_daemon, hocket_gateway, hocket_models, hocket_retrieval, hocket_tools),
        hocket_lab,
    )
}


class Code:
    """The code of the packages in `roots`, as digests; a root is a package's folder, by its name without `hocket_`."""

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = roots
        self._modules = Modules(roots)
        self._content = cache(self._content_of)

    def parts(self, command: str) -> dict[str, str]:
        """Return a digest for each package that a command reaches, of the modules that it reaches there.

        The product's default settings have a digest of their own.
        """
        reached = sorted(self._modules.reached(command))
        found = {package: [name for name in reached if _is_of(name, package)] for package in self._roots}
        parts = {package: digest(map(self._content, names)) for package, names in found.items() if names}
        return parts | {DEFAULTS: _defaults()}

    def _content_of(self, module: str) -> str:
        """Return a digest of a module: its name, its significant source, and the data files beside it that it names."""
        path = self._modules.paths[module]
        source = path.read_text(encoding="utf-8")
        beside = [file for file in sorted(path.parent.glob("*.json")) if file.name in source]
        data = [digest_under(path.parent, file.name) for file in beside]
        bundled = [digest_under(self._roots["models"], "*")] if module == "hocket_models" else []
        return digest([module, *significant(source), *data, *bundled])


def _is_of(module: str, package: str) -> bool:
    return module.split(".", maxsplit=1)[0] == f"{PREFIX}{package}"


@cache  # a process runs the code that it was started with
def today() -> Code:
    """Return the code that runs."""
    return Code(ROOTS)


def identity(command: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return digests of the code that a command measures, and of the models that its settings name."""
    named = {name: _model(value) for name, value in settings.items() if name.endswith("model")}
    return today().parts(command) | {name: found for name, found in named.items() if found}


def _defaults() -> str:
    """Return a digest of all defaults, which changes when a request without options is served otherwise."""
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
    """Return the digest of a model's files on this machine; empty where `name` has none, or hocket's own."""
    meant = resolved(str(name))
    path = place(meant) if is_installed(meant) else Path(meant)
    return digest_of_files(sorted(path.glob("*")) if path.is_dir() else [path] if path.is_file() else [])
