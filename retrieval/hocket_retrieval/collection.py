"""Documents in, ranked passages out: store, index, embedder and ingestion as one thing, used by one process at a time.

Every method may be called from any thread; jobs of ingestion wait for each other, searches wait for none of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple

import structlog

from hocket_bus.trust.private import keep_private, lock, private_folder

from .config import GraphConfig, StoreConfig
from .embedding.embedder import Embedder
from .embedding.reranker import Reranker
from .errors import IndexBuilding, StoreError
from .graph.build import Graph
from .graph.engine import extractor_of
from .graph.summary_index import SummaryIndex
from .ingestion.earlier import take_over
from .ingestion.ingest import Ingester
from .ingestion.job import Job, OnProgress, Report
from .ingestion.secrets_apart import why_apart
from .ingestion.skipped import SkippedFiles
from .ingestion.waiting import WaitingFiles
from .ingestion.walk import has_entries, is_empty, is_gone
from .searching.bridges import Trail
from .searching.search import Searcher, SearchResult, check_query
from .searching.sentences import Sentence, extract
from .searching.survey import Order, Surveyed, survey
from .searching.windows import following, size_of
from .stores.by_words import ByWords
from .stores.opening import open_store
from .stores.protocol import DocumentStore
from .stores.records import Change, Document, DocumentInfo, NewChunk, OnStored
from .text.chunking import DEFAULT_WORDS

DEFAULT_GRAPH = GraphConfig()
DEFAULT_STORE = StoreConfig()
CLOSE_S = 10.0  # for the file at hand; a service manager ends a daemon that takes 30 s
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """The status of a collection. `stale` counts documents to be processed again, `queued` files to be ingested.

    While the store has vectors of another embedder, all documents are searched `by_words` alone.
    """

    documents: int
    chunks: int
    stale: int
    queued: int
    by_words: bool


class Removal(NamedTuple):
    """The names of removed documents, and the paths that matched none."""

    removed: list[str]
    missing: list[str]


class Collection:
    """The documents in a folder. Close it, or use it as a context manager."""

    def __init__(
        self,
        folder: Path,
        embedder: Embedder,
        reranker: Reranker | None = None,
        chunk_words: int = DEFAULT_WORDS,
        graph: GraphConfig = DEFAULT_GRAPH,
        *,
        store: StoreConfig = DEFAULT_STORE,
    ) -> None:
        """Open, or make, the collection.

        Raises StoreError when the folder is in use, damaged or of another version, BadConfiguration for a wrong engine.
        """
        extractor = extractor_of(graph)
        self._lock_file = claim(folder)
        self._folder = folder
        with ExitStack() as opened:
            opened.callback(self._lock_file.close)
            take_over(folder)
            until_closed = opened.enter_context
            self._waiting = until_closed(closing(WaitingFiles(folder / "queue.sqlite")))
            self.skipped = until_closed(closing(SkippedFiles(folder / "skipped.sqlite")))
            self._store = until_closed(closing(open_store(store, folder, embedder.fingerprint, embedder.dimension)))
            path = folder / "graph.sqlite"
            self.graph = until_closed(closing(Graph(path, self._store, extractor, graph.entities, graph.min_documents)))
            self.summaries = until_closed(
                closing(SummaryIndex(folder / "summaries.sqlite", embedder))
            )  # of devices, on a cloud
            self._opened = opened.pop_all()
        self.embedder = embedder
        self._chunk_words = chunk_words
        self._searcher = Searcher(self._store, embedder, reranker, self.graph.subgraphs_of)
        by_words = ByWords(self._store, embedder.dimension)
        self._by_words = Searcher(by_words, embedder, reranker, self.graph.subgraphs_of)
        self._ingester = Ingester(
            self._store,
            self._waiting,
            embedder,
            chunk_words,
            self.skipped,
            commit=self._commit,
            settle=self._remove_moved,
        )
        self._changing = threading.Lock()  # queue and store change together
        self._working = threading.Lock()  # one job at a time
        self._renewed = False
        self._replaced = False  # since the last purge

    @property
    def number(self) -> str:
        """Return the random number that identifies the graph, and never changes."""
        return self.graph.number

    @property
    def store(self) -> DocumentStore:
        """The document store, to read from."""
        return self._store

    @property
    def scorers(self) -> list[str]:
        """Return the names of the scorers of passages, the best first."""
        return self._searcher.scorers

    def search(
        self,
        query: str,
        k: int,
        scorer: str = "",
        within: tuple[str, ...] = (),
        words: int = 0,
        *,
        others: tuple[str, ...] = (),
        elsewhere: Trail | None = None,
        steps: int = 2,
    ) -> SearchResult:
        """Return the best `k` passages `within` folders, or of all documents; none when nothing is ingested.

        Each has at most so many `words`, but always those of the chunk that was found. `others` are the question's
        other forms, in a conversation (forms.py). `elsewhere` is what another side's best passage leads to. The search
        takes at most so many `steps`.
        Raises QueryError, IndexBuilding.
        """
        query = check_query(query, k)
        result = self._searching().search(
            query,
            k,
            scorer,
            within,
            size_of(words, self._chunk_words),
            others=others,
            elsewhere=elsewhere,
            steps=steps,
        )
        if not result.documents_total:
            self._check_empty()
        return result

    def score(
        self, query: str, places: Sequence[tuple[str, int]], scorer: str = "", ranks: Sequence[float] = ()
    ) -> list[float]:
        """Score chunks, by (document, ordinal), against a text. Raises QueryError, PassageGone."""
        return self._searching().score(check_query(query, len(places)), places, scorer, ranks)

    def weigh(self, query: str, texts: Sequence[str], scorer: str = "", names: Sequence[str] = ()) -> list[float]:
        """Score texts that are not in the collection, perhaps with the names above each. Raises QueryError."""
        return self._searcher.weigh(query, texts, scorer, names)

    def extract(self, query: str, k: int, sentences: int) -> list[Sentence]:
        """Return at most so many `sentences` of the best `k` passages, the nearest first.

        Raises QueryError, IndexBuilding.
        """
        query = check_query(query, k)
        return extract(self.embedder, query, self.search(query, k).passages, sentences)

    def ingest(self, paths: Sequence[Path], on_progress: OnProgress = lambda _: None) -> Report:
        """Ingest files and folders, and whatever an interrupted job left. Raises Cancelled after `stop`."""
        job = Job(on_progress)
        self.accept(paths, job)
        return self.work(job)

    def accept(self, paths: Sequence[Path], job: Job) -> None:
        """Queue files and folders as a job of the next `work`, or of the one under way; the queue survives a crash.

        Documents of a folder whose files are gone or empty are removed at once, unless the folder is empty: then its
        disk may not be mounted.
        """
        folders = [str(path) for path in paths if has_entries(path)]
        job.report.removed += len(self._take_out(self._gone(folders)).removed)
        self._ingester.accept(paths, job)

    def resume(self, on_progress: OnProgress = lambda _: None) -> Report:
        """Finish what an interrupted job, or a changed embedder or chunk length, left to do."""
        return self.work(Job(on_progress))

    def work(self, rest: Job) -> Report:
        """Carry out the accepted jobs; `rest` counts what belongs to none of them. Raises Cancelled after `stop`."""
        with self._working:
            try:
                self._ingester.run(rest)
                self._forget()
            finally:
                self._store.save()
        return rest.report

    def rest(self) -> None:
        """Give back what ingestion has taken, until there is more to do."""
        with self._working:
            self._ingester.rest()

    def build(self, interrupted: Callable[[], bool] = lambda: False) -> None:
        """Update the graph to the documents, until it is done, `interrupted` or stopped."""
        with self._working:
            self.graph.build(lambda: interrupted() or self._ingester.is_stopped)
            self._forget()

    def add(self, texts: Iterable[tuple[str, str, str]]) -> Report:
        """Ingest texts that are no files: (name, title, text)."""
        report = Report()
        started = time.perf_counter()
        with self._working:
            for name, title, text in texts:
                self._ingester.add(name, title, text, report)
            self._store.save()
        report.seconds = time.perf_counter() - started
        return report

    def remove(self, paths: Iterable[str]) -> Removal:
        """Remove documents by name, or by the folder they lie in; no page on the disk holds their text afterwards.

        Readings of its folder skip a document that was removed by name, until its file is named itself.
        """
        wanted = list(paths)
        self.skipped.remove([name for name in (path.rstrip("/") for path in wanted) if self._is_known(name)])
        removal = self._take_out(wanted)
        for path in wanted:
            if path and path not in removal.missing:
                self.skipped.take_back_below(path)
        return removal

    def _is_known(self, name: str) -> bool:
        with self._store.moment() as moment:
            return name in self._waiting or moment.document(name) is not None

    def _take_out(self, paths: Iterable[str]) -> Removal:
        wanted = list(dict.fromkeys(paths))
        with self._store.moment() as moment:
            known = [document.name for document in moment.documents()]
        known += [file.name for file in self._waiting.files()]
        gone = [name for name in dict.fromkeys(known) if any(_below(name, path) for path in wanted)]
        if gone:
            with self._changing:
                self._waiting.dequeue(gone)
                self._store.remove(gone)
            if self._working.acquire(blocking=False):  # a job under way sweeps at its end
                try:
                    self._store.sweep()
                    self._store.save()
                finally:
                    self._working.release()
            self.graph.forget()
            self._store.purge()
        self.skipped.forget(wanted)
        missing = [path for path in wanted if not any(_below(name, path) for name in gone)]
        return Removal(gone, missing)

    def documents(self) -> list[DocumentInfo]:
        """Return all documents, by name."""
        with self._store.moment() as moment:
            return moment.documents()

    def survey(
        self,
        text: str,
        suffixes: Sequence[str],
        within: tuple[str, ...] = (),
        when: str = "",
        *,
        folder: str = "",
        order: Order = "name",
    ) -> Surveyed:
        """Return the documents of these suffixes, `within` folders, that have all words of `text`, if any.

        Only those of the time that `when` says, such as "last week", and below a `folder` that has such a name, in the
        `order` of their names or days.
        """
        with self._store.moment() as moment:
            today = datetime.now(UTC).astimezone().date()
            return survey(moment, text, suffixes, within, when, folder=folder, order=order, today=today)

    def texts(self, after: int, limit: int, words: int = 0) -> tuple[int, list[tuple[int, str]]]:
        """Return the collection's version, and (id, text) of the next passages of so many `words` after the id `after`.

        They are at most `limit`, and none after the last.
        """
        with self._store.moment() as moment:
            return moment.generation(), following(moment, after, limit, size_of(words, self._chunk_words))

    def status(self) -> CollectionStatus:
        """Return the current status of the collection."""
        with self._store.moment() as moment:
            stale = moment.stale(self._ingester.recipe)
            of_others = any(recipe.partition(" ")[0] != self.embedder.fingerprint for recipe in moment.recipes())
            return CollectionStatus(*moment.totals(), len(stale), len(self._waiting.files()), of_others)

    def stop(self) -> None:
        """End the job under way, and every later one, at its next batch; what it did is kept."""
        self._ingester.stop()

    def close(self) -> None:
        """Stop, save the index and release the folder; a job that does not end in time ends with its process."""
        self.stop()
        if not self._working.acquire(timeout=CLOSE_S):
            log.warning("left in the middle of a file", folder=str(self._folder))
            return
        try:
            self._ingester.close()
            self._store.save()
            self._opened.close()
        finally:
            self._working.release()

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _forget(self) -> None:
        """Remove the earlier text of changed documents from the disk, too."""
        if self._replaced:
            self._replaced = False
            self.graph.forget()
            self._store.purge()

    def _commit(
        self, document: Document, chunks: Sequence[NewChunk], is_wanted: Callable[[], bool], on_stored: OnStored
    ) -> Change | None:
        """Put a document, unless nobody wants it any more: it may have been removed meanwhile."""
        with self._changing:
            change = self._store.put_document(document, chunks, on_stored) if is_wanted() else None
        self._replaced |= change is not None and len(change.removed) > 0
        return change

    def _gone(self, folders: Sequence[str]) -> list[str]:
        """The documents below these folders whose files are there no more, or are no documents by now."""
        with self._store.moment() as moment:
            names = [document.name for document in moment.documents()]
        below = [Path(name) for name in names if any(_below(name, folder) for folder in folders)]
        return [str(path) for path in below if is_gone(path) or is_empty(path) or why_apart(path)]

    def _remove_moved(self, added: Sequence[str]) -> int:
        """Remove documents whose files are gone and whose whole text is `added` under another name; return how many."""
        with self._store.moment() as moment:
            chunks = {document.name: document.chunks for document in moment.documents()}
            sizes = {chunks[name] for name in added if name in chunks}
            similar = [name for name in chunks.keys() - {*added} if chunks[name] in sizes and name.startswith("/")]
            gone = [name for name in similar if is_gone(Path(name))]
            here = [name for name in added if chunks.get(name) in {chunks[each] for each in gone}]
            texts = {document.text for name in here if (document := moment.document(name))}
            moved = [name for name in gone if (document := moment.document(name)) and document.text in texts]
        return len(self.remove(moved).removed)

    def _searching(self) -> Searcher:
        """Return the searcher for now: by words alone while vectors of another embedder are left, from a start on."""
        self._renewed = self._renewed or not self.status().by_words
        return self._searcher if self._renewed else self._by_words

    def _check_empty(self) -> None:
        """Raise IndexBuilding for an empty store whose first files are still queued."""
        queued = self.status().queued
        if queued:
            raise IndexBuilding(f"none of {queued} files is ingested yet", "wait for the first, or remove them")


def _below(name: str, path: str) -> bool:
    """Tell whether a document is `path` or lies in it; nothing lies in an empty path."""
    folder = path.rstrip("/")
    return path != "" and (name == folder or name.startswith(folder + "/"))


def claim(folder: Path) -> IO[str]:
    """Make and lock a collection's folder; return the lock file. Raises StoreError where another process has it."""
    private_folder(folder)
    try:
        held = lock(folder / "lock")
    except BlockingIOError as error:
        raise StoreError(f"{folder} is in use by another process", "stop it, or choose another state folder") from error
    for file in folder.iterdir():
        if file.is_file() and file.name != "lock":
            keep_private(file)
    return held
