"""Laws of the LanceDB store alone: its files, and writers that no lock keeps apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_kinds import opened, put, vector_of
from test_documents import run_writer, texts_of

from hocket_bus.errors import Unavailable
from hocket_retrieval.errors import StoreError
from hocket_retrieval.stores.folder_lock import held
from processes import guarded

pytestmark = pytest.mark.slow

MANY = [f"piece {number} of a long document" for number in range(300)]


@pytest.fixture(scope="module", autouse=True)
def lancedb():
    return pytest.importorskip("lancedb", reason="lancedb is not installed: hocket[lancedb]")


@pytest.fixture
def place(tmp_path):
    return str(tmp_path / "lance")


@pytest.fixture
def store(place):
    return opened("lancedb", place)


def row_files(place: str) -> set[Path]:
    """The files that hold the rows of documents."""
    return {*Path(place, "documents.lance", "data").iterdir()}


@pytest.mark.parametrize("folds", [pytest.param(True, marks=pytest.mark.long), False])
def test_no_file_that_held_removed_text_is_left(place, store, monkeypatch, folds):
    """Even where it was little beside much, and whether joining files has written the rest anew or not."""
    put(store, "many", *MANY)
    put(store, "one", "a secret of one word: xyzzyplugh")
    store.purge()
    before = row_files(place)
    store.remove(["one"])
    if not folds:
        monkeypatch.setattr("hocket_retrieval.stores.lance.lance_table.fold", lambda table: None)
    store.purge()
    assert not row_files(place) & before
    monkeypatch.undo()
    assert texts_of(store, "many") == MANY
    with store.moment() as moment:
        assert len(moment.by_words("piece", 999)) == len(moment.by_meaning(vector_of("x"), 999)) == len(MANY)


def test_a_removed_word_leaves_the_index_of_words(place, store):
    """The words of a thousand are no longer in any file: it is as large as it was before they came."""
    put(store, "many", *MANY)
    store.purge()

    def size() -> int:
        return sum(path.stat().st_size for path in Path(place).rglob("*tokens*"))

    before = size()
    put(store, "one", *(" ".join(f"q{number * 37:x}z{number}" for number in range(500)) for _ in range(2)))
    store.purge()
    assert size() > before + 1_000
    store.remove(["one"])
    store.purge()
    assert size() == before


def test_many_writes_leave_few_files(place, store, monkeypatch):
    """They are joined now and then, and old versions go; not at a purge alone."""
    monkeypatch.setattr("hocket_retrieval.stores.lance.lance.TENDED", (10, 10))
    store.save()
    for number in range(30):
        put(store, f"/{number}", f"text {number}")
    assert len(list(Path(place, "documents.lance", "data").iterdir())) < 15
    assert len(list(Path(place, "documents.lance", "_versions").iterdir())) < 20
    with store.moment() as moment:
        assert len(moment.by_words("text", 99)) == 30


def test_few_rows_wait_for_their_indices(place, store, lancedb, monkeypatch):
    """However many a document has: a search reads each of them. Of a large store a quarter may wait."""
    monkeypatch.setattr("hocket_retrieval.stores.lance.lance.UNINDEXED", (20, 0.25))
    store.save()
    for number in range(12):
        put(store, f"/{number}", *(f"text {number} {piece}" for piece in range(10)))
        table = lancedb.connect(place).open_table("documents")
        rows = table.count_rows()
        for column in ("plain", "forms"):
            stats = table.index_stats(f"{column}_idx")
            assert stats is not None
            assert stats.num_unindexed_rows <= max(20, rows // 4) + 4  # rows of documents and of the state
    with store.moment() as moment:
        assert len(moment.by_words("text", 999)) == 120


@pytest.mark.long
def test_without_a_lock_writers_lose_nothing_either(tmp_path):
    """As in a bucket: whoever comes second is repeated."""
    place = f"file://{tmp_path}/lance"
    store = opened("lancedb", place)
    with guarded(run_writer("lancedb", place, "one", 5, 0)) as one:
        for number in range(5):
            put(store, f"two/{number}", f"two writes {number}", "every writer has this")
            put(store, "shared", f"shared as two {number}", "every writer has this")
        errors = one.communicate()[1]
        assert one.returncode == 0, errors
    with store.moment() as moment:
        names = {f"{name}/{number}" for name in ("one", "two") for number in range(5)} | {"shared"}
        assert [info.name for info in moment.documents()] == sorted(names)
        assert moment.totals() == (11, 22)
    store.purge()
    assert len(texts_of(store, "shared")) == 2


@pytest.mark.parametrize("upkeep", ["save", "purge"])
def test_what_stands_for_removed_rows_goes_with_upkeep(place, store, lancedb, upkeep):
    """Until then it is no document and no chunk."""
    put(store, "one", "red brick", "blue slate")
    put(store, "two", *MANY)
    put(store, "one", "green glass")
    store.remove(["two"])

    def rows() -> int:
        return lancedb.connect(place).open_table("documents").count_rows()

    assert rows() > len(MANY)
    with store.moment() as moment:
        assert moment.totals() == (1, 1) == (len(moment.documents()), len(moment.ids()))
        assert len(moment.texts(0, 999)) == len(moment.by_meaning(vector_of("x"), 999)) == 1
    getattr(store, upkeep)()
    assert rows() == 3  # a document, its chunk, and the state


def test_a_damaged_store_is_told_in_one_line(place, store):
    """With what to do."""
    put(store, "a", "red brick")
    for path in Path(place, "documents.lance", "_versions").iterdir():
        path.write_bytes(b"damaged")
    with pytest.raises(StoreError, match="lance") as caught:
        opened("lancedb", place)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy


def test_a_version_of_a_later_hocket_is_refused(place, monkeypatch):
    """It says which."""
    monkeypatch.setattr("hocket_retrieval.stores.lance.lance_table.VERSION", "99")
    opened("lancedb", place).close()
    monkeypatch.undo()
    with pytest.raises(StoreError, match="version 99"):
        opened("lancedb", place)


def test_errors_of_whoever_reads_are_not_the_stores(store):
    """They pass as they are."""
    with pytest.raises(ValueError, match="mine"), store.moment():
        raise ValueError("mine")


def test_a_purge_waits_for_reads_but_not_for_ever(place, store, monkeypatch):
    """Where one is in the way for long, what was removed goes all the same."""
    monkeypatch.setattr("hocket_retrieval.stores.lance.lance.READ_S", 0.01)
    put(store, "a", "red brick")
    before = row_files(place)
    store.remove(["a"])
    with store.moment():
        store.purge()
    assert not row_files(place) & before


def test_a_lock_is_waited_for_so_long(tmp_path):
    """Together with others, not beside one who holds it alone."""
    file = tmp_path / "lock"
    with held(file, 0, together=True), held(file, 0, together=True), pytest.raises(Unavailable), held(file, 0.01):
        pass
    with held(file, 0), pytest.raises(Unavailable), held(file, 0.01, together=True):
        pass
    with held(file, 0):
        pass
