"""The store that a configuration names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hocket_bus import paths
from hocket_bus.missing import lack

from ..config import StoreConfig
from ..errors import StoreError

if TYPE_CHECKING:
    from .protocol import DocumentStore


def open_store(config: StoreConfig, state: Path, fingerprint: str, dimension: int) -> DocumentStore:
    """Open a store of vectors of this dimension, made by the embedder `fingerprint`; `state` is the daemon's folder.

    Raises StoreError, Unavailable.
    """
    try:
        if config.kind == "lancedb":
            os.environ.setdefault("LANCEDB_LOG", "error")  # its warnings are for those who make it
            from .lance.lance import LanceStore

            return LanceStore(_lance_place(config.place, state), dimension)
        if config.kind == "postgres":
            from .postgres.postgres import PostgresStore

            return PostgresStore(config.place, dimension)
    except ImportError as error:
        module = {"lancedb": "lancedb", "postgres": "psycopg"}[config.kind]
        raise StoreError(*lack(config.kind, module, f"pip install 'hocket[{config.kind}]'", error)) from error
    from .sqlite.sqlite import SqliteStore

    return SqliteStore(state, fingerprint, dimension)


def _lance_place(place: str, state: Path) -> str:
    """Return a bucket as it is named, or a folder, which is relative to the daemon's own, wherever that was started."""
    return place if "://" in place else str(state / paths.expanded(Path(place or "lance")))
