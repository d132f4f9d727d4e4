"""Laws of the retrieval daemon, over real sockets and real processes."""

import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest
from scripted_server import serving

from hocket_bus import messages as m
from hocket_bus.config import from_values
from hocket_bus.deadline import Deadline
from hocket_bus.errors import BadConfiguration
from hocket_bus.sockets import Bus, LinkUp, Received
from hocket_retrieval.collection import Collection
from hocket_retrieval.config import GraphConfig, RetrievalConfig
from hocket_retrieval.service import daemon as daemons
from hocket_retrieval.service import replies
from hocket_retrieval.service.answering import THREADS_OF_ONE
from hocket_retrieval.service.daemon import Daemon
from hocket_retrieval.text.heads import Placed, headed
from manager import manager
from waiting import WAIT_S, until

ID = bytes(range(16))
RUN = (
    "import sys; from pathlib import Path; from hocket_bus.config import load;"
    "from hocket_retrieval.config import RetrievalConfig; from hocket_retrieval.service.daemon import run;"
    "run(load(Path(sys.argv[1]), RetrievalConfig))"
)


class Caller:
    """The other end of one link: sends a request and collects its answers."""

    def __init__(self, bus, endpoint, events):
        self._events = events
        self._asked = m.StatusRequest(request=ID)
        self.link = bus.dial(endpoint, m.Hello(role="device"))
        while not isinstance(events.get(timeout=WAIT_S), LinkUp):
            pass  # a process that is still starting is a LinkDown first

    def __call__(self, request):
        self._asked = request
        self.link.send(request)
        return self.next()

    def next(self, silence_s=WAIT_S):
        while True:
            event = self._events.get(timeout=silence_s)
            if isinstance(event, Received):
                return event.message
            if isinstance(event, LinkUp):  # a daemon too busy with its loading to answer pings was given up
                self.link.send(self._asked)

    def ingest(self, *paths):
        """All Progress of an ingestion, and its end."""
        seen = [self(m.Ingest(request=ID, paths=[str(path) for path in paths]))]
        while isinstance(seen[-1], m.Progress):
            seen.append(self.next())
        return seen[:-1], seen[-1]


@contextmanager
def dialled(endpoint):
    events = queue.SimpleQueue()
    with Bus(events.put) as bus:
        yield Caller(bus, endpoint, events)


@pytest.fixture
def config(tmp_path):
    return RetrievalConfig(endpoint=f"ipc://{tmp_path}/r.sock", state=str(tmp_path / "state"))


@contextmanager
def running(config, toy, monkeypatch):
    """A daemon in this process, with the toy embedder."""
    opened = threading.Event()

    def open_collection(config):
        assert toy.loaded.wait(WAIT_S)
        opened.set()
        return Collection(Path(config.state), toy, chunk_words=config.chunk_words, graph=config.graph)

    monkeypatch.setattr(daemons, "open_collection", open_collection)
    daemon = Daemon(config)
    try:
        daemon.start()
        yield daemon
    finally:
        toy.gate.set()
        toy.loaded.set()
        daemon.close()


@pytest.fixture
def call(config, toy, monkeypatch):
    with running(config, toy, monkeypatch), dialled(config.endpoint) as caller:
        wait_until_ready(caller)
        yield caller


def wait_until_ready(caller):
    """A daemon that loads may be too busy to keep a link: asked again after a silence, as clients do."""
    deadline = Deadline.after(2 * WAIT_S)
    status = None
    while status is None or not status.ready:
        assert not deadline.passed
        caller.link.send(m.StatusRequest(request=ID))
        with suppress(queue.Empty):
            status = caller.next(WAIT_S / 10)


def search(query="Fendwick harbour", k=1):
    return m.Search(request=ID, query=query, k=k)


def test_ingest_search_list_and_remove(call, files):
    """The life of documents over the bus: every request gets its answer, under its own id."""
    progress, end = call.ingest(files, files / "none.txt")
    assert (end.added, end.chunks, end.embedded, len(end.failures)) == (3, 3, 3, 1)
    assert {message.files_total for message in progress} == {3}

    answer = call(search())
    assert answer.request == ID
    assert answer.documents_total == 3
    assert "Ada Merrow" in answer.passages[0].text
    assert answer.scorer.startswith("probability:")

    listed = call(m.ListDocuments(request=ID, offset=1))
    assert (listed.total, [document.title for document in listed.documents]) == (3, ["garden", "harbour"])

    removed = call(m.Remove(request=ID, documents=[str(files), "/nowhere"]))
    assert (removed.removed, removed.missing) == (3, ["/nowhere"])
    assert call(search()).documents_total == 0
    assert call(m.StatusRequest(request=ID)).facts["documents"] == "0"


def test_an_engine_that_hangs_holds_up_nobody(config, toy, monkeypatch, files):
    """Ingestion, searches and removals go on while it is asked, and the status says who gets the text."""
    one, other = sorted(files.glob("*.*"))[:2]
    with serving(lambda _: [lambda connection: connection.recv(1)]) as server:
        engine = GraphConfig(engine=server.url, model="m")
        config = msgspec.structs.replace(config, graph=engine)
        with running(config, toy, monkeypatch), dialled(config.endpoint) as call:
            wait_until_ready(call)
            for number, path in enumerate((one, other), start=1):
                assert call.ingest(path)[1].added == 1
                until(lambda number=number: len(server.requests) == number)
            assert call(search()).documents_total == 2
            facts = call(m.StatusRequest(request=ID)).facts
            assert f"documents' text goes to the server at 127.0.0.1:{server.port}" in facts["entities are found"]
            assert facts["passages to read into the graph"] == "2"
            assert call(m.Remove(request=ID, documents=[str(files)])).removed == 2


def test_an_empty_store_says_so(call):
    """Nothing ingested is an answer, not an error: no passages, and a total of 0."""
    answer = call(search())

    assert (answer.passages, answer.documents_total) == ([], 0)


@pytest.mark.parametrize(
    ("request_", "remedy"),
    [
        (search(""), "ask something"),
        (search("x" * 9000), "shorten it to 8000"),
        (m.Ingest(request=ID, paths=["notes.txt"]), "absolute"),
    ],
)
def test_bad_requests_are_answered(call, request_, remedy):
    """A request that cannot be served gets one Error with a remedy, and the daemon lives on."""
    error = call(request_)

    assert isinstance(error, m.Error)
    assert (error.request, error.code) == (ID, "bad_request")
    assert remedy in error.remedy
    assert isinstance(call(search()), m.Passages)


def test_messages_for_others_are_refused(call):
    """What a retrieval daemon does not do is an Error that names it."""
    assert "Cancel" in call(m.Cancel(request=ID)).text


def test_while_loading_the_daemon_says_so(config, toy, monkeypatch):
    """Before the models are loaded a search is a clear error, never an empty answer, and the status is not ready."""
    toy.loaded.clear()
    with running(config, toy, monkeypatch), dialled(config.endpoint) as call:
        assert not call(m.StatusRequest(request=ID)).ready
        error = call(search())
        assert (error.code, error.remedy) == ("unavailable", "try again in a few seconds")
        toy.loaded.set()
        wait_until_ready(call)
        assert isinstance(call(search()), m.Passages)


def test_a_search_that_nobody_waits_for_is_answered_at_once_and_never_begun(call, files, monkeypatch):
    """Drop takes it out of its line, whatever is being answered; those under way and those behind it are answered."""
    call.ingest(files)
    begun, gate, real = queue.SimpleQueue(), threading.Event(), Collection.search

    def held(collection, query, *rest, **more):
        begun.put(query)
        assert gate.wait(WAIT_S)
        return real(collection, query, *rest, **more)

    monkeypatch.setattr(Collection, "search", held)
    for number in range(THREADS_OF_ONE + 2):
        call.link.send(m.Search(request=bytes([number] * 16), query=f"harbour {number}"))
    for _ in range(THREADS_OF_ONE):
        begun.get(timeout=WAIT_S)
    call.link.send(m.Drop(request=bytes(16)))
    error = call(m.Drop(request=bytes([THREADS_OF_ONE] * 16)))
    assert (type(error), error.code, error.request) == (m.Error, "cancelled", bytes([THREADS_OF_ONE] * 16))
    gate.set()
    answers = {call.next().request for _ in range(THREADS_OF_ONE + 1)}
    assert answers == {bytes([number] * 16) for number in (*range(THREADS_OF_ONE), THREADS_OF_ONE + 1)}
    assert begun.get(timeout=WAIT_S) == f"harbour {THREADS_OF_ONE + 1}"


def _behind_progress(call, asked, kind):
    """The answer of a kind; only progress may come before it."""
    answer = call(asked)
    while not isinstance(answer, kind):
        assert isinstance(answer, m.Progress)
        answer = call.next()
    return answer


def test_searches_are_answered_while_ingesting(call, toy, files):
    """A job that stands still does not keep searches waiting."""
    call.ingest(files)
    toy.gate.clear()
    (files / "new.txt").write_text("A new file.")
    call.link.send(m.Ingest(request=bytes(16), paths=[str(files)]))
    assert _behind_progress(call, search(), m.Passages)
    until(lambda: "ingesting" in _behind_progress(call, m.StatusRequest(request=ID), m.Status).facts["work"])
    toy.gate.set()
    while not isinstance(end := call.next(), m.Ingested):
        assert isinstance(end, m.Progress)
    assert (end.request, end.added) == (bytes(16), 1)


def test_an_ended_daemon_answers_its_job_and_the_next_one_finishes_it(config, toys, files, monkeypatch):
    """Ending in the middle of an ingestion tells the one who asked; a daemon started again completes it unasked."""
    toy = toys()
    toy.gate.clear()
    with running(config, toy, monkeypatch) as daemon, dialled(config.endpoint) as call:
        wait_until_ready(call)
        call.link.send(m.Ingest(request=ID, paths=[str(files)]))
        assert toy.entered.wait(WAIT_S)
        closing = threading.Thread(target=daemon.close)
        monkeypatch.setattr(daemon, "close", lambda: closing.join(WAIT_S))
        closing.start()
        assert daemon._stopped.wait(WAIT_S)
        while not daemon._collection._ingester._stopped.wait(WAIT_S):
            pass
        toy.gate.set()
        while isinstance(end := call.next(), m.Progress):
            pass
        assert (type(end), end.code) == (m.Error, "cancelled")
    with running(config, toys(), monkeypatch), dialled(config.endpoint) as call:
        wait_until_ready(call)
        while call(m.StatusRequest(request=ID)).facts["work"] != "none":
            pass
        assert call(search()).documents_total == 3


@pytest.mark.slow
def test_the_real_daemon_under_a_service_manager(config, tmp_path, files):
    """The process with the bundled embedder is ready, answers by meaning, reloads, and ends well on SIGTERM."""
    file, notify = tmp_path / "retrieval.toml", str(tmp_path / "notify")
    file.write_text("".join(f'{key} = "{getattr(config, key)}"\n' for key in ("endpoint", "state")) + "threads = 1\n")
    environment = os.environ | {"NOTIFY_SOCKET": notify, "WATCHDOG_USEC": "3000000"}
    with (
        manager(notify) as systemd,
        subprocess.Popen(
            [sys.executable, "-c", RUN, str(file)], stderr=subprocess.PIPE, text=True, env=environment
        ) as process,
    ):
        try:
            systemd.until("READY")
            systemd.until("WATCHDOG")
            with dialled(config.endpoint) as call:
                wait_until_ready(call)
                call.ingest(files)
                assert "Tulips" in call(search("Which flowers bloom?")).passages[0].text
            process.send_signal(signal.SIGHUP)
            assert int(systemd.until("RELOADING")["MONOTONIC_USEC"]) > 0
            systemd.until("READY")
            process.send_signal(signal.SIGTERM)
            systemd.until("STOPPING")
            _, errors = process.communicate(timeout=WAIT_S)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in errors


def test_a_second_daemon_is_refused(config, toy, monkeypatch):
    """Two daemons on one endpoint, or one folder, cannot be: the second ends with an error that says so."""
    with running(config, toy, monkeypatch), dialled(config.endpoint) as call:
        wait_until_ready(call)
        second = Daemon(config)
        try:
            with pytest.raises(BadConfiguration, match="another daemon"):
                second.start()
        finally:
            second.close()
        third = Daemon(msgspec.structs.replace(config, endpoint=config.endpoint + "2"))
        try:
            third.start()
            with pytest.raises(BadConfiguration, match="in use"):
                third.serve()
        finally:
            third.close()


def test_every_key_of_the_configuration_is_documented():
    """Every field of the record has a description; an unknown key is refused with the nearest known."""
    for kind in (RetrievalConfig, GraphConfig):
        for field in msgspec.inspect.type_info(kind).fields:
            if not isinstance(field.type, msgspec.inspect.StructType):
                assert field.type.extra_json_schema["description"]
    with pytest.raises(BadConfiguration, match="did you mean 'embedder'"):
        from_values({"endpoint": "ipc:///x", "state": "/x", "embeder": "y"}, RetrievalConfig, "file")


def test_pages_of_chunks_hold_every_text_once(call, files, monkeypatch):
    """Paging from 0 lists all texts; every change of the collection gives a new version, nothing else does."""
    monkeypatch.setattr(replies, "PAGE_CHUNKS", 2)

    def listed():
        page, texts, versions = call(m.ListChunks(request=ID)), [], set()
        while True:
            texts += page.texts
            versions.add(page.version)
            if not page.texts:
                return texts, versions.pop() if len(versions) == 1 else versions
            page = call(m.ListChunks(request=ID, after=page.last))

    versions = [listed()[1]]
    call.ingest(files)
    texts, version = listed()
    placed = (Placed(str(path), path.stem, "", path.read_text()) for path in files.iterdir())
    assert sorted(texts) == sorted(map(headed, placed))  # as a model reads them
    assert version == listed()[1]
    versions.append(version)
    call(m.Remove(request=ID, documents=[str(files / "garden.txt")]))
    texts, version = listed()
    assert not any("Tulips" in text for text in texts)
    assert len(texts) == 2
    assert len({*versions, version}) == 3


def test_a_page_of_long_chunks_stays_below_the_size_of_a_message(call, files, monkeypatch):
    """A page ends where its texts are long enough, and never before the first."""
    call.ingest(files)
    monkeypatch.setattr(replies, "PAGE_BYTES", 10)
    assert len(call(m.ListChunks(request=ID)).texts) == 1


def test_subgraphs_are_listed_behind_an_ingestion(config, toy, files, monkeypatch):
    """The graph is built without being asked for, and its parts are told page by page."""
    with running(config, toy, monkeypatch), dialled(config.endpoint) as call:
        call.ingest(files)
        asked = m.ListSubgraphs(request=ID)
        until(lambda: not call(asked).building)
        told = call(asked)
        assert (told.documents, told.total) == (3, len(told.subgraphs))
        assert any("Ada Merrow" in each.summary for each in told.subgraphs)
        assert call(m.ListSubgraphs(request=ID, offset=told.total)).subgraphs == []
        assert call(m.Search(request=ID, query="Who built the harbour?", k=1)).passages[0].subgraph > 0
