"""The retrieval daemon: a collection of documents behind one ROUTER. Knows the bus's messages, no sockets.

The socket listens at once. The models load, and ingestion runs, on a thread of its own, one job after another;
questions are answered by a few others meanwhile. Every request ends in one answer or one Error.
"""

from __future__ import annotations

import queue
import secrets
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import get_args

import structlog
from threadpoolctl import threadpool_limits

from hocket_bus import messages as m
from hocket_bus.ending import Ending
from hocket_bus.errors import HocketError
from hocket_bus.faults import error_message, notice_text
from hocket_bus.service import Service
from hocket_bus.sockets import Bus, Event, Received
from hocket_bus.trust.unseen import close_daemon

from ..collection import Collection
from ..config import RetrievalConfig
from ..embedding.embedder import Embedder
from ..embedding.reranker import Reranker
from ..errors import IndexBuilding
from ..graph import requests as federation
from . import replies, stored
from .answering import Answering, Waiting
from .jobs import Answer, Jobs, errors_answered, stopping
from .memory import keep_little
from .priority import give_way

JOB_END_S = 3.0  # what is left undone is taken up at the next start

log = structlog.get_logger(__name__)

Question = (
    m.Search
    | m.Score
    | m.Extract
    | m.Remove
    | m.ListDocuments
    | m.ListChunks
    | m.ListSubgraphs
    | m.Survey
    | m.StatusRequest
    | federation.Asked
    | stored.Asked
)
TAKEN = (m.Ingest, m.Drop, *get_args(Question))


class Daemon:
    """A retrieval daemon. `start`, then `serve` until `stop`, then `close`."""

    def __init__(self, config: RetrievalConfig) -> None:
        self._config = config
        self._collection: Collection | None = None
        self._failure: Exception | None = None
        self._jobs = Jobs()
        self._stopped = threading.Event()
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._answering = Answering()
        self._worker = threading.Thread(target=self._work, name="ingest", daemon=True)
        self._epoch = secrets.randbits(64)
        self._bus = Bus(self._on_event, Path(config.keys) if config.keys else None)

    def start(self) -> None:
        """Listen, and begin to load. Raises BadConfiguration when the endpoint is taken."""
        self._server = self._bus.serve(self._config.endpoint, self._greet, TAKEN)
        self._service = Service(self._bus, self._server, self._inbox.put)
        log.info("listening", endpoint=self._config.endpoint, state=self._config.state)
        self._worker.start()

    def serve(self) -> None:
        """Block until `stop`, or until loading has failed, which is raised."""
        while not self._stopped.is_set():
            self._inbox.get()()
        self._service.stopping("no new requests are taken")
        if self._failure:
            raise self._failure

    def stop(self) -> None:
        """Let `serve` return; safe in a signal handler, as setting an event that the same thread waits for is not."""
        self._inbox.put(self._stopped.set)

    def reload(self) -> None:
        """Read again which machines may connect; safe in a signal handler."""
        self._inbox.put(self._service.reload)

    def close(self) -> None:
        """End jobs at their next batch, answer what is being answered, refuse the rest, and release everything."""
        self._stopped.set()
        self._jobs.stop()
        if self._collection:
            self._collection.stop()
        if self._worker.ident:
            self._worker.join(timeout=JOB_END_S)
        self._answering.close()
        if self._collection and not self._worker.is_alive():  # else all goes down with the process
            self._collection.close()
        self._bus.close()
        log.info("ended", endpoint=self._config.endpoint)

    # --- the I/O thread ---------------------------------------------------------------------------------------------

    def _greet(self, _: m.Hello) -> m.Welcome:
        return m.Welcome(role="retrieval", epoch=self._epoch, model=self._config.embedder)

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, Received):
            return
        message, route = event.message, event.route
        asker = event.user or route  # on ipc only the connection tells one from another

        def answer(reply: m.Message) -> None:
            self._server.send(route, reply)

        if self._stopped.is_set() and isinstance(message, m.Ingest | Question):
            answer(error_message(stopping(), message.request))
        elif isinstance(message, m.Ingest):
            self._jobs.ask(answer, message)
        elif isinstance(message, Question):
            self._take(asker, answer, message)
        elif isinstance(message, m.Drop):
            self._answering.drop(asker, message.request)

    def _take(self, asker: str | bytes, answer: Answer, message: Question) -> None:
        def refuse(error: HocketError) -> None:
            answer(error_message(error, message.request))

        self._answering.ask(Waiting(asker, message.request, partial(self._serve, answer, message), refuse))
        self._server.load = self._answering.load

    # --- the answering threads --------------------------------------------------------------------------------------

    def _serve(self, answer: Answer, message: Question) -> None:
        with errors_answered(answer, message.request):
            answer(self._reply(message))
        self._server.load = self._answering.load - 1  # without this one, which is answered

    def _reply(self, message: Question) -> m.Message:
        if self._stopped.is_set():
            raise stopping()
        match message:
            case m.StatusRequest():
                reply: m.Message = self._status(message)
            case m.Search():
                reply = self._search(message)
            case m.Score():
                reply = self._score(message)
            case m.Extract():
                reply = self._extract(message)
            case m.Remove():
                reply = self._remove(message)
            case m.ListChunks():
                reply = self._chunks(message)
            case m.ListSubgraphs():
                reply = self._subgraphs(message)
            case m.ListDocuments() | m.Survey():
                reply = self._listed(message)
            case _:
                reply = self._other(message)
        return reply

    def _other(self, message: federation.Asked | stored.Asked) -> m.Message:
        if isinstance(message, stored.Asked):
            return stored.answered(self._loaded(), message)
        return federation.answered(self._loaded(), message)

    def _score(self, message: m.Score) -> m.Scores:
        places = [(place.document, place.ordinal) for place in message.places]
        scores = self._loaded().score(message.query, places, message.scorer, message.ranks)
        return m.Scores(request=message.request, scores=scores)

    def _remove(self, message: m.Remove) -> m.Removed:
        removed, missing = self._loaded().remove(message.documents)
        return m.Removed(request=message.request, removed=len(removed), missing=missing)

    def _chunks(self, message: m.ListChunks) -> m.Chunks:
        version, chunks = self._loaded().texts(message.after, replies.PAGE_CHUNKS, message.words)
        return replies.chunks(message, version, chunks)

    def _subgraphs(self, message: m.ListSubgraphs) -> m.Subgraphs:
        collection = self._loaded()
        page = collection.graph.page(message.offset, replies.PAGE_SUBGRAPHS)
        return replies.subgraphs(message, collection.number, *page)

    def _listed(self, message: m.ListDocuments | m.Survey) -> m.Documents | m.Surveyed:
        collection = self._loaded()
        if isinstance(message, m.ListDocuments):
            return replies.documents(message, collection.documents())
        within = tuple(message.within)
        found = collection.survey(
            message.text, message.suffixes, within, message.when, folder=message.folder, order=message.order
        )
        return replies.surveyed(message, found)

    def _search(self, message: m.Search) -> m.Passages:
        started = time.perf_counter()
        collection = self._loaded()
        result = collection.search(
            message.query,
            message.k,
            message.scorer,
            tuple(message.within),
            message.words,
            others=tuple(message.others),
            elsewhere=replies.trail(message.bridge),
            steps=message.steps,
        )
        return replies.passages(message.request, result, collection.scorers, time.perf_counter() - started)

    def _extract(self, message: m.Extract) -> m.Extracted:
        started = time.perf_counter()
        found = self._loaded().extract(message.query, message.k, message.sentences)
        return replies.extracted(message.request, found, time.perf_counter() - started)

    def _status(self, message: m.StatusRequest) -> m.Status:
        facts = {"embedder": self._config.embedder, "re-ranker": self._config.reranker or "none"}
        facts |= {"state": self._config.state, "store": self._config.store.kind, "work": self._jobs.doing or "none"}
        ready = False
        if self._collection:
            status = self._collection.status()
            ready = True
            facts |= {
                "documents": str(status.documents),
                "chunks": str(status.chunks),
                "scorers": ", ".join(self._collection.scorers),
            }
            graph = self._collection.graph.info()
            facts |= {"graph": f"{graph.entities} entities, {graph.relations} relations, {graph.subgraphs} subgraphs"}
            read = self._collection.graph.extraction()
            facts |= {"entities are found": read.fact, "passages to read into the graph": str(read.unread)}
            facts |= {"search": "by words only, until all documents are embedded again"} if status.by_words else {}
            facts |= {"files to ingest": str(status.queued), "documents to make anew": str(status.stale)}
        lines = {name: notice_text(fact) for name, fact in facts.items()}
        return m.Status(request=message.request, role="retrieval", ready=ready, facts=lines)

    def _loaded(self) -> Collection:
        if self._collection is None:
            raise IndexBuilding("the retrieval daemon is still loading", "try again in a few seconds")
        return self._collection

    # --- the ingesting thread ---------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._collection = collection = open_collection(self._config)
            give_way()
            close_daemon()  # behind it: a closed process may not lower its group
            if self._stopped.is_set():
                collection.stop()
            self._service.watch(**_facts(collection))
            self._jobs.work(collection)
        except Exception as error:  # noqa: BLE001 - carried to the thread that waits
            self._failure = error
            self.stop()


def run(config: RetrievalConfig) -> None:
    """Serve until SIGTERM or SIGINT; a second one ends at once. Raises BadConfiguration when it cannot start."""
    keep_little()
    threadpool_limits(1, user_api="blas")  # products for a query are small: a second core brings only waiting
    daemon, ending = Daemon(config), Ending()
    try:
        daemon.start()
        signal.signal(signal.SIGHUP, lambda *_: daemon.reload())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda caught, _: _end(daemon, caught))
        daemon.serve()
    finally:
        ending.by(time.monotonic())
        daemon.close()


def _end(daemon: Daemon, caught: int) -> None:
    signal.signal(caught, signal.SIG_DFL)
    daemon.stop()


def open_collection(config: RetrievalConfig) -> Collection:
    """The collection that a configuration describes, its models loaded. Raises BadConfiguration."""
    embedder = Embedder(config.embedder, config.threads, config.precision)
    reranker = Reranker(config.reranker) if config.reranker else None
    return Collection(
        Path(config.state).expanduser(), embedder, reranker, config.chunk_words, config.graph, store=config.store
    )


def _facts(collection: Collection) -> dict[str, int]:
    status = collection.status()
    return {"documents": status.documents, "chunks": status.chunks}
