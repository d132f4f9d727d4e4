"""Which files a question passes on its way to its first draft, and that draft on its way to its reader; by running.

A key on its way to its suggestion, a document on its way into the index, and a question over HTTP on its way to the
first chunk of its answer with a token, are counted alike.

A pair with tiny models runs in this process, each daemon on a thread. A profile function sees every call of a Python
function of the five packages on four threads: the client's two, the device daemon's main loop and its compute thread.
The cloud and both retrieval daemons are threads that nobody looks at. A file counts if one of its functions is called

- to the first draft: from the call of `Client.ask` to the return of the device's `send` of its first Draft;
- to the reader: from the end of the decode step behind that draft (`decode` of runtime/compute.py) to the Token of that
  step in the hands of whoever iterates over the stream; of the compute thread only until its next decode step begins.

Two counts: all files that run, and those that are passed through, from where control goes on into another file. What
only runs is a leaf beside the way: a clock, a digest, a table.

What a loop does in every turn, question or not, does not count, nor what it calls: UPKEEP. A file counts if most of
several questions pass it, so that a heartbeat in the middle of one of them does not. Files that only define data, and
what runs while a module is imported, are not seen.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from types import CodeType, FrameType

from harness import Pair, pair
from serving import running_gateway

from conftest import save_tiny_model
from hocket_bus.messages import Draft, Ingest, Ingested
from hocket_gateway.settings import ServeSettings
from hocket_retrieval.config import RetrievalConfig
from hocket_retrieval.service.daemon import Daemon
from hocket_tools.caller import Caller
from house import PACKAGES
from waiting import WAIT_S, until

QUESTIONS = 11
TOKENS = 4
LETTERS = "tanokemulis"
DOCUMENTS = 5
LATE_S = 0.05  # a step of the cloud's: what its draft leads to is no part of the way to the device's first
CLIENT, LOOP, COMPUTE = "client", "loop", "compute"
UPKEEP = {
    ("*", "tick"), ("*", "_tick"), ("*", "due_s"), ("*", "_due_s"),  # when something is due, and acting on it
    ("awake_clock.py", "step"), ("background.py", "step"),  # a machine that slept; what is read at rest
    ("*", "sweep"), ("*", "idle"),  # what is over, and whether nobody asks
}  # fmt: skip
BESIDE_A_KEY = {("serving/search/retrieval.py", "on_reply")}  # memory that an earlier key has asked for


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, or the return from it, on one of the threads; `step` is the draft's that it sends."""

    thread: str
    code: CodeType
    returns: bool
    step: int | None = None

    @property
    def file(self) -> str:
        """The file's path from its package on."""
        parts = Path(self.code.co_filename).parts
        return "/".join(parts[next(at for at, part in enumerate(parts) if part in PACKAGES) :])

    def is_of(self, file: str, name: str) -> bool:
        """Whether the function is `name` of a file whose path ends so."""
        return self.code.co_name == name and self.file.endswith(file)


@dataclass
class Recorder:
    """A profile function for all threads; `threads` names those that count, and `calls` is what it saw of them."""

    threads: dict[int, str] = field(default_factory=dict)
    everywhere: bool = False  # every thread counts
    calls: list[Call] = field(default_factory=list)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Called by the interpreter."""
        number = threading.get_ident()
        thread = self.threads.get(number, str(number) if self.everywhere else None)
        code = frame.f_code
        if thread is None or event not in ("call", "return") or code.co_name == "<module>":
            return
        if not any(f"/{package}/" in code.co_filename for package in PACKAGES):
            return
        step = _sent(frame) if code.co_name == "send" and (self.everywhere or thread == LOOP) else None
        self.calls.append(Call(thread, code, event == "return", step))


def _sent(frame: FrameType) -> int | None:
    """The step of the draft that is sent, or 0 with the end of an ingestion."""
    sent = (value for value in frame.f_locals.values() if isinstance(value, Draft | Ingested))
    return next((value.step if isinstance(value, Draft) else 0 for value in sent), None)


@dataclass(frozen=True, slots=True)
class Way:
    """Files that run on a way, and those of them that call into another one."""

    run: set[str]
    through: set[str]


def to_first_draft(calls: list[Call]) -> Way:
    """From the question to the device's first draft on the wire."""
    return _way(calls[: _first_draft(calls) + 1])


def to_reader(calls: list[Call]) -> Way:
    """From the end of that draft's decode step to the token's reader, `calls` ending with the latter."""
    ended = max(at for at in range(_first_draft(calls)) if _is_decode(calls[at]) and calls[at].returns)
    way, handing_over = [], True
    for call in calls[ended + 1 :]:
        handing_over = handing_over and not (_is_decode(call) and not call.returns)
        if handing_over or call.thread != COMPUTE:
            way.append(call)
    return _way(way)


def _first_draft(calls: list[Call]) -> int:
    return next(at for at, call in enumerate(calls) if call.step == 0 and call.returns)


def _is_decode(call: Call) -> bool:
    return call.thread == COMPUTE and call.is_of("runtime/compute.py", "decode")


def _way(calls: list[Call], beside: Collection[tuple[str, str]] = ()) -> Way:
    stacks: dict[str, list[Call]] = defaultdict(list)
    way = Way(set(), set())
    for call in calls:
        stack = stacks[call.thread]
        if call.returns:
            if stack:  # else it was called before
                stack.pop()
            continue
        stack.append(call)
        if any(_is_one_of(each, {*UPKEEP, *beside}) for each in stack):
            continue
        way.run.add(call.file)
        if len(stack) > 1 and stack[-2].file != call.file:
            way.through.add(stack[-2].file)
    return way


def _is_one_of(call: Call, functions: Collection[tuple[str, str]]) -> bool:
    return any(call.is_of("" if file == "*" else "/" + file, name) for file, name in functions)


@contextmanager
def _running(recorder: Recorder, folder: Path) -> Iterator[Pair]:
    """A pair whose threads report to `recorder`, which knows the device's."""
    models = {
        "device": save_tiny_model(folder / "models" / "device", seed=1),
        "cloud": save_tiny_model(folder / "models" / "cloud", seed=2, layers=3),
    }
    threading.setprofile(recorder)
    with pair(folder, models, start=False) as parts:
        for side in ("device", "cloud"):
            parts.start_retrieval(side)
        parts.start_cloud(hold_s=LATE_S)
        before = set(threading.enumerate())
        parts.start_device()
        for thread in set(threading.enumerate()) - before:
            name = {"device": LOOP, "compute": COMPUTE}.get(thread.name)
            if name is not None:
                recorder.threads[thread.ident or 0] = name
        assert {*recorder.threads.values()} == {LOOP, COMPUTE}
        yield parts
    threading.setprofile(None)


def _ask(recorder: Recorder, parts: Pair) -> list[list[Call]]:
    """The calls of each question until the token of its first step was read."""
    before = set(threading.enumerate())
    client = parts.client()
    recorder.threads |= {thread.ident or 0: CLIENT for thread in {*threading.enumerate()} - before}
    recorder.threads[threading.get_ident()] = CLIENT
    list(client.ask("The first question meets what is made once.", max_tokens=TOKENS))
    found = []
    for number in range(QUESTIONS):
        time.sleep(0.2)  # what the last question left behind
        recorder.calls = []
        sys.setprofile(recorder)
        stream = iter(client.ask(f"Who keeps the letters of house {number}?", max_tokens=TOKENS))
        next(token for token in stream if token.step == 0)
        sys.setprofile(None)
        found.append(recorder.calls)
        recorder.calls = []
        list(stream)
    return found


def ways() -> tuple[Way, Way]:
    """The way of a question to its first draft, and of a draft to its reader; takes some seconds."""
    recorder = Recorder()
    with tempfile.TemporaryDirectory(prefix="hk") as folder, _running(recorder, Path(folder)) as parts:
        asked = _ask(recorder, parts)
    return _usual([to_first_draft(calls) for calls in asked]), _usual([to_reader(calls) for calls in asked])


def to_suggestion() -> Way:
    """From a key to the suggestion for it, in the hands of whoever types."""
    recorder, found = Recorder(), []
    with tempfile.TemporaryDirectory(prefix="hk") as folder, _running(recorder, Path(folder)) as parts:
        before = set(threading.enumerate())
        client = parts.client()
        recorder.threads |= {thread.ident or 0: CLIENT for thread in {*threading.enumerate()} - before}
        recorder.threads[threading.get_ident()] = CLIENT
        with client.compose("kala mira duno soretu", memory=False) as composer:
            composer.wait(WAIT_S)
            for letter in LETTERS:
                time.sleep(0.2)
                recorder.calls = []
                sys.setprofile(recorder)
                composer.update(composer.text + letter)
                assert composer.wait(WAIT_S) is not None
                sys.setprofile(None)
                found.append(_way(recorder.calls, BESIDE_A_KEY))
    return _usual(found)


def to_first_chunk() -> Way:
    """From a request over HTTP to the event that has the first token: threads of the gateway and of the device."""
    recorder, found = Recorder(), []
    with tempfile.TemporaryDirectory(prefix="hk") as folder, _running(recorder, Path(folder)) as parts:
        before = set(threading.enumerate())
        with running_gateway(ServeSettings(port=0, device=parts.endpoint("device"))) as (port, _):
            _stream_over_http(port, "The first question meets what is made once.")
            recorder.threads |= {thread.ident or 0: thread.name for thread in {*threading.enumerate()} - before}
            for number in range(QUESTIONS):
                time.sleep(0.2)  # what the last question left to do
                recorder.calls = []
                _stream_over_http(port, f"Who keeps the letters of house {number}?")
                calls, recorder.calls = recorder.calls, []
                found.append(_way(calls[: _first_chunk(calls) + 1]))
    return _usual(found)


def _stream_over_http(port: int, question: str) -> None:
    """Ask by OpenAI's chat completions, and read all events."""
    body = {
        "model": "hocket",
        "stream": True,
        "max_tokens": TOKENS,
        "messages": [{"role": "user", "content": question}],
    }
    connection = HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    with closing(connection):
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.status == 200
        assert b"[DONE]" in response.read()


def _first_chunk(calls: list[Call]) -> int:
    return next(at for at, call in enumerate(calls) if call.returns and call.is_of("openai_api/chat.py", "_token"))


def to_searchable() -> Way:
    """From an Ingest to the word that a document can be found; whoever asks is connected, as with a question.

    What its parsers do in the sandbox is not seen.
    """
    recorder, found = Recorder(everywhere=True), []
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        threading.setprofile(recorder)
        daemon = Daemon(RetrievalConfig(endpoint=f"ipc://{folder}/x", state=f"{folder}/state"))
        daemon.start()
        with Caller(f"ipc://{folder}/x", WAIT_S) as caller:
            for number in range(DOCUMENTS):
                file = Path(folder) / f"{number}.txt"
                file.write_text(f"House {number} stands behind the mill. Its letters are kept by the miller.\n" * 3)
                message = Ingest(request=os.urandom(16), paths=[str(file)])
                until(lambda: _settled(daemon))
                recorder.calls = []
                sys.setprofile(recorder)
                list(caller.replies(message, WAIT_S))
                sys.setprofile(None)
                found.append(_way(_until_told(recorder.calls)))
        threading.setprofile(None)
        daemon.close()
    return _usual(found)


def _settled(daemon: Daemon) -> bool:
    """Whether it has loaded, and the graph has followed the last document."""
    collection = daemon._collection
    return collection is not None and not collection.graph.info().building and not collection.graph.extraction().unread


def _until_told(calls: list[Call]) -> list[Call]:
    """Without what the thread that ingests does behind the news that it is done: the graph follows by itself."""
    told = next(at for at, call in enumerate(calls) if call.step == 0 and not call.returns)
    return [call for at, call in enumerate(calls) if at <= told or call.thread != calls[told].thread]


def _usual(ways: list[Way]) -> Way:
    return Way(_maximum([way.run for way in ways]), _maximum([way.through for way in ways]))


def _maximum(found: list[set[str]]) -> set[str]:
    counted = Counter(file for files in found for file in files)
    return {file for file, times in counted.items() if times > len(found) / 2}
