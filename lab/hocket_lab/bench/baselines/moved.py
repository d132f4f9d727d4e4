"""DRCG/KV (paper §7.1): like DRCG/Text, but the KV of the cloud's passages is transferred, and nothing is read anew.

The cloud's machine stores the KV that the device's own model computes for every document there, for the device to use.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from multiprocessing.connection import Client, Listener
from multiprocessing.connection import Connection as Wire
from pathlib import Path

import msgpack
import msgspec
import numpy as np

from hocket_bus.messages import Chunks, ListChunks, Passage, Passages, Search
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.runtime import entry
from hocket_daemon.engine.runtime.entry import KV
from hocket_daemon.engine.runtime.sequences import compute_ahead, prefix_of
from hocket_daemon.engine.runtime.stored import StoredKV
from hocket_daemon.engine.settings import KVSettings, ModelSettings
from hocket_daemon.engine.text.tokenizer import Prefix
from hocket_lab.bench.baselines.drcg import Terms, answered
from hocket_lab.bench.running.stream import Run
from hocket_tools.caller import Caller

PART_BYTES = 256 * 1024
BUDGET_BYTES = 32_000_000_000  # whatever the documents take
WAIT_S = 60.0
NUMBER_BYTES = 2  # of a passage


class Keeper:
    """The stored KV of all documents that `searcher` can find, as the device's model computes it."""

    def __init__(self, folder: Path, searcher: Caller, model: str) -> None:
        """Compute the KV of the documents that are there now, which takes a while."""
        kept = KVSettings(folder=str(folder), budget_bytes=BUDGET_BYTES)
        self.model = open_model(ModelSettings(name=model), "device", kept)
        self._searcher = searcher
        self._layout = self.model.layout("answer")
        for texts in self._pages():
            compute_ahead(self.model, texts, Interrupt())

    @property
    def store(self) -> StoredKV:
        """The store that holds the KV."""
        assert self.model.stored is not None
        return self.model.stored

    def prefix(self, text: str) -> Prefix:
        """Return a document as a prefix of the device's model."""
        return prefix_of(self.model, self._layout, text)

    def search(self, query: str, k: int) -> Passages:
        """Return the passages for a query."""
        return self._searcher.ask(Search(request=os.urandom(16), query=query, k=k), Passages, WAIT_S)

    def _pages(self) -> Iterator[list[str]]:
        after = 0
        while True:
            page = self._searcher.ask(ListChunks(request=os.urandom(16), after=after), Chunks, WAIT_S)
            if not page.texts:
                return
            yield page.texts
            after = page.last


class Offer:
    """The cloud's end, for one device: answers a query with the passages' KV in parts, and then with the passages.

    A frame of a part begins with the number of its passage; an empty frame ends them.
    """

    def __init__(self, endpoint: str, keeper: Keeper) -> None:
        self._keeper = keeper
        self._listener = Listener(place(endpoint))
        self._thread = threading.Thread(target=self._serve, name="kv", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Accept no more connections; clients that are connected are answered to the end."""
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError, EOFError), self._listener.accept() as device:
            while True:
                self._answer(device)

    def _answer(self, device: Wire) -> None:
        asked = msgpack.unpackb(device.recv_bytes())
        found = self._keeper.search(asked["query"], asked["k"])
        for number, passage in enumerate(found.passages):
            kv = self._keeper.store.find(self._keeper.prefix(passage.text))
            assert kv is not None, "whatever is found was computed before"
            for payload in parts(kv):
                device.send_bytes(number.to_bytes(NUMBER_BYTES) + payload)
        device.send_bytes(b"")
        device.send_bytes(msgspec.msgpack.encode(found.passages))


class MovedKV:
    """DRCG/KV: both searches at once, the cloud's passages with their KV, and the device generates alone."""

    def __init__(self, device: Caller, cloud: Caller, endpoints: tuple[str, str], model: str) -> None:
        """Connect to both retrieval daemons; KV is offered at the first of `endpoints` and fetched at the second."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hocket-")))
            self._own = Keeper(folder / "device", device, model)
            stack.callback(self._own.store.close)
            theirs = Keeper(folder / "cloud", cloud, model)
            stack.callback(theirs.store.close)
            stack.callback(Offer(endpoints[0], theirs).close)
            self._remote = stack.enter_context(Client(place(endpoints[1])))
            self._stack = stack.pop_all()

    def close(self) -> None:
        """Close the cloud's part and drop the stored KV."""
        self._stack.close()

    def run(self, prompt: str, terms: Terms) -> Run:
        """Answer as the device's user would see it."""
        started_s = time.monotonic()
        with ThreadPoolExecutor(1) as pool:
            moved = pool.submit(self._fetch, prompt, terms.documents)
            passages = self._own.search(prompt, terms.documents).passages + moved.result()
        return answered(self._own.model, prompt, passages, terms, started_s)

    def _fetch(self, query: str, k: int) -> list[Passage]:
        """Return the cloud's passages; their KV is in the device's store afterwards."""
        self._remote.send_bytes(msgpack.packb({"query": query, "k": k}))
        came: dict[int, bytearray] = {}
        while frame := self._remote.recv_bytes():
            came.setdefault(int.from_bytes(frame[:NUMBER_BYTES]), bytearray()).extend(frame[NUMBER_BYTES:])
        passages: list[Passage] = msgspec.msgpack.decode(self._remote.recv_bytes(), type=list[Passage])
        for number, passage in enumerate(passages):
            self._own.store.put(self._own.prefix(passage.text), whole(came[number]))
        return passages


def place(endpoint: str) -> tuple[str, int]:
    """Return host and port of a TCP endpoint."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    return host, int(port)


def parts(kv: KV) -> Iterator[bytes]:
    """Return a document's KV in pieces of at most PART_BYTES."""
    data = b"".join(entry.encode(b"", kv))
    return (data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES))


def whole(came: bytearray) -> KV:
    """Return the KV that consists of these pieces, joined. Raises Damaged."""
    return entry.decode(b"", np.frombuffer(came, dtype=np.uint8), check=True)
