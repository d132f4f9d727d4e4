"""Laws of the PostgreSQL store alone: its server may be away, full of others, or of another version."""

from __future__ import annotations

import pytest
from store_kinds import opened, put, vector_of

from hocket_bus.errors import HocketError, Unavailable
from hocket_retrieval.errors import StoreError
from hocket_retrieval.stores.postgres import postgres_schema

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: hocket[postgres]")


TABLES = ("documents", "chunks", "words", "vectors")


@pytest.fixture
def store(database):
    store = opened("postgres", database)
    yield store
    store.close()


def run(database: str, sql: str):
    """One statement as another session."""
    with psycopg.connect(database, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def test_a_purge_gives_back_the_pages_of_what_is_gone(database, store):
    """Of every table; nothing of a replaced version or a removed document is left in a row."""
    put(store, "a", *(f"red brick {number}" for number in range(200)))
    put(store, "a", *(f"green glass {number}" for number in range(200)))
    pages = [f"pg_relation_size('hocket.{table}')" for table in TABLES]
    ((before,),) = run(database, f"SELECT {' + '.join(pages)}")
    store.remove(["a"])
    store.sweep()
    store.purge()
    assert before > 100_000
    assert run(database, f"SELECT {' + '.join(pages)}") == [(0,)]


def has_index(database: str) -> bool:
    """Whether there is one of meaning that may be used."""
    sql = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('hocket.vectors_by_meaning')"
    return run(database, sql) == [(True,)]


def test_the_index_of_meaning_is_made_once_it_is_worth_it(database, store, monkeypatch):
    """Of all vectors at once, and anew where whoever made it died; a search asks it from then on."""
    monkeypatch.setattr("hocket_retrieval.stores.postgres.postgres_moment.SCANNED", 9)
    put(store, "a", *(f"red brick {number}" for number in range(9)))
    store.save()
    assert not has_index(database)
    put(store, "b", "blue slate")
    for _ in range(2):
        store.save()
        assert has_index(database)
        run(database, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'hocket.vectors_by_meaning'::regclass")
    store.save()
    with store.moment() as moment:
        moment._connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        assert len(moment.by_meaning(vector_of("blue slate"), 10)) == 10
        scans = "SELECT pg_stat_get_xact_numscans('hocket.vectors_by_meaning'::regclass)"
        assert moment._connection.execute(scans).fetchall() == [(1,)]


def test_a_server_of_little_shared_memory_makes_the_index_all_the_same(database, store, monkeypatch):
    """As in a container; without helpers."""
    monkeypatch.setattr("hocket_retrieval.stores.postgres.postgres_moment.SCANNED", 1)
    put(store, "a", "red brick", "blue slate")
    asked = []

    def build(connection, dimension):
        ((workers,),) = connection.execute("SHOW max_parallel_maintenance_workers").fetchall()
        asked.append(workers)
        if workers != "0":
            raise psycopg.errors.DiskFull("could not resize shared memory segment")
        real(connection, dimension)

    real = postgres_schema._build
    monkeypatch.setattr(postgres_schema, "_build", build)
    store.save()
    assert has_index(database)
    assert len(asked) == 2


def test_a_server_that_is_away_is_told_in_one_line(tmp_path):
    """With what to do; nobody waits long."""
    with pytest.raises(Unavailable) as caught:
        opened("postgres", f"postgresql://hocket@/hocket?host={tmp_path}")
    assert "\n" not in str(caught.value)
    assert "server runs" in caught.value.remedy


def test_a_connection_that_the_server_closed_is_replaced(database, store):
    """A restart of the server ends no daemon."""
    put(store, "a", "red brick")
    run(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hocket'")
    with store.moment() as moment:
        assert moment.totals() == (1, 1)
    run(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hocket'")
    put(store, "b", "blue slate")


def test_a_statement_has_a_deadline(database, store, monkeypatch):
    """A writer that never ends makes the others wait, not hang."""
    monkeypatch.setattr("hocket_retrieval.stores.postgres.postgres_connections.DEADLINES", "SET lock_timeout = '20ms';")
    other = opened("postgres", database)
    with psycopg.connect(database) as connection:
        connection.execute("SELECT FROM hocket.facts FOR UPDATE")
        with pytest.raises(Unavailable, match="lock"):
            other.remove(["a"])
    other.close()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("postgresql://hocket:secret@db.example/hocket", "password"),
        ("host=db.example password=secret", "password"),
        ("no connection string", "connection string"),
    ],
)
def test_a_place_that_will_not_do_is_refused(place, said):
    """Before anyone is asked; a password is never repeated."""
    with pytest.raises(StoreError, match=said) as caught:
        opened("postgres", place)
    assert "secret" not in f"{caught.value} {caught.value.remedy}"
    assert caught.value.remedy


def test_a_version_of_a_later_hocket_is_refused(database, store):
    """It says which."""
    run(database, "UPDATE hocket.facts SET version = 99")
    with pytest.raises(StoreError, match="version 99"):
        opened("postgres", database)


def test_a_user_without_rights_is_told_so(database):
    """With what would give them."""
    run(database, "CREATE EXTENSION IF NOT EXISTS vector")
    run(database, "CREATE ROLE somebody LOGIN")
    with pytest.raises(StoreError, match="permission denied") as caught:
        opened("postgres", database.replace("postgres:@", "somebody:@"))
    assert "own" in caught.value.remedy


def test_what_the_server_refuses_is_no_traceback(database, store):
    """A table that is gone, as any other fault of the server, has one line and a remedy."""
    run(database, "DROP TABLE hocket.words")
    with pytest.raises(HocketError) as caught, store.moment() as moment:
        moment.by_words("brick", 9)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy
