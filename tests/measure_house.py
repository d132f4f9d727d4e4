"""Prints how the house is built: how far a question goes, how long files and functions are, who reaches into whom.

    python tests/measure_house.py

Files and functions are those of the program: .py files of bus, client, daemon, retrieval and tools. How the ways of a
question and of a draft are counted says `ways.py`, the rest `house.py`. No aim is a condition here: tests hold those.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from statistics import median

import house
from hocket_bus import log

MAX_FUNCTION = 50


def measures(root: Path = house.ROOT) -> list[tuple[str, float, str]]:
    """What is counted in the source below `root`: name, figure, aim."""
    files = house.files(root)
    lines = [house.lines(path) for path in files]
    lengths = [function.lines for path in files for function in house.functions(path)]
    reached = house.private_accesses(files)
    circles = house.circles(files)
    return [
        ("files", len(files), ""),
        ("lines of a file, median", median(lines), ""),
        ("lines of a file, maximum", max(lines), "at most 500"),
        ("lines of a function, median", median(lengths), "below 10"),
        ("functions over 50 lines", sum(length > MAX_FUNCTION for length in lengths), "0"),
        ("private accesses across files, to other objects", sum(not access.inherited for access in reached), "0"),
        ("private accesses across files, to what is inherited", sum(access.inherited for access in reached), "0"),
        ("import circles", len(circles), "0"),
        ("files in import circles", sum(map(len, circles)), "0"),
    ]


def main() -> None:
    """Measure and print."""
    pytest = tomllib.loads((house.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]
    sys.path += [str(house.ROOT / path) for path in pytest["ini_options"]["pythonpath"]]
    from ways import to_searchable, to_suggestion, ways

    log.setup("error")
    (question, draft), key, ingested = ways(), to_suggestion(), to_searchable()
    on_ways = [
        ("files passed through, question to first draft", len(question.through), "at most 24"),
        ("files passed through, draft to reader", len(draft.through), "at most 18"),
        ("files passed through, key to suggestion", len(key.through), "at most 18"),
        ("files passed through, ingest to searchable", len(ingested.through), "at most 20"),
        ("files that run, question to first draft", len(question.run), ""),
        ("files that run, draft to reader", len(draft.run), ""),
    ]
    for name, figure, aim in on_ways + measures():
        print(f"{name:<52} {figure:>6g}  {aim}")
    for name, way in (("question", question), ("draft", draft), ("key", key), ("ingested", ingested)):
        print(f"\n{name}, passed through:", *sorted(way.through), sep="\n  ")
        print(f"\n{name}, leaves:", *sorted(way.run - way.through), sep="\n  ")


if __name__ == "__main__":
    main()
