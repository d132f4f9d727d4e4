"""No file of a package reaches into another one's members, and none import each other in a circle."""

from __future__ import annotations

from pathlib import Path

import pytest

from structure import cycle, imports, private_accesses, private_members

ROOT = Path(__file__).parents[1]
PACKAGES = [path.parent for path in sorted(ROOT.glob("*/hocket_*/__init__.py")) if path.parts[-3] != "models"]
SOURCES = {path: path.read_text(encoding="utf-8") for package in PACKAGES for path in package.rglob("*.py")}
MEMBERS = {name for source in SOURCES.values() for name in private_members(source)}


def test_all_packages_are_read() -> None:
    """The other tests have something to look at."""
    assert {package.name for package in PACKAGES} == {
        "hocket_bus", "hocket_client", "hocket_daemon", "hocket_retrieval", "hocket_tools",
    }  # fmt: skip
    assert len(MEMBERS) > 500


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_private_members_are_used_in_their_own_file_alone(path: Path) -> None:
    """Neither taken from another object nor imported; what a class inherits is its own."""
    assert private_accesses(SOURCES[path], MEMBERS) == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_no_modules_import_each_other_in_a_circle(package: Path) -> None:
    """Not for the sake of types either."""
    graph = imports(package)
    assert sum(map(len, graph.values())) >= len(graph) - 1, "they are found"
    assert cycle(graph) == []


@pytest.mark.parametrize(
    "line", ["other._secret", "self.other._secret()", "del x[0]._secret", "from .room import _secret"]
)
def test_each_of_these_accesses_would_be_seen(line: str) -> None:
    """The test above can fail."""
    assert private_accesses(line, {"_secret"})


@pytest.mark.parametrize(
    "line", ["self._secret", "cls._secret", "super()._secret()", "other._asdict()", "def _secret(): return x._secret"]
)
def test_none_of_these_accesses_is_one(line: str) -> None:
    """One's own, what another library calls so, and what the same file defines."""
    assert not private_accesses(line, {"_secret"})


@pytest.mark.parametrize(
    "line",
    [
        "from .b import x",
        "from . import b",
        "import house.b",
        "from house.b import x",
        "if TYPE_CHECKING:\n    from .b import x",
        "def late():\n    from . import b",
        "from .room import x",
        "from house.room import c",
    ],
)
def test_each_of_these_circles_would_be_seen(line: str, tmp_path: Path) -> None:
    """Whichever way the import is written, and over a package's own file, too."""
    files = {
        "__init__": "",
        "a": line,
        "b": "from .a import y",
        "room/__init__": "from .c import x",
        "room/c": "from ..a import y",
    }
    for name, source in files.items():
        path = tmp_path / "house" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    found = cycle(imports(tmp_path / "house"))
    assert "house.a" in found
    assert found[0] == found[-1]
