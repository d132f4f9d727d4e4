"""Laws of every store: a document is there whole or not at all, whoever writes, and what goes is gone."""

from __future__ import annotations

import random
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from store_kinds import DIMENSION, RECIPE, SHARED, put, vector_of
from write_and_die import NEW, OLD

from hocket_bus.errors import HocketError
from hocket_retrieval.errors import VectorsGone
from hocket_retrieval.stores import records, retention
from hocket_retrieval.stores.records import Document, NewChunk, digest
from processes import guarded, with_helpers

ODD = [
    "/a/b's \"x\".txt", "/a/b\\c", "/a/100%", "/a/1000", "/a/_x", "/a/yx", "/a/Überschrift – 契約.txt", "/a/{0}; --",
    "%s", "/a/\N{GRINNING FACE}", " ",
]  # fmt: skip
SHARES = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]


def texts_of(store, name: str) -> list[str]:
    with store.moment() as moment:
        document = moment.document(name)
        found = []
        while document and (chunk := moment.chunk_at(name, len(found))):
            found.append(chunk.text)
        return found


def test_a_document_comes_back_as_it_was_put(store):
    """Its fields, and its chunks with place, title, order and vector."""
    change = put(store, "/a/one", "red brick", "blue slate", "red brick")
    with store.moment() as moment:
        wanted = Document("/a/one", "Title of /a/one", "red brick\nblue slate\nred brick", b"sha", RECIPE)
        assert moment.document("/a/one") == wanted._replace(outline=((0, "p. 1"), (3, "p. 2")))
        assert moment.document("/a/on") is None
        chunks = list(moment.chunks([change.added[2], change.added[0], change.added[1]]))
        assert [(chunk.ordinal, chunk.text, chunk.place) for chunk in chunks] == [
            (2, "red brick", "p. 2"),
            (0, "red brick", "p. 0"),
            (1, "blue slate", "p. 1"),
        ]
        assert {chunk.title for chunk in chunks} == {"Title of /a/one"}
        assert chunks[0].vector_id == chunks[1].vector_id != chunks[2].vector_id
        for chunk in chunks:
            assert chunk.vector.dtype == np.float32
            assert chunk.vector == pytest.approx(vector_of(chunk.text))
        assert moment.chunk_at("/a/one", 3) is None
        assert moment.chunk_at("/a/one", -1) is None
        (info,) = moment.documents()
        assert info[:3] == ("/a/one", "Title of /a/one", 3)
        assert list(moment.chunks([0, 1 << 61])) == []


def test_a_new_version_takes_the_place_of_the_old(store):
    """In the words' index, too."""
    first = put(store, "a", "red brick", "blue slate")
    second = put(store, "a", "green glass")

    assert list(second.removed) == list(first.added)
    with store.moment() as moment:
        assert moment.totals() == (1, 1)
        assert moment.by_words("brick", 9) == {}
        assert list(moment.by_words("glass", 9)) == list(second.added)
        assert list(moment.by_meaning(vector_of("red brick"), 9)) == list(second.added)


def test_a_document_is_taken_in_part_by_part(store, monkeypatch):
    """In its order, and whole; how much of it is there is told on the way, and all in the end."""
    monkeypatch.setattr(records, "TAKEN_IN", 3)
    fragments = [f"brick {number}" for number in range(8)]
    put(store, "a", "older", "text")
    told: list[int] = []
    digests = [digest("toy", piece) for piece in fragments]
    store.put_vectors(digests, np.stack([vector_of(piece) for piece in fragments]))
    chunks = [NewChunk(piece, key) for piece, key in zip(fragments, digests, strict=True)]
    change = store.put_document(Document("a", "a", "\n".join(fragments), b"", RECIPE), chunks, told.append)
    assert texts_of(store, "a") == fragments
    assert told == sorted(told)
    assert told[-1] == len(fragments)
    with store.moment() as moment:
        assert [chunk.ordinal for chunk in moment.chunks(change.added)] == list(range(8))
        assert {*moment.by_words("brick", 9)} == {*change.added.tolist()}


def test_a_document_without_its_vectors_is_refused_whole(store):
    """And the old version stays, and so does the state."""
    put(store, "a", "red brick")
    with store.moment() as moment:
        before = moment.state()
    with pytest.raises(VectorsGone) as caught:
        store.put_document(Document("a", "a", "x", b"", RECIPE), [NewChunk("new text", digest("no", "vector"))])
    assert caught.value.remedy
    assert texts_of(store, "a") == ["red brick"]
    with store.moment() as moment:
        assert moment.state() == before


def test_a_follower_comes_to_the_same_ids(store, open_again):
    """By the changes alone, whoever made them; no state has the name of another one, and the generation grows."""
    rng = random.Random(4)
    stores = [store, open_again()]
    ids: set[int] = set()
    states, generations = set(), [-1]
    for step in range(24):
        writer, name = rng.choice(stores), f"/{rng.randrange(5)}"
        if rng.random() < 0.3:
            change = writer.remove([name, "/none", f"/{rng.randrange(5)}"])
        else:
            change = put(writer, name, *(f"text {step} {number}" for number in range(rng.randrange(4))))
        assert set(change.removed.tolist()) <= ids
        assert not set(change.added.tolist()) & ids
        ids = (ids - set(change.removed.tolist())) | set(change.added.tolist())
        with rng.choice(stores).moment() as moment:
            assert moment.ids().tolist() == sorted(ids)
            assert moment.state() == change.state
            assert moment.totals()[1] == len(ids)
            generations.append(moment.generation())
        states.add(change.state)
    assert len(states) == 24
    assert generations == sorted(set(generations))


def test_a_moment_stands_still(store):
    """What is committed after it began is not seen in it."""
    put(store, "a", "red brick")
    with store.moment() as moment:
        before = moment.ids().tolist()
        put(store, "b", "blue slate")
        store.remove(["a"])
        assert moment.ids().tolist() == before
        assert [chunk.text for chunk in moment.chunks(before)] == ["red brick"]
        assert list(moment.by_words("brick slate", 9)) == before
        assert set(moment.by_meaning(vector_of("blue slate"), 9)) <= set(before)


def test_removed_text_is_found_by_nothing(store):
    """In none of the reads, before a purge and after it, and through a save."""
    put(store, "/a/keep", "green glass")
    gone = put(store, "/a/go", "red brick", "green glass")
    store.save()
    removal = store.remove(["/a/go"])
    assert sorted(removal.removed) == sorted(gone.added)
    for finish in (store.sync, store.sweep, store.save, store.purge):
        finish()
        with store.moment() as moment:
            assert moment.totals() == (1, 1)
            assert moment.by_words("red brick", 9) == {}
            assert moment.frequency("brick", 9) == 0
            assert moment.documents_with("red", "brick") == []
            assert len(moment.by_meaning(vector_of("red brick"), 9)) == 1
            assert moment.document("/a/go") is None
            assert moment.chunk_at("/a/go", 0) is None
            assert [text for _, text in moment.texts(0, 9)] == ["green glass"]
            assert moment.located(gone.added) == []
            assert list(moment.chunks(gone.added)) == []
    with store.moment() as moment:
        assert moment.missing([digest("toy", "red brick"), digest("toy", "green glass")]) == {
            digest("toy", "red brick")
        }


@pytest.mark.parametrize("kind", SHARED, indirect=True)
def test_unused_vectors_go_with_a_sweep(store, open_again, monkeypatch):
    """One's own at once; another daemon's only after a day, since it may be about to store their document."""
    other = open_again()
    for each, text in ((store, "mine"), (other, "another's")):
        each.put_vectors([digest("toy", text)], np.stack([vector_of(text)]))
    wanted = [digest("toy", "mine"), digest("toy", "another's")]
    with store.moment() as moment:
        assert moment.missing([*wanted, b"0" * 16]) == {b"0" * 16}
    store.sweep()
    with store.moment() as moment:
        assert moment.missing(wanted) == {wanted[0]}
    monkeypatch.setattr(retention, "KEPT_S", -1.0)
    store.sweep()
    with store.moment() as moment:
        assert moment.missing(wanted) == {*wanted}


def test_known_vectors_are_left_as_they_are(store):
    """Whichever table they are in by then."""
    put(store, "a", "red brick")
    store.put_vectors([digest("toy", "red brick")], np.stack([vector_of("other")]))
    store.sweep()
    put(store, "b", "red brick")
    with store.moment() as moment:
        assert [chunk.vector for chunk in moment.chunks(moment.ids())] == [pytest.approx(vector_of("red brick"))] * 2


def test_stale_documents_are_those_of_another_recipe(store):
    """By name."""
    put(store, "a", "red", recipe="old")
    put(store, "b", "blue")
    put(store, "c", recipe="older")
    with store.moment() as moment:
        assert sorted(moment.stale(RECIPE)) == ["a", "c"]


def test_texts_come_in_pages(store):
    """In the order of their ids, none twice and none left out."""
    for number in range(4):
        put(store, f"/{number}", *(f"text {number} {piece}" for piece in range(5)))
    pages, after = [], 0
    with store.moment() as moment:
        while page := moment.texts(after, 7):
            pages.append(page)
            after = page[-1][0]
        assert [len(page) for page in pages] == [7, 7, 6]
        assert [id for page in pages for id, _ in page] == moment.ids().tolist()
        assert {text for page in pages for _, text in page} == {f"text {n} {p}" for n in range(4) for p in range(5)}
        names = {(name, ordinal) for _, name, ordinal in moment.located(moment.ids())}
        assert names == {(f"/{number}", piece) for number in range(4) for piece in range(5)}


def test_neighbours_are_read_in_their_order(store):
    """Of one document alone, as far as there are any."""
    for name in ("/a", "/a/b", "/b"):
        put(store, name, *(f"{name} {piece}" for piece in range(12)))
    with store.moment() as moment:
        for first, end in ((0, 4), (9, 20), (12, 20), (5, 5)):
            found = moment.chunks_of("/a", first, end)
            assert [chunk.text for chunk in found] == [f"/a {piece}" for piece in range(first, min(end, 12))]
            for chunk in found:
                alone = moment.chunk_at("/a", chunk.ordinal)
                assert alone[:-1] == chunk[:-1]
                assert np.array_equal(alone.vector, chunk.vector)
        assert moment.chunks_of("/no/such", 0, 4) == []


def test_names_are_taken_as_they_are(store):
    """Whatever is in them; what they begin with is no folder."""
    for name in ODD:
        put(store, name, f"brick {ODD.index(name)}")
    with store.moment() as moment:
        assert [info.name for info in moment.documents()] == sorted(ODD, key=str.encode)
        for name in ODD:
            for found in (moment.by_words("brick", 99, (name,)), moment.by_meaning(vector_of("x"), 99, (name,))):
                assert [chunk.document for chunk in moment.chunks(found)] == [name]
    store.remove(ODD[:-1])
    with store.moment() as moment:
        assert [info.name for info in moment.documents()] == ODD[-1:]


def test_text_is_taken_as_it_is(store):
    """But for U+0000, which may become a space; a word of any length is one."""
    text = "nul\0character 'quoted' \\ \N{GRINNING FACE} 契約" + " " + "x" * 5_000
    put(store, "a", text)
    assert texts_of(store, "a")[0].replace("\0", " ") == text.replace("\0", " ")
    with store.moment() as moment:
        for query in ("quoted", "契約", "x" * 5_000, "character"):
            assert len(moment.by_words(query, 9)) == 1, query


def test_an_empty_store_answers(store):
    """With nothing."""
    for finish in (store.sweep, store.purge, store.save, store.sync):
        finish()
    with store.moment() as moment:
        assert moment.totals() == (0, 0)
        assert moment.by_words("brick", 9) == moment.by_meaning(vector_of("x"), 9, ("/a",)) == {}
        assert moment.ids().tolist() == moment.documents() == moment.stale("") == moment.texts(0, 9) == []
        assert moment.frequency("brick", 9) == 0
        assert moment.document("a") is None
        assert moment.missing([]) == set()
    put(store, "a")
    with store.moment() as moment:
        assert moment.totals() == (1, 0)
        assert moment.by_words("brick", 9) == {}


@pytest.mark.parametrize("kind", SHARED, indirect=True)
def test_two_that_share_a_store_see_each_other(store, open_again):
    """At the next moment."""
    other = open_again()
    added = put(store, "a", "red brick").added
    with other.moment() as moment:
        assert list(moment.by_words("brick", 9)) == list(moment.by_meaning(vector_of("x"), 9)) == list(added)
    other.remove(["a"])
    other.purge()
    with store.moment() as moment:
        assert moment.by_words("brick", 9) == moment.by_meaning(vector_of("x"), 9) == {}


def run_writer(kind: str, place: str, *arguments: object) -> subprocess.Popen[str]:
    """A writer in a process of its own."""
    program = str(Path(__file__).with_name("write_and_die.py"))
    command = [sys.executable, program, kind, place, *map(str, arguments)]
    return subprocess.Popen(command, env=with_helpers(), stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("kind", SHARED, indirect=True)
@pytest.mark.parametrize("others", [["one"], pytest.param(["one", "two", "three"], marks=pytest.mark.long)])
def test_writers_at_the_same_time_lose_nothing(kind, place, store, others):
    """Each in a process of its own; of a document that all write, one version is there, whole."""
    with ExitStack() as stack:
        processes = [stack.enter_context(guarded(run_writer(kind, place, name, 6, 0))) for name in others]
        for number in range(6):
            put(store, f"own/{number}", f"own writes {number}", "every writer has this")
        errors = [process.communicate()[1] for process in processes]
        assert {process.returncode for process in processes} == {0}, errors
    names = {f"{name}/{number}" for name in ("own", *others) for number in range(6)}
    with store.moment() as moment:
        assert {info.name for info in moment.documents()} == names | {"shared"}
        assert moment.totals() == (len(names) + 1, 2 * len(names) + 2)
        assert len(moment.ids()) == len({*moment.ids().tolist()}) == 2 * len(names) + 2
    for name in names:
        writer, _, number = name.partition("/")
        assert texts_of(store, name) == [f"{writer} writes {number}", "every writer has this"]
    assert texts_of(store, "shared") in [[f"shared as {name} 5", "every writer has this"] for name in others]


@pytest.mark.parametrize(
    "share", [share if share == 0.45 else pytest.param(share, marks=pytest.mark.long) for share in SHARES]
)
def test_a_killed_writer_leaves_all_or_nothing(kind, place, open_again, share):
    """Wherever in its work it dies; who comes next can write and purge."""
    with guarded(run_writer(kind, place, "one", 0, share)) as process:
        process.communicate()
    store = open_again()
    found = texts_of(store, "victim")
    assert found in (OLD, NEW)
    with store.moment() as moment:
        assert moment.totals() == (1, len(found)) == (1, len(moment.ids()))
        assert len(moment.by_words("harbour", 999)) == (len(OLD) if found == OLD else 0)
        assert len(moment.by_words("bakery", 999)) == (len(NEW) if found == NEW else 0)
        assert len(moment.by_meaning(vector_of("x"), 999)) == len(found)
    put(store, "victim", "the last")
    store.purge()
    assert texts_of(store, "victim") == ["the last"]


@pytest.mark.parametrize("kind", SHARED, indirect=True)
def test_another_dimension_is_refused(store, open_again):
    """In one line with what to do."""
    with pytest.raises(HocketError, match=f"{DIMENSION} dimensions") as caught:
        open_again(DIMENSION + 1)
    assert "\n" not in str(caught.value)
    assert "embedder" in caught.value.remedy


def test_words_of_another_recipe_are_made_anew(store, open_again, monkeypatch):
    """At the next opening, and all is found as before."""
    put(store, "/a", "red bricks of 契約", "blue slates")
    put(store, "/b")
    with store.moment() as moment:
        wanted = [list(moment.by_words(query, 9)) for query in ("brick", "slate", "契約", "約")]
        ids = moment.ids().tolist()
    assert all(wanted)
    for module in (
        "sqlite.word_index",
        "lance.lance",
        "lance.lance_table",
        "postgres.postgres",
        "postgres.postgres_schema",
    ):
        monkeypatch.setattr(f"hocket_retrieval.stores.{module}.RECIPE", "another")
    with open_again().moment() as moment:
        assert [list(moment.by_words(query, 9)) for query in ("brick", "slate", "契約", "約")] == wanted
        assert moment.ids().tolist() == ids
        assert moment.totals() == (2, 2)
