"""Killed at any statement and started again, a builder comes to the graph of an undisturbed run."""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from engines import finds_people
from scripted_server import serving

from hocket_retrieval.collection import Collection
from processes import with_helpers
from toys import ToyEmbedder
from waiting import WAIT_S

TABLES = (
    "chunks", "entities", "spellings", "mentions", "stated", "subgraphs", "facts", "pending", "gone", "changed",
    "fallen", "sqlite_sequence",
)  # fmt: skip
PEOPLE = (
    "Ada Merrow", "Tomas Quill", "Ines Harker", "Bram Oakes", "Lena Voss", "Piet Maar", "Dora Finch", "Hugo Lamb",
    "Vera Stone", "Karl Reed",
)  # fmt: skip
THINGS = ("harbour crane", "tide table", "rye bread", "stone oven", "tulip bulb", "garden wall")


def written(folder: Path) -> Path:
    """A store whose graph was built by the rules, and in which documents came, changed and went since."""
    draw = random.Random(3)

    def text() -> str:
        half = draw.choice((0, 1))
        one, other = draw.sample(PEOPLE[5 * half :][:5], 2)
        thing, part = draw.sample(THINGS[3 * half :][:3], 2)
        return f"Then {one} met {other} near the {thing} and the {part}."

    with Collection(folder, ToyEmbedder(dimension=8)) as collection:
        collection.add((f"{number:02}", "", text()) for number in range(12))
        collection.build()
        collection.remove(["03", "04"])
        collection.add((f"{number:02}", "", text()) for number in range(8, 20))
    return folder


def built(folder: Path, path: Path, url: str, last: int | str = "") -> subprocess.CompletedProcess[str]:
    program = Path(__file__).with_name("build_killed.py")
    command = [sys.executable, str(program), str(folder), str(path), url, str(last)]
    return subprocess.run(command, check=False, env=with_helpers(), stdout=subprocess.PIPE, text=True, timeout=WAIT_S)


def graph(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """All that its tables hold."""
    with closing(sqlite3.connect(path)) as connection:
        return {table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall()) for table in TABLES}


@pytest.fixture(params=["rules", "engine"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Of an engine, or of none."""
    if request.param == "rules":
        yield ""
    else:
        with serving(finds_people) as server:
            yield server.url


@pytest.mark.parametrize("kills", [pytest.param(4, marks=pytest.mark.slow), pytest.param(60, marks=pytest.mark.long)])
def test_a_killed_builder_is_followed_by_one_that_does_the_same(tmp_path, url, kills):
    """Within transactions and between them, ids, versions and figures included."""
    draw = random.Random(kills)
    begun = written(tmp_path / "state")
    whole = Path(shutil.copyfile(begun / "graph.sqlite", tmp_path / "whole.sqlite"))
    statements = int(built(begun, whole, url).stdout)
    expected = graph(whole)
    assert not expected["pending"] + expected["changed"] + expected["fallen"]
    assert bool(expected["stated"]) == bool(url)
    assert len(expected["subgraphs"]) > 1
    killed = 0
    while killed < kills:
        broken = Path(shutil.copyfile(begun / "graph.sqlite", tmp_path / "broken.sqlite"))
        for _ in range(4):
            ended = built(begun, broken, url, draw.randint(1, statements))
            if ended.returncode != -signal.SIGKILL:
                break
            killed += 1
        assert built(begun, broken, url).returncode == 0
        assert graph(broken) == expected
        for each in tmp_path.glob("broken.sqlite*"):
            each.unlink()
