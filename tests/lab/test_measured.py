"""Laws of the digests that stand beside a figure: what they follow, what they ignore, and that nothing is left out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from hocket_bus.messages import Ask
from hocket_lab.bench import identity
from hocket_lab.bench.identity import ROOTS, of_part, today
from hocket_lab.bench.measured import DEFAULTS, MEASURED, PACKAGES, parts_of
from hocket_lab.bench.sources import digest_under, significant
from hocket_lab.commands.bench import BENCHMARKS

PRODUCT = ("bus/", "daemon/", "retrieval/")
HARMLESS = {  # what says which model or folder is meant, or how an error reads
    "bus/errors.py", "bus/paths.py", "bus/deadline.py", "daemon/engine/settings.py",
    "daemon/engine/catalog/published.py",
}  # fmt: skip
PROGRAM = '''"""What it is for."""
import math


def area(r: float) -> str:
    """Of a circle."""
    # the square is Euclid's
    if r < 0:
        return ""
    return f"{math.pi * r ** 2:.{2}f} of {'all'!r}"
'''


def tokens(source: str) -> list[str]:
    """What of a program counts."""
    return list(significant(source))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# the square is Euclid's\n", "\n\n"),
        ('"""Of a circle."""', '"""Of a circle, in words."""\n'),
        ('    """Of a circle."""\n', ""),
        ("r < 0", "r  <  0"),
        ('"""What it is for."""\n', ""),
        ("    ", "  "),
        ("-> str:", "-> str:  # in words"),
    ],
)
def test_layout_comments_and_docstrings_do_not_count(old: str, new: str) -> None:
    """A figure is not of other code when somebody explains it better."""
    assert tokens(PROGRAM.replace(old, new)) == tokens(PROGRAM)


@pytest.mark.parametrize(
    ("old", "new"),
    [("r < 0", "r <= 0"), ('return ""', 'return "none"'), (".{2}f", ".{3}f"), ("    return f", "        return f")],
)
def test_everything_else_does(old: str, new: str) -> None:
    """An operator, a string that is a value, the inside of an f-string, and what stands in which block."""
    assert tokens(PROGRAM.replace(old, new)) != tokens(PROGRAM)


def test_an_f_string_is_one_token_in_every_version_of_python() -> None:
    """So that a digest told by one is the same in the other."""
    assert tokens(PROGRAM)[-3:] == ["""f"{math.pi * r ** 2:.{2}f} of {'all'!r}\"""", "\n", "}"]


def test_a_part_is_a_folder_a_file_or_a_pattern(tmp_path: Path) -> None:
    """A new file, another name, and the bytes of what is no program count; what is not there has no digest."""
    seen = []

    def look() -> None:
        seen.append(digest_under(tmp_path, "*"))

    (tmp_path / "engine").mkdir()
    for name, content in (("a.py", "x = 1"), ("b.py", ""), ("c.json", "{}"), ("c.json", "[]")):
        (tmp_path / "engine" / name).write_text(content)
        look()
    (tmp_path / "engine" / "b.py").rename(tmp_path / "engine" / "d.py")
    look()
    assert len(set(seen)) == len(seen)
    assert digest_under(tmp_path, "engine/a.py") == digest_under(tmp_path, "engine/a*")
    assert digest_under(tmp_path, "nothing") == ""


def test_every_part_is_there() -> None:
    """A folder that moved would stand as changed for ever, and a wrong name would never change."""
    assert [part for parts in MEASURED.values() for part in parts if not today(part)] == []


def test_every_benchmark_says_what_it_measures() -> None:
    """Those of the command line, and each figure."""
    commands = [f"hocket bench {name}" for name in BENCHMARKS] + [f"hocket bench figure {n}" for n in range(4, 10)]
    assert [command for command in commands if parts_of(command) == PACKAGES] == []


def modules_of(name: str) -> list[Path]:
    """The program of a benchmark, or those of its folder."""
    at = ROOTS["lab"] / "bench"
    return sorted((at / name).glob("*.py")) if (at / name).is_dir() else [at / f"{name}.py"]


def imported(path: Path) -> set[str]:
    """The product's modules that a program imports, such as `daemon/engine/language_model.py`."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom)]
    names = {name for node in nodes for name in (node.module, *(f"{node.module}.{one.name}" for one in node.names))}
    places = {f"{str(name).removeprefix('hocket_').replace('.', '/')}.py" for name in names if name}
    return {place for place in places if place.startswith(PRODUCT) and at(place).is_file()}


def at(place: str) -> Path:
    """Where a part of one file lies."""
    package, _, inside = place.partition("/")
    return ROOTS[package] / inside


def covered(command: str) -> set[Path]:
    """All files and folders of the parts of a command."""
    pairs = [part.partition("/") for part in parts_of(command) if part != DEFAULTS]
    places = [place for package, _, inside in pairs for place in ROOTS[package].glob(inside or "*")]
    return {found for place in places for found in (place, *place.rglob("*.py"))}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_what_a_benchmark_imports_of_the_product_is_among_its_parts(name: str) -> None:
    """Otherwise its figures would not say that the code has changed."""
    inside = covered(f"hocket bench {name}")
    needed = {module for path in modules_of(name) for module in imported(path)}
    left = {module for module in needed if at(module) not in inside}
    assert left <= HARMLESS, f"hocket bench {name} measures {sorted(left)}, too: say so in measured.py"


def test_defaults_are_a_part_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another temperature or another way of weighing is another product to whoever says nothing."""
    before = of_part(DEFAULTS, ROOTS)
    monkeypatch.setattr(identity, "Ask", lambda **said: Ask(**said, documents=3))
    assert of_part(DEFAULTS, ROOTS) != before
