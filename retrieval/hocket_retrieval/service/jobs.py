"""Ingestions requested over the bus: recorded at once, carried out in turns, each with reports of its progress."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

from hocket_bus import messages as m
from hocket_bus.errors import BadRequest, Busy, Cancelled, HocketError, Unavailable
from hocket_bus.faults import error_message

from ..collection import Collection
from ..ingestion.job import Job, Progress, Report
from . import replies
from .memory import give_back

MAX_WAITING = 64
PROGRESS_S = 0.1
FOLLOW_S = 30.0  # another daemon may have changed a store that both share

log = structlog.get_logger(__name__)

Answer = Callable[[m.Message], None]


class Jobs:
    """A queue of ingestions: `ask` on the thread of the bus; `work` on one of its own, until `stop`.

    Another thread looks for the files and records them on the disk, so that no ingestion is in memory alone for longer
    than that takes. The first Progress of an ingestion says that it is recorded.
    """

    def __init__(self) -> None:
        self.doing = "loading"
        self._asked: queue.Queue[tuple[Answer, m.Ingest] | None] = queue.Queue()
        self._due = threading.Event()
        self._stopped = threading.Event()

    def ask(self, answer: Answer, message: m.Ingest) -> None:
        """Refuse an ingestion at once where that is possible, else have it recorded."""
        if self._asked.qsize() >= MAX_WAITING:
            answer(error_message(Busy(f"{MAX_WAITING} ingestions are waiting already"), message.request))
        elif relative := [path for path in message.paths if not path.startswith("/")]:
            error = BadRequest(f"'{relative[0][:200]}' is a relative path", "send absolute ones")
            answer(error_message(error, message.request))
        else:
            self._asked.put((answer, message))

    def stop(self) -> None:
        """Let `work` return when the collection is stopped, too; ingestions that are not recorded are refused."""
        self._stopped.set()
        self._asked.put(None)
        self._due.set()

    def work(self, collection: Collection) -> None:
        """Finish what an earlier process left, or a changed embedder or chunk length requires; then do what arrives."""
        taking = threading.Thread(target=self._take_down, args=(collection,), name="take down", daemon=True)
        taking.start()
        while not self._stopped.is_set():
            self._due.clear()
            with errors_answered(lambda error: log.warning("ingestion ended", error=str(error)), b""):
                _log("finished an earlier ingestion", collection.work(Job(self._note)))
                self.doing = "building the graph"
                collection.build(self._due.is_set)
            self.doing = ""
            give_back()
            while not self._due.wait(FOLLOW_S) and not _is_behind(collection):
                collection.rest()
        taking.join()
        with suppress(Cancelled):  # what was taken down last hears of it
            collection.work(Job())

    def _take_down(self, collection: Collection) -> None:
        while (asked := self._asked.get()) is not None:
            answer, message = asked
            with errors_answered(answer, message.request):
                if self._stopped.is_set():
                    raise stopping()
                collection.accept([Path(path) for path in message.paths], self._job(answer, message.request))
                self._due.set()

    def _job(self, answer: Answer, request: bytes) -> Job:
        reported_s = 0.0

        def show(progress: Progress) -> None:
            nonlocal reported_s
            self._note(progress)
            if time.monotonic() - reported_s >= PROGRESS_S:
                reported_s = time.monotonic()
                answer(replies.progress(progress, request))

        def end(error: Exception | None) -> None:
            with errors_answered(answer, request):
                if error:
                    raise error
                answer(replies.ingested(job.report, request))
                _log("ingested", job.report)

        job = Job(show, end)
        return job

    def _note(self, progress: Progress) -> None:
        self.doing = f"ingesting, file {progress.files_done + 1} of {progress.files_total}"


def _is_behind(collection: Collection) -> bool:
    try:
        return collection.graph.is_behind()
    except HocketError as error:  # the store's server may be away for a while
        log.warning("the store cannot be read", error=str(error))
        return False


@contextmanager
def errors_answered(answer: Answer, request: bytes) -> Iterator[None]:
    """Answer any failure inside with one Error; the daemon lives on."""
    try:
        yield
    except HocketError as error:
        answer(error_message(error, request))
    except Exception:
        log.exception("request failed")
        answer(error_message(HocketError("the retrieval daemon failed", "see its log"), request))


def stopping() -> Unavailable:
    """Return the error that a stopping daemon answers with."""
    return Unavailable("the retrieval daemon is stopping", "try again when it is back")


def _log(what: str, report: Report) -> None:
    if report.added or report.replaced or report.removed or report.errors:
        counts = {"added": report.added, "replaced": report.replaced, "removed": report.removed}
        log.info(what, **counts, failures=len(report.errors))
