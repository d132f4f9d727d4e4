"""The tables of a LanceDB store, and how they are opened.

`documents` has the rows of each document: the one with ordinal -1 is the document itself, the others are its chunks.
One more row, the state, is written anew by every commit: so two commits at a time contradict each other, and LanceDB
repeats the later one. In a folder an empty row with ordinal -3 takes the place of a removed one until the next upkeep:
a commit that adds rows and removes others would read the whole table. `made` has vectors whose document is still to
come.
"""

from __future__ import annotations

import json
import secrets
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import reduce
from operator import or_
from traceback import walk_tb
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from lancedb.db import DBConnection
from lancedb.expr import Expr, col, lit
from lancedb.index import FTS, BTree, IvfFlat
from lancedb.table import Table

from ...errors import StoreError, StoreFull
from ...text.lexical import RECIPE, Indexed, is_spaced
from ..folders import folder_of
from ..records import Ids, Vectors

VERSION = "1"
SCANNED = 50_000  # rows that a search by meaning reads one by one, rather than ask an index that may miss some
DOCUMENT, STATE, GONE = -1, -2, -3
CONFLICT_S = 30.0
_TABLE, _MADE = "documents", "made"
# Our words are cut at spaces and folded already.
_WORDS = FTS(
    base_tokenizer="whitespace",
    lower_case=False,
    stem=False,
    remove_stop_words=False,
    ascii_folding=False,
    max_token_length=None,
)

_INDICES = {"document": BTree(), "id": BTree(), "digest": BTree(), "plain": _WORDS, "forms": _WORDS}


class State(NamedTuple):
    """The state of the chunks: its name, the recipe of their words, and the files' parts that hold removed text."""

    identity: str
    words: str
    fragments: tuple[int, ...] = ()


def document_schema(dimension: int) -> pa.Schema:
    """The columns of `documents`."""
    return pa.schema(
        {
            "id": pa.int64(),
            "document": pa.string(),
            "ordinal": pa.int32(),
            "title": pa.string(),
            "text": pa.string(),
            "sha256": pa.binary(),
            "recipe": pa.string(),
            "outline": pa.string(),
            "chunks": pa.int32(),
            "ingested_at": pa.float64(),
            "place": pa.string(),
            "digest": pa.string(),
            "plain": pa.string(),
            "forms": pa.string(),
            "vector": pa.list_(pa.float32(), dimension),
        }
    )


def open_documents(connection: DBConnection, dimension: int) -> Table:
    """The table, made where it is not there. Raises StoreError where it is of another version or dimension."""
    table = _found(connection, _TABLE)
    if table is None:
        schema = document_schema(dimension).with_metadata({"hocket": VERSION})
        first = state_row(State(secrets.token_hex(8), RECIPE), schema)
        table = connection.create_table(_TABLE, first, schema=schema, on_bad_vectors="null")
    _check(table, connection.uri, dimension)
    known = {column for index in table.list_indices() for column in index.columns}
    for column, index in _INDICES.items():
        if column not in known:  # at first, or where whoever made the table died at once
            table.create_index(column, config=index)
    return table


def open_made(connection: DBConnection, dimension: int) -> Table:
    """The table of vectors that are made before their documents are stored: by whom, and when."""
    vector = pa.list_(pa.float32(), dimension)
    schema = pa.schema({"digest": pa.string(), "vector": vector, "at": pa.float64(), "by": pa.string()})
    made = _found(connection, _MADE)
    return connection.create_table(_MADE, schema=schema) if made is None else made


def index_vectors(table: Table) -> None:
    """Make the index of meaning, once there are so many chunks that one is worth it."""
    known = {column for index in table.list_indices() for column in index.columns}
    if "vector" not in known and table.count_rows(CHUNKS.to_sql()) > SCANNED:
        table.create_index("vector", config=IvfFlat(distance_type="dot"))


def all_words_indexed(table: Table) -> bool:
    """Tell whether the indices of words know every row but that of the state, which each commit writes."""
    found = [table.index_stats(f"{column}_idx") for column in ("plain", "forms")]
    return all(each is not None and each.num_unindexed_rows <= 1 for each in found)


def fold(table: Table) -> None:
    """Join small files and add new rows to the indices; LanceDB takes two rounds where an index has to come first."""
    for _ in range(2):
        table.optimize()


def drop_old(table: Table, *, unfinished: bool) -> None:
    """Delete the files of all versions but the last; with `unfinished` those that a killed writer left, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(2):  # the first may make a version itself, when it brings the indices up to date
            table.optimize(cleanup_older_than=timedelta(0), delete_unverified=unfinished)


def columns_of(indexed: Indexed) -> tuple[str, str]:
    """Return what the two indices of words hold of a text. A pair of characters can be found by its start: `x*`."""
    pairs = (word for word in indexed.plain.split(" ") if len(word) > 1 and not is_spaced(word[0]))
    begun = [f"{word[:end]}*" for word in pairs for end in range(1, len(word))]
    return " ".join([indexed.plain, *begun]), indexed.forms


def state_row(state: State, schema: pa.Schema) -> pa.Table:
    """The row of the state."""
    row = {"id": 0, "document": "", "ordinal": STATE, "text": json.dumps(state)}
    return pa.Table.from_pylist([row], schema=schema)


def gone_rows(ids: Ids, schema: pa.Schema) -> pa.Table:
    """Return empty rows, which no read finds, to take the place of the rows with these ids."""
    return pa.Table.from_pylist([{"id": id, "document": "", "ordinal": GONE} for id in ids.tolist()], schema=schema)


def drop_gone(table: Table) -> None:
    """Delete the empty rows that took the place of removed ones."""
    gone = (col("ordinal") == lit(GONE)).to_sql()
    if table.count_rows(gone):
        table.delete(gone)


def state_of(table: Table) -> State:
    """The state that the rows of this version are in."""
    text = rows_of(table, col("ordinal") == lit(STATE), "text")["text"][0].as_py()
    identity, words, fragments = json.loads(text)
    return State(identity, words, tuple(fragments))


def rows_of(table: Table, where: Expr | None, *columns: str) -> pa.Table:
    """Return these columns of all rows that meet the condition, in any order; `_rowid` may be one."""
    query = table.search().select([name for name in columns if name != "_rowid"])
    if where is not None:
        query = query.where(where)
    return query.with_row_id("_rowid" in columns).to_arrow()


CHUNKS = col("ordinal") >= lit(0)


def chunks_within(within: Sequence[str]) -> Expr:
    """The chunks of folders, of single documents, or all."""
    name = col("document")
    parts = [
        (name == lit(folder.name)) | ((name >= lit(folder.first)) & (name < lit(folder.end)))
        for folder in map(folder_of, within)
    ]
    return CHUNKS & reduce(or_, parts) if parts else CHUNKS


def one_of(column: str, values: Sequence[Any]) -> Expr:
    """Return the condition that a column has one of the values, of which there is at least one."""
    return col(column).isin(list(values))


def ids_in(rows: pa.Table) -> Ids:
    """The column of ids."""
    return np.asarray(rows["id"].to_numpy(), np.int64)


def vectors_in(rows: pa.Table, dimension: int) -> Vectors:
    """The column of vectors, [rows, dimension]."""
    flat = rows["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, np.float32).reshape(-1, dimension)


@contextmanager
def failing(place: str) -> Iterator[None]:
    """Raise LanceDB's errors as ours, with a remedy."""
    try:
        yield
    except (RuntimeError, OSError, ValueError) as error:
        if not _of_lancedb(error):
            raise
        text = " ".join(str(error).split())[:200]
        if any(sign in text for sign in ("No space left", "os error 28", "Disk quota")):
            raise StoreFull(f"{place} is full: {text}", "make room there, then repeat") from error
        remedy = "check that it can be reached and written; if it is damaged, ingest into another place"
        raise StoreError(f"{place}: {text}", remedy) from error


def repeated(write: Callable[[], object]) -> None:
    """Commit; repeat it, for up to CONFLICT_S seconds, while other writers come first."""
    until = time.monotonic() + CONFLICT_S
    while True:
        try:
            write()
        except RuntimeError as error:
            if "conflict" not in str(error).lower() and "concurrent" not in str(error).lower():
                raise
            if time.monotonic() > until:
                raise
        else:
            return


def _of_lancedb(error: BaseException) -> bool:
    modules = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    return any(module.partition(".")[0] == "lancedb" for module in modules)


def _found(connection: DBConnection, name: str) -> Table | None:
    try:
        return connection.open_table(name)
    except ValueError as error:
        if "not found" in str(error):
            return None
        raise


def _check(table: Table, place: str, dimension: int) -> None:
    facts = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    if facts.get("hocket") != VERSION:
        raise StoreError(
            f"{place}: store version {facts.get('hocket', 'unknown')}, this hocket reads {VERSION}",
            "use the hocket that wrote it, or name another place",
        )
    found = table.schema.field("vector").type.list_size
    if found != dimension:
        raise StoreError(
            f"{place}: its vectors have {found} dimensions, the embedder's {dimension}",
            "use the embedder that it was made with, or name another place and ingest again",
        )
