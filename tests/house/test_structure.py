"""No file of a package reaches into another one's members, and none import each other in a circle."""

from __future__ import annotations

from pathlib import Path

import pytest

import house

FILES = house.files()
SHEETS = house.sheets(FILES)
MOST_FILES, MOST_ARROWS = 20, 50


def test_all_packages_are_read() -> None:
    """The other tests have something to look at."""
    assert {house.module_of(path).partition(".")[0] for path in FILES} == set(house.PACKAGES)


def test_private_members_are_used_in_their_own_file_alone() -> None:
    """Neither taken from another object nor imported; what a class inherits is its own."""
    assert [access for access in house.private_accesses(FILES) if not access.inherited] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not for the sake of types either."""
    assert house.circles(FILES) == []


def test_no_folder_is_crowded() -> None:
    """Count the files of the program, of its tests, and of what trains its models."""
    others = [path for folder in ("tests", "models") for path in house.ROOT.glob(f"{folder}/**/*.py")]
    assert house.crowded([*FILES, *others], MOST_FILES) == {}


def test_a_crowded_folder_would_be_seen() -> None:
    """The law above can fail."""
    paths = [Path(f"room/{name}.py") for name in ("a", "b", "__init__")]
    assert house.crowded(paths, 1) == {Path("room"): 2}
    assert house.crowded(paths, 2) == {}


def test_a_folder_can_be_drawn() -> None:
    """With few arrows, and no circle of its files and folders."""
    assert {sheet.folder: len(sheet.arrows) for sheet in SHEETS if len(sheet.arrows) > MOST_ARROWS} == {}
    assert {sheet.folder: sheet.circles for sheet in SHEETS if sheet.circles} == {}


def test_a_circle_of_folders_is_seen_where_no_modules_are_in_one(tmp_path: Path) -> None:
    """And an arrow stands on the sheet of the innermost folder that holds both ends."""
    sources = {"a/one": "from ..b import two", "a/more": "", "b/two": "", "b/other": "from ..a.more import x"}
    paths = made(tmp_path, sources)
    assert house.circles(paths) == []
    whole, *rooms = house.sheets(paths)
    assert whole.arrows == {("a", "b"), ("b", "a")}
    assert whole.circles == (frozenset({"a", "b"}),)
    assert [room.arrows for room in rooms] == [frozenset(), frozenset()]


def made(folder: Path, sources: dict[str, str]) -> list[Path]:
    """Files of a package with these sources."""
    paths = [folder / "hocket_bus" / f"{name}.py" for name in sources]
    for path, source in zip(paths, sources.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return paths


def reaches(folder: Path, line: str) -> bool:
    """Whether `line` uses the private member of another file."""
    found = house.private_accesses(made(folder, {"a": line, "b": "def _secret(): ..."}))
    return any(not access.inherited for access in found)


@pytest.mark.parametrize(
    "line", ["other._secret", "self.other._secret()", "del x[0]._secret", "from .room import _secret"]
)
def test_each_of_these_accesses_would_be_seen(line: str, tmp_path: Path) -> None:
    """The law above can fail."""
    assert reaches(tmp_path, line)


@pytest.mark.parametrize(
    "line", ["self._secret", "cls._secret", "super()._secret()", "other._asdict()", "def _secret(): return x._secret"]
)
def test_none_of_these_accesses_is_one(line: str, tmp_path: Path) -> None:
    """One's own, what another library calls so, and what the same file defines."""
    assert not reaches(tmp_path, line)


@pytest.mark.parametrize(
    "line",
    [
        "from .b import x",
        "from . import b",
        "import hocket_bus.b",
        "from hocket_bus.b import x",
        "if TYPE_CHECKING:\n    from .b import x",
        "def late():\n    from . import b",
        "from .room import x",
        "from hocket_bus.room import c",
    ],
)
def test_each_of_these_circles_would_be_seen(line: str, tmp_path: Path) -> None:
    """Whichever way the import is written, and over a package's own file, too."""
    sources = {
        "__init__": "",
        "a": line,
        "b": "from .a import y",
        "room/__init__": "from .c import x",
        "room/c": "from ..a import y",
    }
    assert any("hocket_bus.a" in circle for circle in house.circles(made(tmp_path, sources)))
