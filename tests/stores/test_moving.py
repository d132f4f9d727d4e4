"""Laws of moving documents between stores: both hold the same afterwards, however often it was interrupted."""

from __future__ import annotations

from itertools import permutations

import pytest
from store_kinds import DIMENSION, KINDS, opened, put

from hocket_retrieval.collection import Collection
from hocket_retrieval.config import RetrievalConfig, StoreConfig
from hocket_retrieval.errors import StoreError
from hocket_retrieval.service.relocation import relocate
from hocket_retrieval.stores import moving
from hocket_retrieval.stores.moving import Moved, move
from toys import ToyEmbedder


@pytest.fixture
def places(tmp_path, request):
    """A place of each kind that is asked for."""

    def place(kind: str) -> str:
        if kind == "postgres":
            return request.getfixturevalue("database")
        if kind == "lancedb":
            pytest.importorskip("lancedb", reason="lancedb is not installed: hocket[lancedb]")
        (tmp_path / kind).mkdir()
        return str(tmp_path / kind)

    return place


def whole(store):
    """All that a store holds, but for ids."""
    with store.moment() as moment:
        documents = [moment.document(each.name) for each in moment.documents()]
        chunks = [
            (chunk.document, chunk.ordinal, chunk.title, chunk.text, chunk.place, chunk.vector.tobytes())
            for chunk in moment.chunks(moment.ids().tolist())
        ]
    return documents, sorted(chunks)


@pytest.mark.parametrize(("one", "other"), list(permutations(KINDS, 2)))
def test_both_hold_the_same_also_after_an_interruption(places, one, other):
    """Documents, places and vectors to the bit; what was copied before the interruption is not copied again."""
    source, target = opened(one, places(one)), opened(other, places(other))
    for number in range(6):
        put(source, f"/a/{number} 契約.txt", f"red brick {number}", "blue slate", "red brick")
    put(source, "/empty")

    def interrupt(done: int, _: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move(source, target, interrupt)
    assert move(source, target, lambda *_: None) == Moved(documents=7, copied=4, chunks=18)
    assert whole(target) == whole(source)
    assert move(source, target, lambda *_: None).copied == 0
    with source.moment() as here, target.moment() as there:
        texts = [[chunk.text for chunk in m.chunks(m.by_words("brick 4", 1))] for m in (here, there)]
        assert texts == [["red brick 4"]] * 2
    source.close()
    target.close()


def test_a_store_with_other_documents_is_left_alone(tmp_path, places):
    """Before anything is copied."""
    (tmp_path / "other").mkdir()
    source, target = opened("sqlite", places("sqlite")), opened("sqlite", str(tmp_path / "other"))
    put(source, "/a", "red brick")
    put(target, "/b", "blue slate")
    with pytest.raises(StoreError, match="/b") as caught:
        move(source, target, lambda *_: None)
    assert "empty store" in caught.value.remedy
    with target.moment() as moment:
        assert moment.totals() == (1, 1)


def test_a_difference_is_told(tmp_path, places, monkeypatch):
    """Whatever the other store made of it."""
    (tmp_path / "other").mkdir()
    source, target = opened("sqlite", places("sqlite")), opened("sqlite", str(tmp_path / "other"))
    put(source, "/a", "red brick")
    copied = moving._copy

    def lossy(moment, store, name):
        made = copied(moment, store, name)
        put(store, name, "red bric")
        return made

    monkeypatch.setattr(moving, "_copy", lossy)
    with pytest.raises(StoreError, match="differs"):
        move(source, target, lambda *_: None)


def test_a_daemon_finds_its_documents_in_the_new_store(tmp_path, places, monkeypatch):
    """A collection that ingested into SQLite, searches the same in LanceDB, and goes on there."""
    place = places("lancedb")
    toy = ToyEmbedder(dimension=DIMENSION)
    monkeypatch.setattr("hocket_retrieval.service.relocation.Embedder", lambda _: toy)
    file = tmp_path / "mill.md"
    file.write_text("# The mill\n\nIt stands by the harbour.\n\n# The oven\n\nRye bread.")
    state = tmp_path / "state"
    with Collection(state, toy) as collection:
        collection.ingest([file])
        before = collection.search("rye bread", 3).passages
        config = RetrievalConfig(endpoint="ipc:///x", state=str(state))
        with pytest.raises(StoreError, match="in use"):
            relocate(config, StoreConfig(kind="lancedb", place=place), lambda *_: None)
    store = StoreConfig(kind="lancedb", place=place)
    assert relocate(config, store, lambda *_: None).documents == 1
    with Collection(state, toy, store=store) as collection:
        assert collection.ingest([file]).unchanged == 1
        after = collection.search("rye bread", 3).passages
        assert [(each.text, each.place) for each in after] == [(each.text, each.place) for each in before]
        assert [each.score for each in after] == pytest.approx([each.score for each in before])
        collection.build()
        assert collection.graph.info().documents == 1
        collection.remove([str(file)])
        assert collection.search("rye bread", 3).passages == ()
        assert collection.graph.info().documents == 0


def test_what_another_daemon_stores_is_found_and_read_into_the_graph(tmp_path, places):
    """Two collections that share a store, each with a graph and a queue of its own."""
    store = StoreConfig(kind="lancedb", place=places("lancedb"))
    toy = ToyEmbedder(dimension=DIMENSION)
    text = "Then Ada Merrow met Tomas Quill near the harbour crane."
    with (
        Collection(tmp_path / "one", toy, store=store) as one,
        Collection(tmp_path / "two", toy, store=store) as two,
    ):
        one.add([("a", "", text)])
        assert two.search("Ada Merrow", 1).passages[0].text == text
        assert two.graph.is_behind()
        two.build()
        assert not two.graph.is_behind()
        assert two.graph.info().documents == 1
        one.remove(["a"])
        assert two.search("Ada Merrow", 1).passages == ()
        assert two.graph.is_behind()
        two.build()
        assert two.graph.info()[2:4] == (0, 0)
