"""What binds the files of a package to each other, read from their source: private members, and imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path


def private_members(source: str) -> set[str]:
    """The private names that a file defines: of functions, classes, variables and attributes."""
    return {name for name in _defined(ast.parse(source)) if _private(name)}


def private_accesses(source: str, members: set[str]) -> list[str]:
    """Where a file uses private `members` of others: `_x` imported, or `a.b._x` where it defines no `_x` itself."""
    foreign = members - private_members(source)
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(names=names):
                found += [alias.name for alias in names if alias.name in members]
            case ast.Attribute(value=of, attr=name) if name in foreign and not _own(of):
                found.append(ast.unparse(node))
    return found


def _private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _own(value: ast.expr) -> bool:
    """Whether it is self, cls or super()."""
    match value:
        case ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super")):
            return True
    return False


def _defined(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def imports(package: Path) -> dict[str, set[str]]:
    """The modules of the package in the folder `package`, and which of them each imports, also for its types only."""
    paths = {_module(package, path): path for path in sorted(package.rglob("*.py"))}
    return {
        module: {_known(name, paths) for name in _named(path, module)} - {"", module} for module, path in paths.items()
    }


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, the first one again at the end; empty where none do."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def _module(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _named(path: Path, module: str) -> Iterator[str]:
    """Every module that a file may mean: `from a import b` means a.b where there is one, else a."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(names=names, level=level, module=base):
                parts = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
                start = parts[: len(parts) - level + 1] if level else []
                origin = ".".join([*start, *([base] if base else [])])
                yield from (f"{origin}.{alias.name}" for alias in names)


def _known(name: str, modules: Mapping[str, Path]) -> str:
    """The module that a name means: itself, or the one that has it; empty where that is not of the package."""
    return next((module for module in (name, name.rpartition(".")[0]) if module in modules), "")
