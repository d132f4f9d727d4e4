"""The documents of every device, embedded once and kept beside the report."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hocket_bus import messages as m
from hocket_lab.bench.graph.sets import Sets
from hocket_retrieval.collection import Collection
from hocket_retrieval.config import GraphConfig
from hocket_retrieval.embedding.embedder import Embedder
from hocket_retrieval.searching.search import SearchResult
from hocket_tools import console
from hocket_tools.embedding import FlatEmbedder, RememberingEmbedder
from hocket_tools.train.wikitext import Document


@contextmanager
def open_collections(sets: Sets, folder: Path | None) -> Iterator[dict[str, Collection]]:
    """Yield a collection for each device, in `folder` if there is one, else for this run alone."""
    with ExitStack() as stack:
        at = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hocket-graph-")))
        embedder = RememberingEmbedder()
        yield {name: stack.enter_context(_read(name, at, embedder, sets)) for name in sets.documents}


def _read(name: str, at: Path, embedder: Embedder, sets: Sets) -> Collection:
    collection = Collection(at / name, embedder)
    if not collection.status().documents:
        console.err().print(f"reading the documents of {name}", style="dim", markup=False)
        collection.add((each.name, each.title, each.text) for each in sets.documents[name] if each.text.strip())
    collection.graph.build(lambda: False)
    return collection


@contextmanager
def together(sets: Sets, of: str, folder: Path, embedder: Embedder) -> Iterator[Collection]:
    """Yield a collection of all documents of a set in one place, for comparison."""
    with Collection(folder / f"together-{of}", embedder) as collection:
        if not collection.status().documents:
            documents = [each for name in sets.devices(of) for each in sets.documents[name]]
            collection.add((each.name, each.title, each.text) for each in documents if each.text.strip())
        yield collection


def summaries_of(shared: Iterable[Document], min_documents: int = 1, entities: int = 40) -> list[str]:
    """Return the summaries that may leave of a graph of these documents with at most `entities` entities a part."""
    with tempfile.TemporaryDirectory() as folder:
        graph = GraphConfig(min_documents=min_documents, entities=entities)
        with Collection(Path(folder), FlatEmbedder(), graph=graph) as collection:
            collection.add((each.name, each.title, each.text) for each in shared if each.text.strip())
            collection.graph.build(lambda: False)
            return [each.summary for each in collection.graph.page(0, 1_000_000)[1] if each.summary]


def as_message(found: SearchResult) -> m.Passages:
    """Return a search result as a retrieval daemon reports it."""
    passages = [
        m.Passage(document=each.document, title=each.title, ordinal=each.ordinal, text=each.text, score=each.score)
        for each in found.passages
    ]
    return m.Passages(
        request=bytes(16),
        passages=passages,
        scorer=found.scorer,
        scorers=[found.scorer],
        documents_total=found.documents_total,
        seconds=0.0,
    )
