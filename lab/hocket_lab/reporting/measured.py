"""The modules that a command's figures are of: what its benchmark imports, directly or not, and what that starts.

A package's __init__.py counts where an import names the package, and not for what lies in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import hocket_lab
from hocket_lab.reporting.imports import imported

PREFIX = "hocket_"
STARTED = {  # programs that a module runs as processes of their own
    "hocket_lab.bench.speed.overhead": ("hocket_lab.bench.running.bare",),
    "hocket_tools.pair.processes": (
        *("hocket_daemon.roles.device", "hocket_daemon.roles.cloud", "hocket_retrieval.service.daemon"),
        "hocket_lab.rehearsal.daemon",
    ),
}
REPORTING = "hocket_lab.reporting"  # shows figures and makes none
FIGURES = "hocket_lab.bench.figures"
_BENCHMARK = re.compile(r"hocket bench (\w+)")


class Modules:
    """The modules of the packages in `roots`, by their dotted names."""

    def __init__(self, roots: Mapping[str, Path]) -> None:
        """List the modules; `roots` has the folder of each package by its name without `hocket_`."""
        self.paths = {
            _module(package, path.relative_to(root)): path
            for package, root in roots.items()
            for path in sorted(root.rglob("*.py"))
        }

    def reached(self, command: str) -> set[str]:
        """Return the modules that a command measures; all of them where it is no benchmark's."""
        begun = self._begun(command)
        return self.closure(begun, without=(REPORTING,)) if begun else set(self.paths)

    def closure(self, modules: Sequence[str], without: tuple[str, ...] = ()) -> set[str]:
        """Return these modules and all that they lead to, but for modules whose names begin with one of `without`."""
        waiting, seen = list(modules), set[str]()
        while waiting:
            module = waiting.pop()
            if module in self.paths and module not in seen and not module.startswith(without):
                seen.add(module)
                waiting += STARTED.get(module, ())
                waiting += self.imported(module)
        return seen

    def imported(self, module: str) -> set[str]:
        """Return the modules of hocket that a module names in an import, wherever that stands."""
        path = self.paths[module]
        return {name for name in _named(module, path) if name in self.paths}

    def _begun(self, command: str) -> list[str]:
        """Return the modules of a benchmark: its own, or all of its folder."""
        found = _BENCHMARK.search(command)
        if found is None:
            return []
        module = FIGURES if found[1] == "figure" else module_of(found[1])
        return [name for name in self.paths if name == module or name.startswith(f"{module}.")]


def module_of(benchmark: str) -> str:
    """Return the module that has `Settings` and `run`: a folder with a command.py, or a file of another folder."""
    bench = Path(hocket_lab.__file__ or "").with_name("bench")
    folders = {path.parent for path in bench.glob("*/command.py")}
    if bench / benchmark in folders:
        return f"hocket_lab.bench.{benchmark}"
    place = next(path for path in bench.glob(f"*/{benchmark}.py") if path.parent not in folders)
    return f"hocket_lab.bench.{place.parent.name}.{benchmark}"


@cache  # a file is read once, by whichever of several questions comes first
def _named(module: str, path: Path) -> frozenset[str]:
    """Return what a module's imports may name: modules, and names in them."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = list(imported(ast.walk(ast.parse(path.read_text(encoding="utf-8"))), package))
    return frozenset(name for source, names in found for name in (source, *(f"{source}.{each}" for each in names)))


def _module(package: str, path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join([f"{PREFIX}{package}", *(parts[:-1] if parts[-1] == "__init__" else parts)])
