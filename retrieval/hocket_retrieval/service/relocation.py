"""A move of a daemon's documents from the configured store into another one, while the daemon does not run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ..collection import claim
from ..config import RetrievalConfig, StoreConfig
from ..embedding.embedder import Embedder
from ..ingestion.earlier import take_over
from ..stores.moving import Moved, move
from ..stores.opening import open_store


def relocate(config: RetrievalConfig, target: StoreConfig, on_progress: Callable[[int, int], None]) -> Moved:
    """Copy all documents into `target` and compare both. Raises StoreError, also where the daemon runs; Unavailable."""
    folder = Path(config.state).expanduser()
    with closing(claim(folder)):
        take_over(folder)
        embedder = Embedder(config.embedder)
        made = (folder, embedder.fingerprint, embedder.dimension)
        with closing(open_store(config.store, *made)) as source, closing(open_store(target, *made)) as other:
            return move(source, other, on_progress)
