"""Prints how the house is built, beside what it shall come to: folders, files, ways, words, and what a user meets.

    python tests/measure_house.py

Files and functions are those of the program: .py files of its packages, the laboratory's too where that is said. How
the ways of a question, a draft, a key and a document are counted says `ways.py`, the rest `house.py`. No aim is a
condition here: tests hold those that are reached.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import house
from hocket_bus import log

MAX_FUNCTION, MAX_METHODS, MAX_FILES, SHORT_FILE, LONG_PAGE, MAX_SUBJECT = 50, 25, 20, 50, 2_500, 72
SUBJECTS = 200  # of the newest commits
Row = tuple[str, float, str]


def measures(root: Path = house.ROOT) -> list[Row]:
    """Count what the source below `root` shows: name, figure, aim."""
    files = house.files(root)
    product = [path for path in files if "hocket_lab" not in path.parts]
    others = [path for folder in ("tests", "models") for path in root.glob(f"{folder}/**/*.py")]
    reached, circles, sheets = house.private_accesses(files), house.circles(files), house.sheets(files)
    lengths = [function.lines for path in files for function in house.functions(path)]
    return [
        *_folders(product, [*files, *others], sheets),
        ("lines of the product", sum(map(house.lines, product)), "at most 57000"),
        ("lines with laboratory and tests", sum(map(house.lines, [*files, *others])), "at most 114000"),
        (
            "files under 50 lines",
            sum(house.lines(path) < SHORT_FILE for path in product if path.name != "__init__.py"),
            "at most 60",
        ),
        ("lines of a file, maximum", max(map(house.lines, files)), "at most 500"),
        ("lines of a function, median", median(lengths), "below 10"),
        ("functions over 50 lines", sum(length > MAX_FUNCTION for length in lengths), "0"),
        ("classes over 25 methods", sum(count > MAX_METHODS for count in house.methods(product)), "at most 4"),
        ("private accesses across files, to other objects", sum(not access.inherited for access in reached), "0"),
        ("private accesses across files, to what is inherited", sum(access.inherited for access in reached), "0"),
        ("files in import circles", sum(map(len, circles)), "0"),
        ("docstrings that begin with no verb and no noun", len(house.vague_docstrings(files)), "0"),
    ]


def _folders(product: list[Path], every: list[Path], sheets: list[house.Sheet]) -> list[Row]:
    return [
        ("folders over 20 files, of the product", len(house.crowded(product, MAX_FILES)), "0"),
        ("folders over 20 files, with laboratory and tests", len(house.crowded(every, MAX_FILES)), "at most 3"),
        ("arrows on one sheet, maximum", max(len(sheet.arrows) for sheet in sheets), "at most 50"),
        ("circles of files and folders on a sheet", sum(len(sheet.circles) for sheet in sheets), "0"),
    ]


def met(root: Path = house.ROOT) -> list[Row]:
    """Count what a user meets: words, options, keys; and what is said of commits and of claims."""
    from typer.main import get_command

    from hocket_daemon.config import CloudSettings, DeviceSettings
    from hocket_lab.bench.results.command import FOLDER
    from hocket_lab.bench.results.records import read
    from hocket_lab.reporting.identity import today
    from hocket_tools.main import app
    from hocket_tools.settings import tables

    pages = [len(path.read_text(encoding="utf-8").split()) for path in (root / "README.md", *root.glob("docs/**/*.md"))]
    ordinary = [
        table for kind in (DeviceSettings, CloudSettings) for table in tables(kind)[:-1]
    ]  # the last is [expert]
    claims = [record for records in read(root / FOLDER).values() for record in records]
    parts = cache(today().parts)
    return [
        ("words that a user meets", sum(pages), "at most 38000"),
        ("pages over 2,500 words", sum(words > LONG_PAGE for words in pages), "at most 3"),
        ("options of the commands", sum(1 for _ in _options(get_command(app))), "at most 115"),
        ("ordinary keys of both daemons' files", sum(len(table.keys) for table in ordinary), "at most 75"),
        (
            "claims of other code than this one",
            sum(bool(claim.changed(parts)) for claim in claims),
            f"few of {len(claims)}",
        ),
        ("% of the last subjects over 72 characters", _long_subjects(root), "below 5"),
    ]


def _options(command: Any) -> Iterator[str]:
    """Yield the options of all commands but the laboratory's, without --help."""
    for name, each in getattr(command, "commands", {}).items():
        if not hasattr(each, "_whole") and name not in ("bench", "link", "simulate"):
            yield from _options(each)
    if not hasattr(command, "commands"):
        yield from (each.name for each in command.params if each.param_type_name == "option" and each.name != "help")


def _long_subjects(root: Path) -> float:
    words = ("git", "log", f"-{SUBJECTS}", "--no-merges", "--format=%s")
    subjects = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    return 100 * sum(len(subject) > MAX_SUBJECT for subject in subjects) / len(subjects)


def main() -> None:
    """Measure and print."""
    pytest = tomllib.loads((house.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]
    sys.path += [str(house.ROOT / path) for path in pytest["ini_options"]["pythonpath"]]
    from ways import to_first_chunk, to_searchable, to_suggestion, ways

    log.setup("error")
    question, draft = ways()
    found = {
        "question to first draft": (question, "at most 24"),
        "draft to reader": (draft, "at most 18"),
        "key to suggestion": (to_suggestion(), "at most 17"),
        "ingest to searchable": (to_searchable(), "at most 18"),
        "HTTP to the first token's event": (to_first_chunk(), "at most 30"),
    }
    on_ways = [(f"files passed through, {name}", len(way.through), aim) for name, (way, aim) in found.items()]
    for name, figure, aim in [*on_ways, *measures(), *met()]:
        print(f"{name:<58} {figure:>7g}  {aim}")
    for name, (way, _) in found.items():
        show = partial(print, sep="\n  ")
        show(f"\n{name}, passed through:", *sorted(way.through))
        show(f"\n{name}, leaves:", *sorted(way.run - way.through))


if __name__ == "__main__":
    main()
