"""A toy embedder for the laws that do not ask what words mean, and the bundled one for those that do."""

from pathlib import Path

import pytest

from hocket_retrieval.collection import Collection
from hocket_retrieval.embedding.embedder import Embedder
from toys import ToyEmbedder


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
