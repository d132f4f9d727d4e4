"""Laws of choosing a store."""

from __future__ import annotations

import sys

import pytest
from store_kinds import opened

from hocket_retrieval.config import StoreConfig
from hocket_retrieval.errors import StoreError
from hocket_retrieval.stores.opening import open_store


@pytest.mark.parametrize(("kind", "library"), [("lancedb", "lancedb"), ("postgres", "psycopg")])
def test_what_is_not_installed_is_named(kind, library, tmp_path, monkeypatch):
    """With the command that installs it."""
    loaded = ("hocket_retrieval.stores.lance.lance", "hocket_retrieval.stores.postgres.postgres")
    for name in [name for name in sys.modules if name.startswith(loaded)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(StoreError) as caught:
        opened(kind, str(tmp_path))
    assert caught.value.remedy == f"run: pip install 'hocket[{kind}]'"


def test_lancedb_is_in_the_state_folder_unless_it_is_elsewhere(tmp_path):
    """A folder of its own there."""
    pytest.importorskip("lancedb", reason="lancedb is not installed: hocket[lancedb]")
    open_store(StoreConfig(kind="lancedb"), tmp_path, "toy", 4).close()
    assert (tmp_path / "lance" / "documents.lance").is_dir()
    assert (tmp_path / "lance").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("place", ["here", "~/here", "{tmp}/here"])
def test_a_folder_of_lancedb_is_the_same_wherever_the_daemon_was_started(place, tmp_path, monkeypatch):
    """A relative one lies in the daemon's own folder, a home is a home."""
    pytest.importorskip("lancedb", reason="lancedb is not installed: hocket[lancedb]")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    config = StoreConfig(kind="lancedb", place=place.format(tmp=tmp_path))
    open_store(config, tmp_path, "toy", 4).close()
    assert (tmp_path / "here" / "documents.lance").is_dir()
