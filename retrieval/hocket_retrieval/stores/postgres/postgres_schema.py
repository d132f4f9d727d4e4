"""The tables of a PostgreSQL store, in a schema of their own. Names are compared by their bytes."""

from __future__ import annotations

import secrets
from typing import Any

from psycopg import Connection, errors
from psycopg.sql import SQL, Literal

from ...errors import StoreError
from ...text.lexical import RECIPE

VERSION = 1
INDEXED_DIMENSION = 4_000  # pgvector's HNSW takes no more numbers of half precision
_OPENED_BY_ONE = 7_305_807_129_601  # advisory locks: any numbers that nobody else takes
_INDEXED_BY_ONE = 7_305_807_129_602
_MIB_OF_INDEX = 64, 4_096  # at least and at most, for the server to build an index in
_WAITS = "10min"
_LINKS_BYTES = 1_024  # that a vector has in it, beside its numbers
_SCHEMA = """
CREATE SCHEMA hocket;
CREATE TABLE hocket.facts (
    one boolean PRIMARY KEY DEFAULT true CHECK (one), version int NOT NULL, words text NOT NULL,
    generation bigint NOT NULL DEFAULT 0, identity text NOT NULL,
    documents bigint NOT NULL DEFAULT 0, chunks bigint NOT NULL DEFAULT 0);
CREATE TABLE hocket.documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, title text NOT NULL,
    text text NOT NULL, sha256 bytea NOT NULL, recipe text NOT NULL, outline text NOT NULL,
    chunks int NOT NULL, ingested_at double precision NOT NULL);
CREATE TABLE hocket.vectors (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, digest bytea NOT NULL UNIQUE,
    vector vector({dimension}) NOT NULL, made_by text NOT NULL, made_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE hocket.chunks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document bigint NOT NULL REFERENCES hocket.documents ON DELETE CASCADE, ordinal int NOT NULL,
    vector bigint NOT NULL REFERENCES hocket.vectors, text text NOT NULL, place text NOT NULL,
    UNIQUE (document, ordinal));
CREATE INDEX chunks_by_vector ON hocket.chunks (vector);
CREATE TABLE hocket.words (
    chunk bigint PRIMARY KEY REFERENCES hocket.chunks ON DELETE CASCADE, words tsvector NOT NULL);
ALTER TABLE hocket.words ALTER COLUMN words SET STORAGE MAIN;
CREATE INDEX words_by_word ON hocket.words USING gin (words);
"""
# With the usual 64, of the ten nearest among a million every tenth is missed.
_BY_MEANING = """CREATE INDEX CONCURRENTLY vectors_by_meaning ON hocket.vectors
                 USING hnsw ((vector::halfvec({})) halfvec_ip_ops) WITH (ef_construction = 128)"""


def prepare(connection: Connection[Any], dimension: int, place: str) -> None:
    """Make the schema where it is not there. Raises StoreError where it does not fit."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_OPENED_BY_ONE,))
        if connection.execute("SELECT to_regclass('hocket.facts')").fetchone() == (None,):
            _add_pgvector(connection, place)
            connection.execute(SQL(_SCHEMA).format(dimension=Literal(dimension)))
            connection.execute(
                "INSERT INTO hocket.facts (version, words, identity) VALUES (%s, %s, %s)",
                (VERSION, RECIPE, secrets.token_hex(8)),
            )
    _check(connection, dimension, place)


def index_vectors(connection: Connection[Any], dimension: int) -> None:
    """Make the index of meaning where there is none; others read and write meanwhile.

    It is made of what is there already, as it takes several times as long to take in vectors one by one.
    """
    if dimension > INDEXED_DIMENSION or connection.execute(_TRY_LOCK, (_INDEXED_BY_ONE,)).fetchone() == (False,):
        return
    try:
        if _is_valid(connection):
            return
        _allow(connection, dimension)
        try:
            _build(connection, dimension)
        except (errors.DiskFull, errors.OutOfMemory):  # so says a server whose shared memory has not so much
            connection.execute("RESET maintenance_work_mem; SET max_parallel_maintenance_workers = 0")
            _build(connection, dimension)
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (_INDEXED_BY_ONE,))


_TRY_LOCK = "SELECT pg_try_advisory_lock(%s)"


def _is_valid(connection: Connection[Any]) -> bool:
    sql = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('hocket.vectors_by_meaning')"
    return connection.execute(sql).fetchone() == (True,)


def _allow(connection: Connection[Any], dimension: int) -> None:
    """Allow memory for all of the index, and time to wait for transactions that began before it."""
    ((vectors,),) = connection.execute("SELECT count(*) FROM hocket.vectors").fetchall()
    least, most = _MIB_OF_INDEX
    size = min(max(least, least + vectors * (2 * dimension + _LINKS_BYTES) // 2**20), most)
    connection.execute(f"SET maintenance_work_mem = '{size}MB'; SET lock_timeout = '{_WAITS}'".encode())


def _build(connection: Connection[Any], dimension: int) -> None:
    connection.execute("DROP INDEX IF EXISTS hocket.vectors_by_meaning")  # one that was not built to its end
    connection.execute(SQL(_BY_MEANING).format(Literal(dimension)))


def _add_pgvector(connection: Connection[Any], place: str) -> None:
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (errors.FeatureNotSupported, errors.UndefinedFile, errors.InsufficientPrivilege) as error:
        remedy = "install pgvector on the server, and have an administrator run CREATE EXTENSION vector there"
        raise StoreError(f"{place} has no extension `vector`", remedy) from error


def _check(connection: Connection[Any], dimension: int, place: str) -> None:
    (version,) = connection.execute("SELECT version FROM hocket.facts").fetchone() or (0,)
    if version != VERSION:
        raise StoreError(
            f"{place}: store version {version}, this hocket reads {VERSION}",
            "use the hocket that wrote it, or name another database",
        )
    sql = "SELECT atttypmod FROM pg_attribute WHERE attrelid = 'hocket.vectors'::regclass AND attname = 'vector'"
    (found,) = connection.execute(sql).fetchone() or (0,)
    if found != dimension:
        raise StoreError(
            f"{place}: its vectors have {found} dimensions, the embedder's {dimension}",
            "use the embedder that it was made with, or name another database and ingest again",
        )
