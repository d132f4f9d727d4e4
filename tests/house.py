"""What the rules of the house read from the source: files, functions, imports, circles, private names. Nothing runs."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hocket_lab.reporting.imports import imported

ROOT = Path(__file__).parents[1]
PACKAGES = (
    *("hocket_bus", "hocket_client", "hocket_gateway", "hocket_retrieval", "hocket_daemon", "hocket_tools"),
    "hocket_lab",
)
OWN = {"self", "cls"}
ASKING = ("is_", "has_", "can_", "may_", "needs_")
VAGUE = re.compile(
    r"(what|whether|how|of|where|those|as|one|who|which|when|that|such|some|none|nothing|all|each|and|or|but|so|if|in|at"
    r"|by|for|from|behind|before|after|with|without|while|why|only|not|no|does|is|are|has|may|it|its|they|these|this"
    r"|another|anything|everything|somebody|nobody|also|here|there|now|to|up|on|both|either|neither|every)\b",
    re.IGNORECASE,
)
QUESTIONS = {"due_s", "fits", "idle", "left_s", "passed", "waiting"}


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method: its name, its file, and how many lines it has from `def` to its last line."""

    name: str
    path: Path
    lines: int


@dataclass(frozen=True, slots=True)
class PrivateAccess:
    """A private name that a file uses and another file defines; inherited where it is used on self or cls."""

    path: Path
    line: int
    name: str
    inherited: bool


def files(root: Path = ROOT, packages: Iterable[str] = PACKAGES) -> list[Path]:
    """The program's .py files below root/*/PACKAGE, in order."""
    return sorted(path for package in packages for path in root.glob(f"*/{package}/**/*.py"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, which several laws look at."""
    return tuple(ast.walk(tree(path)))


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file; it is read once."""
    return ast.parse(path.read_text(encoding="utf-8"))


def lines(path: Path) -> int:
    """Lines of a file, empty ones and comments too."""
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> list[Function]:
    """All functions of a file, nested ones too; decorators do not count as lines."""
    return [
        Function(node.name, path, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def methods(paths: Iterable[Path]) -> list[int]:
    """Count the methods of each class."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    classes = [node for path in paths for node in nodes(path) if isinstance(node, ast.ClassDef)]
    return [sum(isinstance(member, kinds) for member in each.body) for each in classes]


def vague_docstrings(paths: Iterable[Path]) -> list[str]:
    """Return the docstrings that begin with neither a verb nor a plain noun phrase, as "Whether …" does."""
    described = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
    texts = [ast.get_docstring(node) for path in paths for node in nodes(path) if isinstance(node, described)]
    return [text for text in texts if text and VAGUE.match(text)]


def module_of(path: Path) -> str:
    """The dotted name of a file of one of the packages; a package's name for its __init__.py."""
    parts = list(path.with_suffix("").parts)
    first = next(index for index, part in enumerate(parts) if part in PACKAGES)
    return ".".join(parts[first:]).removesuffix(".__init__")


def imports(path: Path, modules: set[str]) -> set[str]:
    """Return those of `modules` that a file imports: in a function or for the type checker, too."""
    found: set[str] = set()
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    for source, names in imported(nodes(path), package):
        full = {f"{source}.{name}" for name in names}
        found |= full & modules
        if not names or not full <= modules:
            found.add(source)
    return found & modules


def circles(paths: Iterable[Path]) -> list[set[str]]:
    """Sets of modules that import each other in a circle, the largest first. Every import counts, wherever it stands.

    A package's __init__.py is in a circle only where an import names the package itself.
    """
    by_module = {module_of(path): path for path in paths}
    modules = set(by_module)
    graph = {module: imports(path, modules) - {module} for module, path in by_module.items()}
    reached = {module: _reachable(graph, module) for module in graph}
    found: list[set[str]] = []
    for module in sorted(graph):
        circle = {other for other in reached[module] if module in reached[other]}
        if circle and circle not in found:
            found.append(circle)
    return sorted(found, key=len, reverse=True)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A folder as it would be drawn: its files and folders, and an arrow from each to those that it imports from.

    `circles` are those rooms, the sets of them that reach each other.
    """

    folder: str
    rooms: frozenset[str]
    arrows: frozenset[tuple[str, str]]
    circles: tuple[frozenset[str], ...]


def sheets(paths: Iterable[Path]) -> list[Sheet]:
    """Draw every folder with a file among `paths`. A package's __init__.py is no room, nor an end of an arrow."""
    by_module = {module_of(path): path for path in paths if path.name != "__init__.py"}
    modules = set(by_module)
    rooms: dict[str, set[str]] = {}
    arrows: dict[str, set[tuple[str, str]]] = {}
    for module, path in by_module.items():
        parts = module.split(".")
        for depth in range(1, len(parts)):
            rooms.setdefault(".".join(parts[:depth]), set()).add(parts[depth])
        for other in imports(path, modules) - {module}:
            folder, here, there = _parting(parts, other.split("."))
            if folder:
                arrows.setdefault(folder, set()).add((here, there))
    return [_sheet(folder, rooms[folder], arrows.get(folder, set())) for folder in sorted(rooms)]


def _parting(one: list[str], other: list[str]) -> tuple[str, str, str]:
    """Return the innermost folder that holds both modules, and the room of each in it."""
    depth = next(at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return ".".join(one[:depth]), one[depth], other[depth]


def _sheet(folder: str, rooms: set[str], arrows: set[tuple[str, str]]) -> Sheet:
    graph = {room: {end for start, end in arrows if start == room} for room in rooms}
    reached = {room: _reachable(graph, room) for room in rooms}
    circles = {frozenset(other for other in reached[room] if room in reached[other]) for room in rooms}
    return Sheet(folder, frozenset(rooms), frozenset(arrows), tuple(circle for circle in circles if circle))


def crowded(paths: Iterable[Path], most: int) -> dict[Path, int]:
    """Return the folders that hold over `most` of these files, with their number; an __init__.py does not count."""
    counts = Counter(path.parent for path in paths if path.name != "__init__.py")
    return {folder: count for folder, count in counts.items() if count > most}


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += graph[module]
    return seen


def private_accesses(paths: Iterable[Path]) -> list[PrivateAccess]:
    """Uses of a private name that the file does not define and another one of `paths` does; libraries' do not count."""
    defined = {path: set(_bindings(nodes(path))) for path in paths}
    ours = set().union(*defined.values())
    return [access for path, own in defined.items() for access in _private_uses(path) if access.name in ours - own]


def _private_uses(path: Path) -> Iterator[PrivateAccess]:
    for node in nodes(path):
        match node:
            case ast.ImportFrom(names=names):
                yield from (
                    PrivateAccess(path, node.lineno, alias.name, inherited=False)
                    for alias in names
                    if _is_private(alias.name)
                )
            case ast.Attribute(value=value, attr=name) if _is_private(name):
                yield PrivateAccess(path, node.lineno, name, inherited=_is_own(value))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _is_own(value: ast.expr) -> bool:
    """Whether it is self, cls or super()."""
    match value:
        case ast.Name(id=name):
            return name in OWN
        case ast.Call(func=ast.Name(id="super")):
            return True
    return False


def _bindings(module: Iterable[ast.AST]) -> Iterator[str]:
    for node in module:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id=owner), attr=name, ctx=ast.Store()) if owner in OWN:
                yield name


def questions(path: Path) -> list[ast.FunctionDef]:
    """Functions of a file whose names ask: properties, is_… and the like, and the names in QUESTIONS."""
    return [node for node in nodes(path) if isinstance(node, ast.FunctionDef) and _asks(node)]


def _asks(function: ast.FunctionDef) -> bool:
    name = function.name.lstrip("_")
    as_property = any(isinstance(each, ast.Name) and each.id == "property" for each in function.decorator_list)
    return as_property or name in QUESTIONS or name.startswith(ASKING)


def assigned_to_self(function: ast.FunctionDef) -> set[str]:
    """Attributes of self that a function sets, adds to or deletes, or of which it sets or deletes an item."""
    return set(_assigned(function))


def _assigned(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name, ctx=ast.Store() | ast.Del()) if owner in OWN:
                yield name
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=owner), attr=name), ctx=ast.Store() | ast.Del()):
                if owner in OWN:
                    yield name
