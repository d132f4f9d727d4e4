"""A toy embedder, for laws that do not ask what words mean."""

import functools
import hashlib
import threading

import numpy as np


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

    def rest(self):
        """Nothing was taken."""

    def _vector(self, text):
        total = np.full(self.dimension, 1e-3, dtype=np.float32)
        for word in text.lower().split():
            total += _of_word(self.fingerprint, word, self.dimension)
        return (total / np.linalg.norm(total)).astype(np.float32)


@functools.cache
def _of_word(fingerprint, word, dimension):
    return np.random.default_rng(list((fingerprint + word).encode())).standard_normal(dimension)
