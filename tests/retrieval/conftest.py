"""A toy embedder for the laws that do not ask what words mean, and the bundled one for those that do."""

import hashlib
import threading
from pathlib import Path

import numpy as np
import pytest

from hocket_retrieval.collection import Collection
from hocket_retrieval.embedder import Embedder


class ToyEmbedder:
    """Equal texts get equal vectors, texts with common words near ones; counts what it embeds."""

    def __init__(self, name="toy", dimension=64):
        self.dimension = dimension
        self.fingerprint = f"cosine:{hashlib.sha256(name.encode()).hexdigest()[:16]}"
        self.embedded = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.loaded = threading.Event()
        self.loaded.set()

    def query(self, text):
        return self._vector(text)

    def documents(self, texts):
        self.entered.set()
        assert self.gate.wait(30)
        self.embedded += texts
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text):
        total = np.full(self.dimension, 1e-3, dtype=np.float32)
        for word in text.lower().split():
            total += np.random.default_rng(list((self.fingerprint + word).encode())).standard_normal(self.dimension)
        return (total / np.linalg.norm(total)).astype(np.float32)


@pytest.fixture(scope="session")
def toys():
    """The class itself, to make several."""
    return ToyEmbedder


@pytest.fixture
def toy():
    return ToyEmbedder()


@pytest.fixture
def collection(tmp_path, toy):
    with Collection(tmp_path / "state", toy) as opened:
        yield opened


@pytest.fixture(scope="session")
def minilm():
    return Embedder(threads=1)


@pytest.fixture
def files(tmp_path) -> Path:
    """A folder with three small documents."""
    folder = tmp_path / "files"
    folder.mkdir()
    for name, text in {
        "harbour": "The old harbour of Fendwick was built by Ada Merrow in 1871.",
        "bakery": "The bakery in Lower Street sells rye bread on Tuesdays.",
        "garden": "Tulips and roses grow in the garden behind the town hall.",
    }.items():
        (folder / f"{name}.txt").write_text(text)
    return folder
