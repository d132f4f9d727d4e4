"""The rules of the house, kept by reading the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = {
    "hocket_bus": set(),
    "hocket_client": {"hocket_bus"},
    "hocket_retrieval": {"hocket_bus"},
    "hocket_daemon": {"hocket_bus", "hocket_models", "hocket_retrieval"},
    "hocket_tools": {"hocket_bus", "hocket_client", "hocket_models", "hocket_retrieval", "hocket_daemon"},
}
RUN_WHAT_ARRIVES = {
    "pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve",
    "recv_pyobj", "send_pyobj", "allow_pickle",
}  # fmt: skip
EVERYWHERE = ("tcp://*", "0.0.0.0", "[::]")
SOURCES = [path for package in FLOORS for path in sorted(ROOT.glob(f"*/{package}/**/*.py"))]
SCRIPTS = sorted(ROOT.glob("models/**/*.py"))


def imported(path: Path) -> set[str]:
    """Top-level names that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").partition(".")[0])
    return names


def package_of(path: Path) -> str:
    return next(part for part in path.parts if part in FLOORS)


def test_all_packages_are_read() -> None:
    """The other tests have something to look at."""
    assert {package_of(path) for path in SOURCES} == set(FLOORS)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    """Lower floors know nothing of higher ones, and one room imports zmq."""
    names = imported(path)
    package = package_of(path)
    assert {name for name in names if name.startswith("hocket_")} <= FLOORS[package] | {package}
    assert "zmq" not in names or path.parent.name == "sockets"


def faults(source: str) -> set[str]:
    """What would run bytes or text that arrive, and addresses that mean every interface of a machine."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name):
                found |= {name} & {"exec", "eval", "pickle"}
            case ast.keyword(arg="weights_only", value=ast.Constant(value=False)):
                found.add("weights_only")
            case ast.Attribute(attr=name) | ast.alias(name=name) | ast.keyword(arg=str(name)):
                found |= {name} & RUN_WHAT_ARRIVES
            case ast.Constant(value=str(text)):
                found |= {address for address in EVERYWHERE if address in text}
    return found


@pytest.mark.parametrize("path", SOURCES + SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_runs_what_arrives_or_listens_everywhere(path: Path) -> None:
    """No eval, no pickle under any name, not even for zmq, numpy or torch to use; nobody is let in by an address."""
    assert not faults(path.read_text(encoding="utf-8")) - (set(EVERYWHERE) if path.name == "endpoints.py" else set())


@pytest.mark.parametrize(
    "line",
    [
        "eval(text)",
        "socket.recv_pyobj()",
        "import pickle",
        "from zmq import recv_pyobj",
        "numpy.load(file, allow_pickle=True)",
        "torch.load(file, weights_only=False)",
        "socket.bind('tcp://*:5000')",
        "endpoint = f'tcp://0.0.0.0:{port}'",
        "host = '[::]'",
    ],
)
def test_each_of_these_would_be_seen(line: str) -> None:
    """The test above can fail."""
    assert faults(line)
