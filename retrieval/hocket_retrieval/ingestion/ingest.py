"""Ingestion of files: read in a sandbox, cut, embedded, and put into the store. Knows nothing of searching.

What is to do lies in the queue and what is done in the store, so a process that dies in the middle is followed by one
that goes on: a file leaves the queue when it is in the store, and vectors are kept batch by batch. A file at which the
process died twice is read no more.
"""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from math import inf
from pathlib import Path

import structlog

from hocket_bus.errors import Cancelled

from ..embedding.embedder import Embedder
from ..errors import DocumentError, VectorsGone
from ..parsing.formats.pictures import recognition
from ..parsing.outline import borders, place_of
from ..parsing.readers import READING, shown
from ..parsing.sandboxes import Sandboxes
from ..stores.protocol import DocumentStore
from ..stores.records import Change, Document, NewChunk, OnStored, digest, unobserved
from ..text.chunking import spans
from .job import Job, Report
from .lanes import Entry, Lane
from .secrets_apart import SecretError
from .skipped import SkippedFiles
from .turns import Draft, Share, Turns
from .waiting import Queued, WaitingFiles
from .walk import Walk, read_bytes, reason_of

BATCH_CHUNKS = 128
ATTEMPTS = 2
CHARS_PER_BYTE = 4  # a text that is longer for its file goes where texts of its length are read
# Bytes that a file of a lane has at most, and how many of its files may be open at once.
LANES = ((64 << 10, 32), (1 << 20, 2), (inf, 1))

_READ = f" reading:{READING}"
Commit = Callable[[Document, Sequence[NewChunk], Callable[[], bool], OnStored], Change | None]
log = structlog.get_logger(__name__)


class Ingester:
    """An ingester of what is accepted, on the thread that calls `run`.

    `commit` stores a document that is still wanted. `settle` gets the names of what a job added, and returns how many
    documents it removed for them.
    """

    def __init__(
        self,
        store: DocumentStore,
        waiting: WaitingFiles,
        embedder: Embedder,
        chunk_words: int,
        skipped: SkippedFiles,
        *,
        commit: Commit,
        settle: Callable[[Sequence[str]], int],
    ) -> None:
        self._store = store
        self._waiting = waiting
        self._embedder = embedder
        self._chunk_words = chunk_words
        self._commit = commit
        self._settle = settle
        self._skipped = skipped
        self.recipe = f"{embedder.fingerprint} words:{chunk_words}{_READ}"
        self._stopped = threading.Event()
        self._wake = threading.Event()
        self._accepting = threading.Lock()
        self._arrived: queue.SimpleQueue[tuple[Job, list[Queued]]] = queue.SimpleQueue()
        self._jobs: list[Job] = []
        self._wanted: Counter[str] = Counter()  # names in the queue, by how many entries stand for them
        self._busy: set[str] = set()
        self._turns = Turns()
        self._suspects = Lane(inf, 1, self._read, self._wake.set)
        self._stale = Lane(inf, 1, self._reread, self._wake.set)
        self._lanes = [Lane(size, ahead, self._read, self._wake.set) for size, ahead in LANES]

    def accept(self, paths: Sequence[Path], job: Job) -> None:
        """Queue the files at `paths` and in folders there, so that a crash loses none; on any thread.

        Paths that cannot be found go into the job's report.
        """
        self._skipped.take_back([str(path) for path in paths])
        walk = Walk(paths, self._skipped.removed())
        with self._accepting:
            self._skipped.forget([str(path) for path in paths], spared=(file.name for file in walk.files))
            self._skipped.put(walk.passed_over)
            self._waiting.enqueue(walk.files)
            self._dequeue_removed()  # who removes a file notes it first, then dequeues it: one of the two comes last
            job.add(walk.files)
            job.report.errors += walk.errors
            job.report.skipped += sum(walk.skipped.values())
            job.report.notices += walk.notices
            job.advance("", waiting=bool(self._jobs))
            self._arrived.put((job, walk.files))
        self._wake.set()

    def run(self, rest: Job) -> None:
        """Bring stale documents up to date and work through the queue, until both are empty.

        What no other job asks for is counted to `rest`. Raises Cancelled after `stop`; jobs not done end by it.
        """
        try:
            self._begin(rest)
            while self._step():
                pass
        except Exception as error:
            self._give_up(error)
            raise
        self._store.sweep()

    def rest(self) -> None:
        """Give back what reading and embedding have taken; no `run` is under way."""
        for lane in self._all_lanes():
            lane.rest()
        self._embedder.rest()

    def stop(self) -> None:
        """End a `run`, and every later one, at its next batch; on any thread."""
        self._stopped.set()
        for lane in self._all_lanes():
            lane.stop()
        self._wake.set()

    @property
    def is_stopped(self) -> bool:
        """Tell whether `stop` was called, so that no `run` does anything any more."""
        return self._stopped.is_set()

    def close(self) -> None:
        """End the threads; no `run` is under way."""
        self.stop()
        for lane in self._all_lanes():
            lane.close()

    def add(self, name: str, title: str, text: str, report: Report) -> None:
        """Put one text under a name, in place of what has that name; nothing is done when it is there already."""
        document = Document(name, title, text, hashlib.sha256(text.encode()).digest(), self.recipe)
        if self._is_stored(name, document.sha256):
            report.unchanged += 1
            return
        job = Job()
        job.report = report
        draft = self._draft(Entry(Queued(name, "", len(text)), job), document, list(spans(text, self._chunk_words)))
        self._turns.add(draft)
        while batch := self._turns.take(BATCH_CHUNKS):
            self._embed(batch)
        _count(report, draft, self._commit(document, _rows(draft), lambda: True, unobserved))

    # --- on the thread of `run` -------------------------------------------------------------------------------------

    def _begin(self, rest: Job) -> None:
        """Take up the stale documents and the files that are still queued."""
        with self._accepting:
            self._arrive()
            self._dequeue_removed()  # a removal is durable, its dequeuing is not
            with self._store.moment() as moment:
                stale, queued = moment.stale(self.recipe), self._waiting.files()
        files = [Queued(name, stale=True) for name in stale]
        files += [file for file in queued if not self._wanted[file.name]]
        rest.add(files)
        self._take_on(rest, files)

    def _dequeue_removed(self) -> None:
        removed = self._skipped.removed()
        if removed:
            self._waiting.dequeue([file.name for file in self._waiting.files() if file.name in removed])

    def _arrive(self) -> None:
        while not self._arrived.empty():
            self._take_on(*self._arrived.get())

    def _take_on(self, job: Job, files: Sequence[Queued]) -> None:
        if job not in self._jobs:
            self._jobs.append(job)
        for file in files:
            self._wanted[file.name] += not file.stale
            self._lane_of(file).add(Entry(file, job))
        self._end_jobs()

    def _lane_of(self, file: Queued) -> Lane:
        if file.stale:
            return self._stale
        return self._suspects if file.attempts else self._fitting(file.size)

    def _fitting(self, size: float) -> Lane:
        return next(lane for lane in self._lanes if size <= lane.max_bytes)

    def _step(self) -> bool:
        """Embed a batch, or wait until there is one; False when all is done."""
        self._check_stop()
        self._wake.clear()
        self._arrive()
        on_open = 0
        for lane in self._active():
            for entry, reading in lane.ready(self._busy):
                self._open(lane, entry, reading)
                on_open += 1
        if batch := self._turns.take(BATCH_CHUNKS):
            batch = self._without_removed(batch)
            if batch:
                self._report(batch)
                self._embed(batch)
            for share in batch:
                if share.is_last:
                    self._finish(share.draft)
        elif not on_open and not any(self._active()):
            return False
        elif not on_open:
            self._wake.wait()
        return True

    def _without_removed(self, batch: Sequence[Share]) -> list[Share]:
        """Return a batch without files that were removed while they were read: nothing more of them is embedded."""
        drafts = {id(share.draft): share.draft for share in batch if not share.draft.file.stale}
        gone = [draft for draft in drafts.values() if draft.file.name not in self._waiting]
        for draft in gone:
            self._turns.drop(draft)
            self._close(Entry(draft.file, draft.job), unread=True)
        return [share for share in batch if not any(share.draft is draft for draft in gone)]

    def _active(self) -> list[Lane]:
        """Return the lanes to read now: files at which a process died; or else stale documents; or else all others."""
        for lane in (self._suspects, self._stale):
            if lane:
                return [lane]
        return self._lanes

    def _open(self, lane: Lane, entry: Entry, reading: Future[Draft | None]) -> None:
        file, job = entry
        try:
            draft = reading.result()
        except DocumentError as error:  # an older version of the file, if there is one, stays
            if isinstance(error, SecretError) and file.root:  # a file of a folder that nobody meant
                job.report.notices.append(str(error))
            else:
                job.report.errors.append((shown(Path(file.name)), str(error)))
            self._skipped.put([(file.name, reason_of(Path(file.name), error))])
            log.warning("not read", line=str(error))
            draft = None
        if draft is None:
            self._close(entry, unread=True)
        elif len(draft.document.text) > CHARS_PER_BYTE * lane.max_bytes:
            self._leave(file)
            self._fitting(len(draft.document.text)).add(entry)
        else:
            job.on_open(file, len(draft.spans))
            self._turns.add(draft)

    def _finish(self, draft: Draft) -> None:
        self._check_stop()
        name = draft.file.name
        is_wanted = (lambda: self._is_here(name)) if draft.file.stale else (lambda: name in self._waiting)
        try:
            with draft.job.storing(name, len(draft.spans)) as on_stored:
                change = self._commit(draft.document, _rows(draft), is_wanted, on_stored)
        except VectorsGone as error:
            draft.job.report.errors.append((shown(Path(name)), str(error)))
        else:
            _count(draft.job.report, draft, change)
            draft.job.added += [name] if change and not len(change.removed) else []
            if change and not draft.file.stale:
                self._skipped.read(name, draft.notice)
        self._close(Entry(draft.file, draft.job), unread=False)

    def _close(self, entry: Entry, *, unread: bool) -> None:
        file, job = entry
        job.closed(file, unread=unread)
        self._leave(file)
        if not file.stale:
            self._wanted[file.name] -= 1
            if not self._wanted[file.name]:
                del self._wanted[file.name]
                if job.is_done:
                    self._store.sync()
                self._waiting.dequeue([file.name])
        job.advance(file.name)
        self._end_jobs()

    def _leave(self, file: Queued) -> None:
        self._busy.discard(file.name)
        for lane in self._all_lanes():
            lane.leave(file.name)

    def _end_jobs(self) -> None:
        for job in [job for job in self._jobs if job.is_done]:
            self._jobs.remove(job)
            job.report.removed += self._settle(job.added) if job.added else 0
            job.on_end(None)

    def _give_up(self, error: Exception) -> None:
        for lane in self._all_lanes():
            lane.clear()
        for left in (self._turns, self._busy, self._wanted):
            left.clear()
        jobs, self._jobs = self._jobs, []
        for job in jobs:
            job.on_end(error)

    def _report(self, batch: Sequence[Share]) -> None:
        """Report progress to every job: a file of its own in the batch, or the file that it waits for."""
        own = {id(share.draft.job): share.draft.file.name for share in reversed(batch)}
        for job in self._jobs:
            job.advance(own.get(id(job), batch[0].draft.file.name), waiting=id(job) not in own)

    def _embed(self, batch: Sequence[Share]) -> None:
        """Make the vectors that are missing, and store them at once."""
        texts = {share.draft.digests[n]: (share.draft, n) for share in batch for n in range(share.first, share.last)}
        with self._store.moment() as moment:
            missing = moment.missing(list(texts))
        todo = [(key, *place) for key, place in texts.items() if key in missing]
        if todo:
            started = time.perf_counter()
            vectors = self._embedder.documents([draft.chunk(number) for _, draft, number in todo])
            per_chunk_s = (time.perf_counter() - started) / len(todo)
            self._store.put_vectors([key for key, _, _ in todo], vectors)
            for _, draft, _ in todo:
                draft.job.report.embedded += 1
                draft.job.report.embedding_s += per_chunk_s
        for share in batch:
            share.draft.job.embedded(share.last - share.first)

    def _check_stop(self) -> None:
        if self._stopped.is_set():
            raise Cancelled("ingestion was stopped", "it resumes at the next start")

    def _all_lanes(self) -> list[Lane]:
        return [self._suspects, self._stale, *self._lanes]

    # --- on the threads of the lanes --------------------------------------------------------------------------------

    def _read(self, entry: Entry, sandboxes: Sandboxes) -> Draft | None:
        """Read a file as a draft; None when there is nothing to do. Raises DocumentError."""
        file, job = entry
        path = Path(file.name)
        if file.name not in self._waiting:  # removed meanwhile
            return None
        if file.attempts >= ATTEMPTS:
            text = f"{shown(path)}: the daemon ended {file.attempts} times while reading it"
            raise DocumentError(text, "save it in another form, then ingest it again")
        data = read_bytes(path, file.root)
        sha256 = hashlib.sha256(data).digest()
        if self._is_stored(file.name, sha256) and not self._can_be_recognised(file.name):
            job.report.unchanged += 1
            self._skipped.unchanged(file.name)
            return None
        self._waiting.attempt(file.name)
        try:
            parsed = sandboxes.read(path, data, self._chunk_words)
        finally:
            self._waiting.survived(file.name)
        if parsed.notice:
            job.report.notices.append(f"{shown(path)}: {parsed.notice}")
        document = Document(file.name, parsed.title, parsed.text, sha256, self.recipe, parsed.outline)
        return replace(self._draft(entry, document, parsed.spans), notice=parsed.notice)

    def _reread(self, entry: Entry, _: Sandboxes) -> Draft | None:
        """Return a stored document as a draft, without reading its file; None when it was removed meanwhile.

        One whose file an earlier hocket read differently counts as changed when its file is ingested again.
        """
        with self._store.moment() as moment:
            document = moment.document(entry.file.name)
        if document is None:
            return None
        sha256 = document.sha256 if document.recipe.endswith(_READ) else b""
        parts = list(spans(document.text, self._chunk_words, borders(document.outline)))
        return self._draft(entry, document._replace(recipe=self.recipe, sha256=sha256), parts)

    def _draft(self, entry: Entry, document: Document, parts: list[tuple[int, int]]) -> Draft:
        text, fingerprint = document.text, self._embedder.fingerprint
        digests = [digest(fingerprint, text[start:end]) for start, end in parts]
        return Draft(entry.file, entry.job, document, parts, digests)

    def _is_here(self, name: str) -> bool:
        with self._store.moment() as moment:
            return moment.document(name) is not None

    def _can_be_recognised(self, name: str) -> bool:
        """Tell whether pages of a stored file were skipped for want of text recognition that is installed now."""
        return recognition.is_installed() and recognition.REMEDY in self._skipped.reason(name)

    def _is_stored(self, name: str, sha256: bytes) -> bool:
        with self._store.moment() as moment:
            document = moment.document(name)
        return document is not None and (document.sha256, document.recipe) == (sha256, self.recipe)


def _rows(draft: Draft) -> list[NewChunk]:
    outline = draft.document.outline
    return [
        NewChunk(draft.chunk(number), key, place_of(outline, *draft.spans[number]))
        for number, key in enumerate(draft.digests)
    ]


def _count(report: Report, draft: Draft, change: Change | None) -> None:
    if change:  # else it was removed meanwhile
        report.replaced += bool(len(change.removed))
        report.added += not len(change.removed)
        report.chunks += len(draft.spans)
