"""Laws of the document store and the dense index beside it."""

import resource
import sqlite3
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from hocket_bus.errors import BadConfiguration
from hocket_retrieval.collection import Collection
from hocket_retrieval.dense import DenseIndex
from hocket_retrieval.errors import StoreError, StoreFull
from hocket_retrieval.graph_tables import Tables
from hocket_retrieval.lexical import match_expression
from hocket_retrieval.snapshot import Document, NewChunk
from hocket_retrieval.store import Store, digest

BEFORE_PLACES = "ALTER TABLE documents DROP COLUMN outline; ALTER TABLE chunks DROP COLUMN place;"


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "documents.sqlite") as opened:
        yield opened


def put(store, toy, name, *pieces):
    digests = [digest(toy.fingerprint, piece) for piece in pieces]
    store.put_vectors(digests, toy.documents(list(pieces)))
    rows = [NewChunk(*row) for row in zip(pieces, digests, strict=True)]
    return store.put_document(Document(name, name, " ".join(pieces), b"", "recipe"), rows)


def test_a_new_version_takes_the_place_of_the_old(store, toy):
    """Putting a name again leaves only the new chunks, in the words' index too."""
    first = put(store, toy, "a", "red brick", "blue slate")
    second = put(store, toy, "a", "green glass")

    assert list(second.removed) == list(first.added)
    with store.snapshot() as snapshot:
        assert snapshot.totals() == (1, 1)
        assert list(snapshot.by_words('"brick"', 9)) == []
        assert list(snapshot.by_words('"glass"', 9)) == list(second.added)


def test_a_failed_put_changes_nothing(store, toy):
    """A document whose vectors are not all there is refused whole, and the old version stays."""
    put(store, toy, "a", "red brick")

    with pytest.raises(sqlite3.IntegrityError):
        store.put_document(Document("a", "a", "x", b"", "recipe"), [NewChunk("new text", digest("no", "vector"))])

    with store.snapshot() as snapshot:
        assert [chunk.text for chunk in snapshot.chunks(snapshot.by_words('"brick"', 9))] == ["red brick"]


def test_a_snapshot_stands_still(store, toy):
    """What is committed after a snapshot began is not seen in it."""
    put(store, toy, "a", "red brick")
    with store.snapshot() as snapshot:
        before = snapshot.totals()
        put(store, toy, "b", "blue slate")
        assert snapshot.totals() == before
    with store.snapshot() as snapshot:
        assert snapshot.totals() == (2, 2)


def test_equal_texts_share_a_vector_and_the_sweep_spares_used_ones(store, toy):
    """Removing one of two documents with the same text keeps the vector; removing both lets it go."""
    put(store, toy, "a", "red brick")
    put(store, toy, "b", "red brick")
    key = digest(toy.fingerprint, "red brick")

    for name, left in (("a", set()), ("b", {key})):
        store.remove([name])
        store.sweep()
        with store.snapshot() as snapshot:
            assert snapshot.missing([key]) == left


def test_a_foreign_file_and_another_version_are_refused(tmp_path):
    """What is no store, or one of a later hocket, is a clear error and is left as it is."""
    junk = tmp_path / "junk.sqlite"
    junk.write_text("this is not a database, only a long enough line of text")
    with pytest.raises(StoreError, match="ingest the documents again"):
        Store(junk)
    later = tmp_path / "later.sqlite"
    connection = sqlite3.connect(later)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="version 99"):
        Store(later)


def test_one_process_at_a_time(tmp_path, toy):
    """A second collection in the same folder is refused while the first is open."""
    with Collection(tmp_path, toy), pytest.raises(StoreError, match="in use"):
        Collection(tmp_path, toy)
    Collection(tmp_path, toy).close()


def nearest(index, toy, text):
    return list(index.search(toy.query(text), 1))


def test_the_index_survives_on_disk(store, toy, tmp_path):
    """Saved and opened again, the index answers the same without the store's vectors being read."""
    change = put(store, toy, "a", "red brick", "blue slate")
    index = DenseIndex(tmp_path, toy.fingerprint, toy.dimension)
    index.open(store)
    index.save()
    file = next(tmp_path.glob("dense-*.faiss"))
    stamp = file.stat().st_mtime_ns

    again = DenseIndex(tmp_path, toy.fingerprint, toy.dimension)
    again.open(store)
    again.save()

    assert nearest(again, toy, "blue slate") == [change.added[1]]
    assert file.stat().st_mtime_ns == stamp


@pytest.mark.parametrize("harm", ["lost", "damaged", "stale"])
def test_a_lost_damaged_or_stale_index_is_rebuilt(store, toy, tmp_path, harm):
    """Whatever happened to the file, the index is what the store says."""
    put(store, toy, "a", "red brick")
    index = DenseIndex(tmp_path, toy.fingerprint, toy.dimension)
    index.open(store)
    index.save()
    file = next(tmp_path.glob("dense-*.faiss"))
    if harm == "lost":
        file.unlink()
    elif harm == "damaged":
        file.write_bytes(file.read_bytes()[:100])
    change = put(store, toy, "b", "blue slate") if harm == "stale" else None

    again = DenseIndex(tmp_path, toy.fingerprint, toy.dimension)
    again.open(store)
    again.save()

    assert len(again) == (2 if change else 1)
    assert nearest(again, toy, "red brick") == [1]
    assert len(list(tmp_path.glob("dense-*.faiss"))) == 1


def test_an_index_of_another_past_is_rebuilt(store, toy, tmp_path):
    """A copy of the store that is put back, and changed, has as many changes and chunks as the one the index is of."""
    put(store, toy, "a", "red brick")
    copy = sqlite3.connect(tmp_path / "copy.sqlite")
    store._writer.backup(copy)
    copy.close()
    change = put(store, toy, "b", "blue slate")
    index = DenseIndex(tmp_path, toy.fingerprint, toy.dimension)
    index.open(store)
    index.save()

    with Store(tmp_path / "copy.sqlite") as back:
        other = put(back, toy, "b", "green glass")
        again = DenseIndex(tmp_path, toy.fingerprint, toy.dimension)
        again.open(back)
        assert list(other.added) == list(change.added)
        assert again._index.reconstruct(int(other.added[0])) == pytest.approx(toy.query("green glass"), abs=1e-3)


def test_a_store_of_an_earlier_version_is_opened(tmp_path, toy):
    """It has no name for its state yet; it gets one, and keeps it until it changes."""
    with Store(tmp_path / "documents.sqlite") as old:
        put(old, toy, "a", "red brick")
        old._writer.execute("DELETE FROM facts WHERE name = 'identity'")
    states = []
    for _ in range(2):
        with Store(tmp_path / "documents.sqlite") as again, again.snapshot() as snapshot:
            states.append(snapshot.state())
            assert (snapshot.totals(), snapshot.generation()) == ((1, 1), 1)
    assert states[0] == states[1]
    with Store(tmp_path / "documents.sqlite") as again:
        assert put(again, toy, "b", "blue slate").state.startswith("2-")


def test_a_store_from_before_engines_gets_their_tables(tmp_path, toy):
    """What it holds stays; its graph was read by the rules."""
    with Store(tmp_path / "documents.sqlite") as old:
        put(old, toy, "a", "red brick")
        old._writer.executescript(
            "DROP TABLE stated; DROP TABLE fallen; DELETE FROM facts WHERE name IN ('extractor', 'words');"
            f"{BEFORE_PLACES} ALTER TABLE documents DROP COLUMN language; PRAGMA user_version = 3"
        )
    for _ in range(2):
        with Store(tmp_path / "documents.sqlite") as again, again.reading() as connection:
            assert Tables(connection).stated() == {}
            assert Tables(connection).fallen_count() == 0
            assert connection.execute("SELECT value FROM facts WHERE name = 'extractor'").fetchone() == ("rules",)
            assert Tables(connection).unread_count() == 1


def test_a_store_from_before_pairs_gets_an_index_of_its_words(tmp_path, toy):
    """Its texts are found by words of any script, none is embedded again, and what is removed then is not found."""
    with Store(tmp_path / "documents.sqlite") as old:
        put(old, toy, "a", "red bricks", "\u6570\u636e\u5e93\u5927\u697c")
        old._writer.executescript(
            f"""DROP TABLE words; DELETE FROM facts WHERE name = 'words'; {BEFORE_PLACES}
            ALTER TABLE documents DROP COLUMN language;
            CREATE VIRTUAL TABLE words USING fts5 (text, content = 'chunks', content_rowid = 'id');
            CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
                INSERT INTO words (rowid, text) VALUES (new.id, new.text); END;
            CREATE TRIGGER chunk_removed AFTER DELETE ON chunks BEGIN
                INSERT INTO words (words, rowid, text) VALUES ('delete', old.id, old.text); END;
            INSERT INTO words (words) VALUES ('rebuild'); PRAGMA user_version = 4"""
        )
    for recipe in ("of version 4", "of another stemmer"):
        with Store(tmp_path / "documents.sqlite") as again:
            with again.snapshot() as snapshot:
                for query in ("brick", "\u636e\u5e93"):
                    assert len(snapshot.by_words(match_expression(query), 9)) == 1, recipe
            again._writer.execute("UPDATE facts SET value = 'another' WHERE name = 'words'")
    with Store(tmp_path / "documents.sqlite") as again:
        put(again, toy, "a", "blue slate")
        with again.snapshot() as snapshot:
            assert not snapshot.by_words(match_expression("bricks"), 9)


def test_the_index_follows_changes(store, toy, tmp_path):
    """After a change is applied, what went is not found and what came is."""
    old = put(store, toy, "a", "red brick")
    index = DenseIndex(tmp_path, toy.fingerprint, toy.dimension)
    index.open(store)
    new = put(store, toy, "a", "blue slate")
    index.change(new.removed, [(new.added, toy.documents(["blue slate"]))], new.state)

    assert list(index.search(toy.query("red brick"), 5)) == list(new.added)
    assert not np.isin(old.added, new.added).any()


def test_an_index_that_cannot_be_saved_is_made_anew(tmp_path, toy, monkeypatch):
    """Also where its file cannot even be made: what was ingested is in the store."""

    def no_room(file):
        raise BadConfiguration(f"{file}: No space left on device")

    with Collection(tmp_path, toy) as collection:
        monkeypatch.setattr("hocket_retrieval.dense.keep_private", no_room)
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
