"""`hocket bench results`: write lab/docs/results.md and its pictures anew."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from hocket_bus.errors import BadRequest
from hocket_lab.bench.results.page import page
from hocket_lab.bench.results.picture import draw
from hocket_lab.bench.results.records import read
from hocket_lab.bench.results.systems import read_systems
from hocket_lab.reporting.identity import today

FOLDER, PAGE, SYSTEMS = Path("lab/docs/results"), Path("lab/docs/results.md"), "systems.toml"


def made(root: Path) -> Mapping[Path, str]:
    """Return the content of each file of the page, by its place in a checkout. Raises BadConfiguration."""
    areas = read(root / FOLDER)
    systems = read_systems(root / FOLDER / SYSTEMS, areas)
    pictures = {
        FOLDER / system.picture: draw(system.title, [(bar.label, bar.length(areas)) for bar in system.bars])
        for system in systems
    }
    return {PAGE: page(areas, systems, cache(today().parts))} | pictures


def write(root: Path) -> None:
    """Write the files of the page. Raises BadRequest where `root` is no checkout of hocket."""
    if not (root / FOLDER / SYSTEMS).is_file():
        raise BadRequest(f"no {FOLDER / SYSTEMS} here", "go to the folder of hocket's sources")
    for place, text in made(root).items():
        (root / place).write_text(text, encoding="utf-8")
