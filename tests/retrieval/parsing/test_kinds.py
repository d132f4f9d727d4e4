"""Laws of every kind of file: it is found by words and by meaning, at its place; a broken one costs one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from document_kinds import MAKERS, Made, broken, files

from hocket_retrieval.collection import Collection
from hocket_retrieval.embedding.embedder import Embedder
from hocket_retrieval.ingestion.job import Report
from hocket_retrieval.parsing.outline import is_sound
from hocket_retrieval.parsing.readers import read

MADE = {made.name: made for made in files()}
BROKEN = {f"{number:02}-{name}": data for number, (name, data) in enumerate(broken().items())}
MAX_RANK = 3  # of a question in other words


class Library(NamedTuple):
    """All files of one folder, broken ones between them, as they were read together."""

    collection: Collection
    report: Report


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, minilm: Embedder) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("kinds")
    for name, data in BROKEN.items() | {made.name: made.data for made in MADE.values()}.items():
        (folder / "files").mkdir(exist_ok=True)
        (folder / "files" / name).write_bytes(data)
    with Collection(folder / "state", minilm) as collection:
        yield Library(collection, collection.ingest([folder / "files"]))


def test_so_many_files_of_so_many_kinds_are_read() -> None:
    assert (len(MADE), len(MAKERS), len(BROKEN)) == (81, 51, 31)
    assert len({made.said for made in MADE.values()}) == 81


def ranks(library: Library, query: str, made: Made, k: int) -> list[int]:
    """Where among the best `k` passages the file's sentence stands, at its right place."""
    return [
        rank
        for rank, passage in enumerate(library.collection.search(query, k).passages)
        if Path(passage.document).name == made.name
        and made.said in " ".join(passage.text.split())
        and passage.place == made.place
    ]


@pytest.mark.parametrize("name", MADE)
def test_a_sentence_is_found_by_its_words_at_its_place(library: Library, name: str) -> None:
    """By the three longest of them, before all others."""
    made = MADE[name]
    words = sorted(re.findall(r"\w+", made.said), key=len)[-3:]
    assert ranks(library, " ".join(words), made, 1)


@pytest.mark.parametrize("name", MADE)
def test_a_sentence_is_found_by_its_meaning_at_its_place(library: Library, name: str) -> None:
    """By a question in other words."""
    made = MADE[name]
    assert ranks(library, made.asked, made, MAX_RANK)


@pytest.mark.parametrize("name", MADE)
def test_an_outline_lies_in_its_text_and_begins_with_what_it_names(name: str) -> None:
    """A heading's place begins at the heading; every place is one line."""
    found = read(Path(name), MADE[name].data)
    assert is_sound(found.outline, len(found.text))
    path = ""
    for offset, place in found.outline:
        before, path = path, place.partition("§ ")[2]
        if path and path != before:
            heading = path.rpartition(" › ")[2]
            assert " ".join(found.text[offset:].split()).startswith(heading)


EMPTY = [name for name, data in BROKEN.items() if not data]


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_file_is_noted(library: Library, name: str) -> None:
    """List it among the skipped files, and not among the failures."""
    assert not [line for file, line in library.report.errors if Path(file).name == name]
    assert any(name in line for line in library.report.notices if "empty file" in line)
    entries, _ = library.collection.skipped.page(0, 100)
    assert [reason for file, reason in entries if Path(file).name == name] == ["is empty"]


@pytest.mark.parametrize("name", [name for name in BROKEN if name not in EMPTY])
def test_a_broken_file_is_one_line(library: Library, name: str) -> None:
    """That names it, says what to do, and is remembered."""
    lines = [line for file, line in library.report.errors if Path(file).name == name]
    assert len(lines) == 1
    assert lines[0].isprintable()
    assert lines[0].count(name) == 1
    entries, _ = library.collection.skipped.page(0, 100)
    assert [reason for file, reason in entries if Path(file).name == name and reason in lines[0]]


def test_nothing_is_lost_beside_broken_files(library: Library) -> None:
    assert {Path(each.name).name for each in library.collection.documents()} == set(MADE)
    assert (library.report.added, len(library.report.errors)) == (len(MADE), len(BROKEN) - len(EMPTY))
    assert library.collection.skipped.page(0, 1)[1] == len(BROKEN)
