"""`python -m hocket_lab.centre PACKED DATA FILE.npy`: the centre of the vectors of an embedder (packed_embedder.py).

It is the mean of its vectors of English passages from the sets of `hocket bench found`, as many of each.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import numpy as np

from hocket_lab.bench.graph import sets
from hocket_retrieval.embedding.embedder import Embedder
from hocket_retrieval.text.chunking import chunk
from hocket_tools.models.packed_embedder import read, write

OF_EACH = 100


def passages(data: Path) -> list[str]:
    """Draw OF_EACH passages of each device of the sets, with a fixed seed."""
    documents, drawn = sets.load(data).documents, list[str]()
    for device in sorted(documents):
        texts = [passage for *_, text in documents[device] for passage in chunk(text)]
        drawn += random.Random(device).sample(texts, min(OF_EACH, len(texts)))
    return drawn


def main() -> None:
    """Write the centre, in half precision."""
    packed, data, file = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
        model = read(packed)
        write(model, np.zeros(model.shape.width, np.float32), Path(folder))
        vectors = Embedder(folder, threads=2).documents(passages(data))
    np.save(file, vectors.mean(axis=0).astype(np.float16))


if __name__ == "__main__":
    main()
