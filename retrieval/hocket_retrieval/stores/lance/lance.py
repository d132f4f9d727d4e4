"""A store of documents in LanceDB: a folder, or a bucket such as s3://…; several daemons may share it.

One commit adds, replaces or removes documents whole, so a writer that dies leaves nothing behind that is ever read.
Rows that no index has yet are found by a scan; now and then, and at `save` and `purge`, the indices take them
in. Names of chunks are random, since many may write. In a folder, writers take turns; in a bucket LanceDB repeats the
commit of whoever comes second, and `purge` may cut off a read that another daemon is in.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.expr import col, lit
from lancedb.table import Table

from hocket_bus.errors import Unavailable
from hocket_bus.trust.private import private_folder

from ...errors import VectorsGone
from ...text.heads import Placed, searched
from ...text.lexical import RECIPE, indexed, language_of
from .. import retention
from ..folder_lock import held
from ..outlines import outline_text
from ..records import Change, Document, Ids, NewChunk, OnStored, Vectors, unobserved
from . import lance_table as tables
from .lance_moment import LanceMoment
from .lance_table import CHUNKS, DOCUMENT, State, failing, ids_in, one_of, rows_of, state_of

TENDED = 100, 1_000  # commits between two times that small files are joined, in a small store and in a large one
UNINDEXED = 50_000, 0.25  # rows that no index has yet: so many, or that share of all, are soon taken in
WRITE_S, READ_S = 120.0, 5.0  # to wait for another process of the same folder
_NONE = np.empty(0, dtype=np.int64)


class LanceStore:
    """The store at `place`: a folder, or an address that has `://` in it."""

    def __init__(self, place: str, dimension: int) -> None:
        """Open, or make, the store. Raises StoreError where it has another dimension or version."""
        self._place = place
        self._folder = None if "://" in place else Path(place)
        self._dimension = dimension
        self._idle: queue.SimpleQueue[tuple[Table, Table]] = queue.SimpleQueue()
        self._turn = threading.Lock()
        self._own = secrets.token_hex(8)
        if self._folder:
            private_folder(self._folder)
        with failing(place), self._held("writers.lock", WRITE_S):
            self._connection = lancedb.connect(place)
            self._made, self._table = self._open()
            self._tended, self._patience = self._table.version, TENDED[0]
            self._unindexed, self._most_unindexed = 0, UNINDEXED[0]
            self._renew()

    def close(self) -> None:
        """Release every table; reads under way must have ended."""
        while not self._idle.empty():
            self._idle.get()

    @contextmanager
    def moment(self) -> Iterator[LanceMoment]:
        """Yield a LanceMoment, whose reads all see one and the same state of the documents."""
        with failing(self._place), self._held("readers.lock", READ_S, together=True):
            try:
                made, table = self._idle.get_nowait()
            except queue.Empty:
                made, table = self._open()
            try:
                made.checkout_latest()  # first, since what leaves it has come into the other
                table.checkout_latest()
                yield LanceMoment(table, made, self._dimension)
            finally:
                self._idle.put((made, table))

    def put_vectors(self, digests: Sequence[bytes], vectors: Vectors) -> None:
        """Keep the vectors of texts, rows of `vectors` by digest; known digests are left as they are."""
        new = dict(zip((digest.hex() for digest in digests), np.asarray(vectors, np.float32), strict=True))
        if not new:
            return
        values, made_at = _arrow([*new.values()], self._dimension), time.time()
        columns = [list(new), values, [made_at] * len(new), [self._own] * len(new)]
        with self._writing():
            rows = pa.table(columns, schema=self._made.schema)
            write = self._made.merge_insert("digest").when_not_matched_insert_all()
            tables.repeated(lambda: write.execute(rows))

    def put_document(self, document: Document, chunks: Sequence[NewChunk], on_stored: OnStored = unobserved) -> Change:
        """Add the document, in place of its old version if there is one. The vectors of all chunks must be stored."""
        with self._writing():
            rows = self._rows_of(document, chunks)
            change = self._commit([document.name], rows)
            on_stored(len(chunks))
            self._unindexed += len(change.added)
            is_full = self._unindexed >= self._most_unindexed
            if is_full or self._table.version - self._tended >= self._patience:
                self._tend()
            return change

    def remove(self, names: Sequence[str]) -> Change:
        """Remove documents; unknown names are passed over."""
        with self._writing():
            return self._commit(names, self._table.schema.empty_table())

    def sweep(self) -> None:
        """Drop vectors that were made for documents: our own, and those that others made before `retention.KEPT_S`.

        A chunk has its vector with it.
        """
        with self._writing():
            self._made.delete((col("by") == lit(self._own)) | (col("at") < lit(time.time() - retention.KEPT_S)))

    def purge(self) -> None:
        """Let no file hold text that was removed.

        Versions of before, and what killed writers left, are deleted; in a bucket the latter only after a week. A
        bucket that keeps versions of its objects keeps theirs.
        """
        with self._writing():
            tables.drop_gone(self._table)
            for table in (self._made, self._table):
                tables.fold(table)
            self._rewrite()
            self._drop_old()

    def sync(self) -> None:
        """Let all that was written outlive a power cut; a bucket sees to that itself."""
        if self._folder:
            for path in [self._folder, *self._folder.rglob("*")]:
                _flush(path)

    def save(self) -> None:
        """Take all rows into the indices."""
        with self._writing():
            self._tend()

    # --- within a turn ----------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._turn, failing(self._place), self._held("writers.lock", WRITE_S):
            self._made.checkout_latest()
            self._table.checkout_latest()
            yield

    @contextmanager
    def _held(self, name: str, wait_s: float, *, together: bool = False) -> Iterator[None]:
        with ExitStack() as stack:
            if self._folder:
                stack.enter_context(held(self._folder / name, wait_s, together=together))
            yield

    def _open(self) -> tuple[Table, Table]:
        documents = tables.open_documents(self._connection, self._dimension)
        return tables.open_made(self._connection, self._dimension), documents

    def _rows_of(self, document: Document, chunks: Sequence[NewChunk]) -> pa.Table:
        language = language_of(document.text)
        digests = [new.digest.hex() for new in chunks]
        vectors = LanceMoment(self._table, self._made, self._dimension).vectors(digests)
        if {*digests} - vectors.keys():
            raise VectorsGone(document.name)
        placed = (Placed(document.name, document.title, new.place, new.text) for new in chunks)
        words = [tables.columns_of(indexed(searched(each), language)) for each in placed]
        count, schema = len(chunks), self._table.schema
        columns = {
            "id": _new_ids(1 + count),
            "document": [document.name] * (1 + count),
            "ordinal": [DOCUMENT, *range(count)],
            "title": [document.title] * (1 + count),
            "text": [document.text, *(new.text for new in chunks)],
            "sha256": [document.sha256] + [None] * count,
            "recipe": [document.recipe] * (1 + count),
            "outline": [outline_text(document.outline)] + [None] * count,
            "chunks": [count] + [None] * count,
            "ingested_at": [time.time()] + [None] * count,
            "place": [None, *(new.place for new in chunks)],
            "digest": [None, *digests],
            "plain": [None, *(plain for plain, _ in words)],
            "forms": [None, *(forms for _, forms in words)],
            "vector": _arrow([None, *(vectors[digest] for digest in digests)], self._dimension),
        }
        return pa.table(columns, schema=schema)

    def _commit(self, names: Sequence[str], rows: pa.Table) -> Change:
        """Make one commit: remove documents, add rows, and write a new state."""
        old = rows_of(self._table, one_of("document", names), "id", "ordinal", "_rowid") if names else None
        chunks = old.filter(pa.compute.greater_equal(old["ordinal"], 0)) if old else None
        removed = np.sort(ids_in(chunks)) if chunks else _NONE
        before = state_of(self._table)
        touched = {*before.fragments, *(_fragments(old) if old else ())}
        state = State(secrets.token_hex(8), before.words, tuple(sorted(touched)))
        # The index of ids would be asked together with a scan of what is not in it yet; a scan alone is faster.
        write = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().use_index(False)
        changed = pa.concat_tables([rows, tables.state_row(state, self._table.schema)])
        if self._folder and old:
            changed = pa.concat_tables([changed, tables.gone_rows(ids_in(old), self._table.schema)])
        elif names and not self._folder:  # another writer may have come meanwhile; every row is read for this
            write = write.when_not_matched_by_source_delete(one_of("document", names))
        tables.repeated(lambda: write.execute(changed, on_bad_vectors="null"))
        added = rows.filter(pa.compute.greater_equal(rows["ordinal"], 0))
        return Change(removed, ids_in(added), state.identity)

    def _rewrite(self) -> None:
        """Rewrite rows that share a part of a file with removed text, as folding leaves it where that is little."""
        state = state_of(self._table)
        rows = rows_of(self._table, None, "document", "_rowid")
        numbers = np.asarray(rows["_rowid"].to_numpy(), np.int64) >> 32
        beside = rows.filter(pa.array(np.isin(numbers, state.fragments)))["document"].unique().to_pylist()
        if beside:
            self._table.update(where=one_of("document", beside).to_sql(), values_sql={"recipe": "recipe"})
            tables.fold(self._table)
        if state.fragments:
            clean = tables.state_row(state._replace(fragments=()), self._table.schema)
            self._table.merge_insert("id").when_matched_update_all().execute(clean, on_bad_vectors="null")

    def _tend(self) -> None:
        tables.drop_gone(self._table)
        for table in (self._made, self._table):
            tables.fold(table)
        tables.index_vectors(self._table)
        self._drop_old()
        self._tended = self._table.version
        # Joining files writes most of them anew, so the more there is, the rarer it is done.
        rows = self._table.count_rows()
        self._patience = min(max(TENDED[0], rows // 100), TENDED[1])
        self._unindexed, self._most_unindexed = 0, max(UNINDEXED[0], int(UNINDEXED[1] * rows))

    def _drop_old(self) -> None:
        with ExitStack() as stack:
            with suppress(Unavailable):  # by then all reads have ended that began before the last commit
                stack.enter_context(self._held("readers.lock", READ_S))
            for table in (self._made, self._table):
                tables.drop_old(table, unfinished=self._folder is not None)

    def _renew(self) -> None:
        """Write the words of every document anew where another recipe made them."""
        state = state_of(self._table)
        if state.words == RECIPE:
            return
        heads = rows_of(self._table, col("ordinal") == lit(DOCUMENT), "document", "text")
        for name, text in zip(heads["document"].to_pylist(), heads["text"].to_pylist(), strict=True):
            rows = rows_of(self._table, CHUNKS & (col("document") == lit(name)), *self._table.schema.names)
            language = language_of(text)
            placed = zip(*(rows[column].to_pylist() for column in ("document", "title", "place", "text")), strict=True)
            words = [tables.columns_of(indexed(searched(Placed(*each)), language)) for each in placed]
            for column, values in zip(("plain", "forms"), zip(*words, strict=True), strict=False):
                rows = rows.set_column(rows.schema.get_field_index(column), column, pa.array(values, pa.string()))
            self._table.merge_insert("id").when_matched_update_all().execute(rows)
        done = tables.state_row(state._replace(words=RECIPE), self._table.schema)
        self._table.merge_insert("id").when_matched_update_all().execute(done, on_bad_vectors="null")


def _new_ids(count: int) -> list[int]:
    """Return new ids, ascending, that no other writer has."""
    return sorted(secrets.randbits(62) + 1 for _ in range(count))


def _fragments(rows: pa.Table) -> list[int]:
    """Return the parts of files that rows lie in: the upper half of their addresses."""
    numbers: Ids = np.unique(np.asarray(rows["_rowid"].to_numpy(), np.int64) >> 32)
    return list(map(int, numbers))


def _arrow(vectors: Sequence[Vectors | None], dimension: int) -> pa.Array:
    none = np.zeros(dimension, np.float32)
    values = np.concatenate([none if vector is None else vector for vector in vectors])
    missing = pa.array([vector is None for vector in vectors])
    return pa.FixedSizeListArray.from_arrays(pa.array(values, pa.float32()), dimension, mask=missing)


def _flush(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # of a version that was dropped meanwhile
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
