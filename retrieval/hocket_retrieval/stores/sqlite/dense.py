"""The dense index: a scan of every vector (FAISS), beside the store and rebuilt from it when lost or stale.

Its file's name says which state of the store it stands for, so a leftover of another one is never read.
Vectors lie in half precision, since a scan takes as long as reading them from memory; that moves an inner product by
some 1e-5. It only ranks: the scores of what is found come from the store's float32.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

import faiss
import numpy as np
import structlog

from hocket_bus.errors import BadConfiguration
from hocket_bus.trust.private import keep_private

from ..records import Ids, Vectors

log = structlog.get_logger(__name__)


class DenseIndex:
    """Vectors by chunk id. All methods may be called from several threads; they take turns."""

    def __init__(self, folder: Path, fingerprint: str, dimension: int) -> None:
        self._folder = folder
        self._fingerprint = fingerprint
        self.dimension = dimension
        self._lock = threading.Lock()
        self._index = self._empty()
        self.state = ""
        self._saved: str | None = None

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def open(self, state: str, chunks: int, vectors: Iterable[tuple[Ids, Vectors]]) -> None:
        """Load the index of a state with so many `chunks`: from its file where there is one, else from `vectors`."""
        self.state = state
        if self._load(self._file(), chunks):
            self._saved = state
        else:
            self._rebuild(vectors)

    def search(self, vector: Vectors, limit: int, among: Ids | None = None) -> dict[int, float]:
        """Cosines of the nearest chunks, or of those `among` them, by their ids, nearest first."""
        faiss.omp_set_num_threads(1)  # per calling thread; more would only wait for each other in one scan
        chosen = None if among is None else faiss.SearchParameters(sel=faiss.IDSelectorBatch(among))  # type: ignore[call-arg]
        with self._lock:
            cosines, ids = self._index.search(vector[None, :], limit, params=chosen)
        return {id: cosine for id, cosine in zip(ids[0].tolist(), cosines[0].tolist(), strict=True) if id >= 0}

    def change(self, removed: Ids, added: Iterable[tuple[Ids, Vectors]], state: str) -> None:
        """Follow a change of the store."""
        blocks = list(added)
        with self._lock:
            if len(removed):
                self._index.remove_ids(faiss.IDSelectorBatch(removed))
            for ids, vectors in blocks:
                self._index.add_with_ids(vectors, ids)
            self.state = state

    def save(self) -> None:
        """Write the index to its file, atomically; on a full disk it is left to be built anew from the store."""
        with self._lock:
            if self._saved == self.state:
                return
            file, partial = self._file(), self._folder / "dense.partial"
            try:
                keep_private(partial)
                faiss.write_index(self._index, str(partial))
                with partial.open("rb") as written:
                    os.fsync(written.fileno())
                os.replace(partial, file)
            except (OSError, RuntimeError, BadConfiguration) as error:  # of faiss, and of a file that cannot be made
                log.warning("the dense index is not saved", file=str(file), error=str(error)[:200])
                partial.unlink(missing_ok=True)
                return
            self._saved = self.state
        for old in self._folder.glob("dense-*.faiss"):
            if old != file:
                old.unlink(missing_ok=True)

    def _file(self) -> Path:
        return self._folder / f"dense-{self._fingerprint.rpartition(':')[2]}-{self.state}.faiss"

    def _empty(self) -> faiss.Index:
        codes = faiss.IndexScalarQuantizer(self.dimension, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        return faiss.IndexIDMap2(codes)

    def _load(self, file: Path, count: int) -> bool:
        if not file.exists():
            return False
        try:
            index = faiss.read_index(str(file))
        except RuntimeError as error:
            log.warning("the dense index is damaged; rebuilding it", file=str(file), error=str(error)[:200])
            return False
        if index.ntotal != count or index.d != self.dimension:
            return False
        self._index = index
        return True

    def _rebuild(self, blocks: Iterable[tuple[Ids, Vectors]]) -> None:
        self._index = self._empty()
        for ids, vectors in blocks:
            self._index.add_with_ids(np.ascontiguousarray(vectors), ids)
