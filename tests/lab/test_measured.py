"""Laws of the digests that stand beside a figure: what they follow, what they ignore, and that nothing is left out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hocket_bus.messages import Ask
from hocket_lab.commands.bench import BENCHMARKS
from hocket_lab.reporting import identity
from hocket_lab.reporting.identity import DEFAULTS, ROOTS, Code, today
from hocket_lab.reporting.measured import FIGURES, REPORTING, STARTED, Modules, module_of
from hocket_lab.reporting.sources import digest_under, significant

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


@pytest.fixture(scope="module")
def modules() -> Modules:
    """Return the modules of this checkout."""
    return Modules(ROOTS)


COMMANDS = [f"hocket bench {name}" for name in BENCHMARKS] + [
    f"hocket bench figure {number}" for number in range(4, 10)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_benchmark_reaches_its_own_module_and_the_product(modules: Modules, command: str) -> None:
    """And not all of it, as a command does of which nothing is known."""
    reached = modules.reached(command)
    own = command.split()[2]
    assert (FIGURES if own == "figure" else module_of(own)) in {name.removesuffix(".command") for name in reached}
    assert len(reached) < len(modules.paths)
    assert command == "hocket bench link" or any(not name.startswith("hocket_lab") for name in reached)


def test_whoever_starts_a_pair_measures_its_daemons(modules: Modules) -> None:
    """Though nothing of theirs is imported; a program that moved would be passed over."""
    assert "hocket_daemon.aggregation.exchange.exchange" in modules.reached("hocket bench kv")
    assert "hocket_daemon.aggregation.exchange.exchange" not in modules.reached("hocket bench link")
    assert {name for module, started in STARTED.items() for name in (module, *started)} <= modules.paths.keys()


@pytest.mark.parametrize("name", ["wire", "overhead"])
def test_what_python_imports_is_reached(modules: Modules, name: str) -> None:
    """All but what a package above brings with it, and what shows figures."""
    program = f"import sys, {module_of(name)}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    reached = modules.reached(f"hocket bench {name}")
    above = {module.rpartition(".")[0] for module in reached}
    others = modules.closure([*above, f"{REPORTING}.report"])
    loaded = {module for module in ran.stdout.split() if module in modules.paths and not module.startswith(REPORTING)}
    ours = {module for module in loaded if modules.paths[module].name != "__init__.py"}
    assert len(ours & reached) > 10
    assert ours <= reached | others


def test_imports_are_followed_wherever_they_stand(tmp_path: Path) -> None:
    """In a function, for the type checker, relative and absolute; a module that nothing imports is not reached."""
    sources = {
        "lab/bench/speed/it.py": "from hocket_bus import a\ndef late():\n    from ...near import x",
        "lab/near.py": "import hocket_bus.room.b",
        "bus/a.py": "if TYPE_CHECKING:\n    from .room import c",
        "bus/room/b.py": "from .. import d",
        "bus/room/c.py": "from ..e import y",
        "bus/d.py": "", "bus/e.py": "", "bus/apart.py": "from . import a",
    }  # fmt: skip
    for name, source in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    made = Modules({"bus": tmp_path / "bus", "lab": tmp_path / "lab"})
    reached = made.imported("hocket_lab.bench.speed.it") | made.imported("hocket_lab.near")
    assert reached == {"hocket_bus.a", "hocket_lab.near", "hocket_bus.room.b"}
    deeper = {name for module in reached for name in made.imported(module)}
    assert deeper == {"hocket_bus.room.b", "hocket_bus.room.c", "hocket_bus.d"}
    assert made.reached("pytest tests/pair") == set(made.paths)


def test_data_that_a_module_names_is_a_part_of_it(tmp_path: Path) -> None:
    """Other questions make other figures."""
    bench = tmp_path / "lab" / "bench" / "answers"
    bench.mkdir(parents=True)
    (bench / "newcomer.py").write_text('NAME = "newcomer.json"')
    seen = set()
    for text in ("{}", "[]"):
        (bench / "newcomer.json").write_text(text)
        seen.add(Code({"lab": tmp_path / "lab"}).parts("hocket bench newcomer")["lab"])
    assert len(seen) == 2


def test_defaults_are_a_part_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another temperature or another way of weighing is another product to whoever says nothing."""
    before = today().parts("hocket bench link")
    monkeypatch.setattr(identity, "Ask", lambda **given: Ask(**given, documents=3))
    after = today().parts("hocket bench link")
    assert {part for part in before if before[part] != after[part]} == {DEFAULTS}
