"""The site of all pages: every page stands on one shelf, and what is made of the code is whole."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket_tools import site

ROOT = Path(__file__).parents[2]
SHELVES = ["Tutorials", "How-to", "Reference", "Explanation"]


@pytest.fixture(autouse=True)
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def pages(shelf: object) -> Iterator[str]:
    """Those of a list of titles and paths, however deep."""
    if isinstance(shelf, str):
        yield shelf
    elif isinstance(shelf, dict):
        for each in shelf.values():
            yield from pages(each)
    elif isinstance(shelf, list):
        for each in shelf:
            yield from pages(each)


def test_every_page_stands_on_one_shelf() -> None:
    project = tomllib.loads(site.CONFIGURATION.read_text(encoding="utf-8"))["project"]
    first, *shelves = project["nav"]
    assert list(first.values()) == ["README.md"]
    assert [title for shelf in shelves for title in shelf] == SHELVES
    placed = list(pages(project["nav"]))
    there = {str(path) for path in site.shown() if path.suffix == ".md"} | {str(site.COMMANDS)}
    assert sorted(placed) == sorted(there)


def test_every_command_and_option_is_described() -> None:
    page = site.commands()
    for words in ("## hocket ask", "## hocket serve keys new", "`--max-tokens`", "## hocket graph calibrate"):
        assert words in page
    rows = [line for line in page.splitlines() if line.startswith("| `-")]
    assert rows
    assert all(row.count(" | ") == 1 and not row.endswith("|  |") for row in rows)


def test_the_theme_fetches_nothing() -> None:
    """Fonts would come from elsewhere."""
    theme = tomllib.loads(site.CONFIGURATION.read_text(encoding="utf-8"))["project"]["theme"]
    assert theme["font"] is False
