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
    "hocket_daemon": {"hocket_bus", "hocket_models"},
    "hocket_tools": {"hocket_bus", "hocket_client", "hocket_retrieval", "hocket_daemon"},
}
SOURCES = [path for package in FLOORS for path in sorted(ROOT.glob(f"*/{package}/**/*.py"))]


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
def test_imports_go_down_and_never_to_what_executes_bytes(path: Path) -> None:
    """Lower floors know nothing of higher ones, one room imports zmq, and nothing unpickles."""
    names = imported(path)
    package = package_of(path)
    assert {name for name in names if name.startswith("hocket_")} <= FLOORS[package] | {package}
    assert "zmq" not in names or path.parent.name == "sockets"
    assert names.isdisjoint({"pickle", "dill", "cloudpickle", "shelve", "marshal"})


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_evaluates_text_or_listens_everywhere(path: Path) -> None:
    """No eval, exec or recv_pyobj; no address that means every interface."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = {ast.unparse(node.func).rpartition(".")[2] for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert calls.isdisjoint({"exec", "recv_pyobj", "send_pyobj"})
    assert "eval" not in {
        node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert not [text for text in texts if text.startswith("tcp://*") or text == "0.0.0.0"]
