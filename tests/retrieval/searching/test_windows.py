"""Laws of passages that are longer than what is found: always cut at the same places, and never across a heading."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from hocket_retrieval.collection import Collection
from hocket_retrieval.searching.windows import following, size_of, text_of, window
from hocket_retrieval.text.heads import headed
from toys import ToyEmbedder

WORDS = 8  # of a chunk
VOCABULARY = ["anchor", "bakery", "copper", "dragon", "engine", "falcon", "garden", "harbour", "island", "kettle"]


def text_from(rng: random.Random) -> str:
    """Headings, and below each a few sentences or none."""
    parts = []
    for number in range(rng.randint(1, 6)):
        parts.append(f"# Part {number}")
        parts += [" ".join(rng.choices(VOCABULARY, k=rng.randint(3, 9))) + "." for _ in range(rng.randint(0, 12))]
    return "\n\n".join(parts)


@pytest.fixture(scope="module", params=range(4))
def filled(request, tmp_path_factory):
    """Random documents, and a table of which each row is a passage."""
    rng, folder = random.Random(request.param), tmp_path_factory.mktemp("files")
    for number in range(8):
        (folder / f"{number}.md").write_text(text_from(rng))
    rows = (f"{word},{rng.randint(1, 99)}" for word in VOCABULARY)
    (folder / "table.csv").write_text("\n".join(["name,number", *rows]))
    with Collection(tmp_path_factory.mktemp("state"), ToyEmbedder(), chunk_words=WORDS) as collection:
        collection.ingest([folder])
        yield collection


def chunks_by_document(moment):
    found = {}
    for chunk in moment.chunks(moment.ids().tolist()):
        found.setdefault(chunk.document, []).append(chunk)
    return found


@pytest.mark.parametrize("words", [1, WORDS, 2 * WORDS, 3 * WORDS + 1, 16 * WORDS])
def test_windows_part_each_document(filled, words):
    """Each chunk is in one window, whichever of its chunks was found; none has more words, or two places."""
    size = size_of(words, WORDS)
    with filled.store.moment() as moment:
        for document, chunks in chunks_by_document(moment).items():
            windows = [window(moment, document, chunk.ordinal, size) for chunk in chunks]
            for chunk, run in zip(chunks, windows, strict=True):
                assert chunk.ordinal in [each.ordinal for each in run]
                assert {each.place for each in run} == {chunk.place}
                assert len(text_of(run).split()) <= max(words, WORDS)
            distinct = list(dict.fromkeys(tuple(each.ordinal for each in run) for run in windows))
            assert [at for run in distinct for at in run] == [chunk.ordinal for chunk in chunks]
            for before, behind in pairwise(distinct):  # no longer window would have been possible
                starts_anew = behind[0] % size == 0
                assert starts_anew or chunks[before[-1]].place != chunks[behind[0]].place


def test_there_is_no_window_around_what_is_not_here(filled):
    with filled.store.moment() as moment:
        assert window(moment, "/no/such.txt", 0, 4) == []
        name = next(iter(chunks_by_document(moment)))
        assert window(moment, name, 10_000, 4) == []


@pytest.mark.parametrize("words", [0, 2 * WORDS, 5 * WORDS])
def test_what_is_found_stands_in_its_window(filled, words):
    """The best window has the chunk that is best alone; windows differ, are as many as asked, and are those listed."""
    size, rng = size_of(words, WORDS), random.Random(words)
    with filled.store.moment() as moment:
        listed = [text for _, text in following(moment, 0, 10_000, size)]
    for k in (1, 3, 7):
        query = " ".join(rng.choices(VOCABULARY, k=3))
        alone, found = filled.search(query, k).passages, filled.search(query, k, words=words).passages
        assert (found[0].document, found[0].ordinal) == (alone[0].document, alone[0].ordinal)
        assert found[0].score == pytest.approx(alone[0].score, abs=1e-6)
        texts = [each.text for each in found]
        assert len(texts) == len(set(texts)) == k
        assert set(map(headed, found)) <= set(listed)
        for each in found:
            with filled.store.moment() as moment:
                chunk = moment.chunk_at(each.document, each.ordinal)
            assert chunk.text in each.text
            assert chunk.place == each.place


def test_scores_of_windows_are_those_of_what_was_found(filled):
    """They can be asked for again by where they stand, so a text that grows is weighed as at its beginning."""
    query = "copper kettle"
    found = filled.search(query, 4, words=4 * WORDS).passages
    ranks = [each.rank for each in found]
    again = filled.score(query, [(each.document, each.ordinal) for each in found], ranks=ranks)
    assert again == pytest.approx([each.score for each in found], abs=1e-6)


def test_all_windows_are_listed_once_page_by_page(filled):
    """Also where no window begins on a page; the last page is empty, and no other."""
    with filled.store.moment() as moment:
        whole, size = following(moment, 0, 10_000, 8), 8
        paged, after = [], 0
        while page := following(moment, after, 2, size):
            paged += page
            after = page[-1][0]
    assert paged == whole
    assert len(whole) > 8


def test_a_row_of_a_table_is_read_alone(filled):
    """However long a passage may be: a reader of several rows takes one's value for another's."""
    with filled.store.moment() as moment:
        rows = [chunk for chunk in moment.chunks(moment.ids().tolist()) if Path(chunk.document).suffix == ".csv"]
        runs = [window(moment, chunk.document, chunk.ordinal, 64) for chunk in rows]
    assert len(rows) == len(VOCABULARY)
    assert [len(run) for run in runs] == [1] * len(rows)
