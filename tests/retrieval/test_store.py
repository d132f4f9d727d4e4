"""Laws of the document store and the dense index beside it."""

import resource
import sqlite3
from contextlib import closing, contextmanager, suppress

import numpy as np
import pytest

from hocket_bus.errors import BadConfiguration
from hocket_retrieval.collection import Collection
from hocket_retrieval.errors import StoreError, StoreFull, VectorsGone
from hocket_retrieval.stores.records import Document, NewChunk, digest
from hocket_retrieval.stores.sqlite.dense import DenseIndex
from hocket_retrieval.stores.sqlite.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path, toy):
    with opened(tmp_path, toy) as opened_store:
        yield opened_store


def opened(folder, toy):
    return SqliteStore(folder, toy.fingerprint, toy.dimension)


def put(store, toy, name, *fragments):
    digests = [digest(toy.fingerprint, piece) for piece in fragments]
    store.put_vectors(digests, toy.documents(list(fragments)))
    rows = [NewChunk(*row) for row in zip(fragments, digests, strict=True)]
    return store.put_document(Document(name, name, " ".join(fragments), b"", "recipe"), rows)


def test_a_new_version_takes_the_place_of_the_old(store, toy):
    """Putting a name again leaves only the new chunks, in the words' index too."""
    first = put(store, toy, "a", "red brick", "blue slate")
    second = put(store, toy, "a", "green glass")

    assert list(second.removed) == list(first.added)
    with store.moment() as moment:
        assert moment.totals() == (1, 1)
        assert list(moment.by_words("brick", 9)) == []
        assert list(moment.by_words("glass", 9)) == list(second.added)


def test_a_failed_put_changes_nothing(store, toy):
    """A document whose vectors are not all there is refused whole, and the old version stays."""
    put(store, toy, "a", "red brick")

    with pytest.raises(VectorsGone):
        store.put_document(Document("a", "a", "x", b"", "recipe"), [NewChunk("new text", digest("no", "vector"))])

    with store.moment() as moment:
        assert [chunk.text for chunk in moment.chunks(moment.by_words("brick", 9))] == ["red brick"]


def test_a_moment_stands_still(store, toy):
    """What is committed after a moment began is not seen in it."""
    put(store, toy, "a", "red brick")
    with store.moment() as moment:
        before = moment.totals()
        put(store, toy, "b", "blue slate")
        assert moment.totals() == before
    with store.moment() as moment:
        assert moment.totals() == (2, 2)


def test_equal_texts_share_a_vector_and_the_sweep_spares_used_ones(store, toy):
    """Removing one of two documents with the same text keeps the vector; removing both lets it go."""
    put(store, toy, "a", "red brick")
    put(store, toy, "b", "red brick")
    key = digest(toy.fingerprint, "red brick")

    for name, left in (("a", set()), ("b", {key})):
        store.remove([name])
        store.sweep()
        with store.moment() as moment:
            assert moment.missing([key]) == left


def test_a_foreign_file_and_another_version_are_refused(tmp_path, toy):
    """What is no store, or one of a later hocket, is a clear error and is left as it is."""
    file = tmp_path / "documents.sqlite"
    file.write_text("this is not a database, only a long enough line of text")
    with pytest.raises(StoreError, match="ingest the documents again"):
        opened(tmp_path, toy)
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="version 99"):
        opened(tmp_path, toy)


def test_one_process_at_a_time(tmp_path, toy):
    """A second collection in the same folder is refused while the first is open."""
    with Collection(tmp_path, toy), pytest.raises(StoreError, match="in use"):
        Collection(tmp_path, toy)
    Collection(tmp_path, toy).close()


def dense(folder, toy, store):
    index = DenseIndex(folder, toy.fingerprint, toy.dimension)
    with store.moment() as moment:
        index.open(moment.state(), moment.totals()[1], moment.vectors(toy.dimension))
    return index


def nearest(index, toy, text):
    return list(index.search(toy.query(text), 1))


def test_the_index_survives_on_disk(store, toy, tmp_path):
    """Saved and opened again, the index answers the same without the store's vectors being read."""
    change = put(store, toy, "a", "red brick", "blue slate")
    index = dense(tmp_path, toy, store)
    index.save()
    file = next(tmp_path.glob("dense-*.faiss"))
    stamp = file.stat().st_mtime_ns

    again = dense(tmp_path, toy, store)
    again.save()

    assert nearest(again, toy, "blue slate") == [change.added[1]]
    assert file.stat().st_mtime_ns == stamp


@pytest.mark.parametrize("harm", ["lost", "damaged", "stale"])
def test_a_lost_damaged_or_stale_index_is_rebuilt(store, toy, tmp_path, harm):
    """Whatever happened to the file, the index is what the store says."""
    put(store, toy, "a", "red brick")
    index = dense(tmp_path, toy, store)
    index.save()
    file = next(tmp_path.glob("dense-*.faiss"))
    if harm == "lost":
        file.unlink()
    elif harm == "damaged":
        file.write_bytes(file.read_bytes()[:100])
    change = put(store, toy, "b", "blue slate") if harm == "stale" else None

    again = dense(tmp_path, toy, store)
    again.save()

    assert len(again) == (2 if change else 1)
    assert nearest(again, toy, "red brick") == [1]
    assert len(list(tmp_path.glob("dense-*.faiss"))) == 1


def test_an_index_of_another_past_is_rebuilt(store, toy, tmp_path):
    """A copy of the store that is put back, and changed, has as many changes and chunks as the one the index is of."""
    put(store, toy, "a", "red brick")
    (tmp_path / "copy").mkdir()
    copy = sqlite3.connect(tmp_path / "copy" / "documents.sqlite")
    store._file._writer.backup(copy)
    copy.close()
    change = put(store, toy, "b", "blue slate")
    index = dense(tmp_path, toy, store)
    index.save()

    with opened(tmp_path / "copy", toy) as back:
        other = put(back, toy, "b", "green glass")
        again = dense(tmp_path, toy, back)
        assert list(other.added) == list(change.added)
        assert again._index.reconstruct(int(other.added[0])) == pytest.approx(toy.query("green glass"), abs=1e-3)


def test_a_store_of_an_earlier_version_is_opened(tmp_path, toy):
    """It has no name for its state yet; it gets one, and keeps it until it changes."""
    with opened(tmp_path, toy) as old:
        put(old, toy, "a", "red brick")
        old._file._writer.execute("DELETE FROM facts WHERE name = 'identity'")
    states = []
    for _ in range(2):
        with opened(tmp_path, toy) as again, again.moment() as moment:
            states.append(moment.state())
            assert (moment.totals(), moment.generation()) == ((1, 1), 1)
    assert states[0] == states[1]
    with opened(tmp_path, toy) as again:
        assert put(again, toy, "b", "blue slate").state.startswith("2-")


def test_the_index_follows_changes(store, toy, tmp_path):
    """After a change is applied, what went is not found and what came is."""
    old = put(store, toy, "a", "red brick")
    index = dense(tmp_path, toy, store)
    new = put(store, toy, "a", "blue slate")
    index.change(new.removed, [(new.added, toy.documents(["blue slate"]))], new.state)

    assert list(index.search(toy.query("red brick"), 5)) == list(new.added)
    assert not np.isin(old.added, new.added).any()


def test_an_index_that_cannot_be_saved_is_made_anew(tmp_path, toy, monkeypatch):
    """Also where its file cannot even be made: what was ingested is in the store."""

    def no_room(file):
        raise BadConfiguration(f"{file}: No space left on device")

    with Collection(tmp_path, toy) as collection:
        monkeypatch.setattr("hocket_retrieval.stores.sqlite.dense.keep_private", no_room)
        collection.add([("old", "", "red brick")])
        assert collection.search("red brick", 1).passages[0].document == "old"
    assert not list(tmp_path.glob("dense*"))
    monkeypatch.undo()
    with Collection(tmp_path, toy) as again:
        assert again.search("red brick", 1).passages[0].document == "old"


@contextmanager
def full_disk(file_bytes):
    """No file of this process may grow beyond that many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("file_bytes", [60_000, *(pytest.param(size, marks=pytest.mark.slow) for size in (0, 200_000))])
def test_a_full_disk_is_an_error_that_says_so_and_costs_nothing_stored(tmp_path, toy, file_bytes):
    """Whichever write fails, of the store or of the index: search goes on, and with room the same job is done."""
    new = [(f"new-{i}", "", " ".join(f"word{i}x{k}" for k in range(300))) for i in range(80)]
    with Collection(tmp_path, toy) as collection:
        collection.add([("old", "", "red brick")])
        with full_disk(file_bytes), pytest.raises(StoreFull, match="cannot be written.*make room"):
            collection.add(new)
        assert collection.search("red brick", 1).passages[0].document == "old"
        with full_disk(file_bytes), suppress(StoreFull):
            collection.remove(["old"])
        collection.add([("old", "", "red brick"), *new])
        assert collection.status().documents == 81
        assert collection.search("red brick", 1).passages[0].document == "old"
    with Collection(tmp_path, toy) as again:
        assert again.status().documents == 81
