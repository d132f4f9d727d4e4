"""DRCG/KV (paper §7.1): as DRCG/Text, but the keys and values of the cloud's passages travel, and nothing is read anew.

The cloud's machine keeps what the device's own model makes of every document there, so that the device can take it up.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from hocket_bus.messages import Chunks, Error, ListChunks, Message, Part, Passage, Passages, Search, Welcome
from hocket_bus.sockets import Bus, Event, Received, Server
from hocket_daemon.engine import entry
from hocket_daemon.engine.documents import compute_ahead, prefix_of
from hocket_daemon.engine.entry import KV
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.prompt import Prefix
from hocket_daemon.engine.settings import KVSettings, ModelSettings
from hocket_daemon.engine.stored import StoredKV
from hocket_daemon.engine.voices import open_voice
from hocket_lab.bench.baselines.drcg import Terms, answered
from hocket_lab.bench.stream import Run
from hocket_tools.caller import Caller

PART_BYTES = 256 * 1024
BUDGET_BYTES = 32_000_000_000  # whatever the documents take
WAIT_S = 60.0


class Keeper:
    """The KV of all documents behind `searcher`, as the device's model computes it."""

    def __init__(self, folder: Path, searcher: Caller, model: str) -> None:
        """Computes what is there now, which takes a while."""
        kept = KVSettings(folder=str(folder), budget_bytes=BUDGET_BYTES)
        self.model = open_voice(ModelSettings(name=model), "device", kept)
        self._searcher = searcher
        self._layout = self.model.layout("answer")
        for texts in self._pages():
            compute_ahead(self.model, texts, Interrupt())

    @property
    def store(self) -> StoredKV:
        """Where it is kept."""
        assert self.model.stored is not None
        return self.model.stored

    def prefix(self, text: str) -> Prefix:
        """A document as the device's model reads it."""
        return prefix_of(self.model, self._layout, text)

    def search(self, query: str, k: int) -> Passages:
        """The passages for a query."""
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
    """The cloud's end: answers a Search with the passages' KV in parts, and then with the passages."""

    def __init__(self, endpoint: str, keys: Path, keeper: Keeper) -> None:
        self._keeper = keeper
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="kv")
        self._bus = Bus(self._on_event, keys)
        self._bus.serve(endpoint, lambda _: Welcome(role="retrieval", epoch=1))

    def close(self) -> None:
        """Close the sockets."""
        self._worker.shutdown()
        self._bus.close()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Received) and isinstance(event.message, Search) and isinstance(event.port, Server):
            self._worker.submit(self._answer, event.message, partial(event.port.send, event.route))

    def _answer(self, asked: Search, send: Callable[[Message], None]) -> None:
        found = self._keeper.search(asked.query, asked.k)
        for number, passage in enumerate(found.passages):
            kv = self._keeper.store.find(self._keeper.prefix(passage.text))
            if kv is None:
                send(Error(code="unavailable", text="a passage's KV is not kept", request=asked.request))
                return
            for payload in parts(kv):
                send(Part(request=asked.request, passage=number, payload=payload))
        send(Passages(**{name: getattr(found, name) for name in found.__struct_fields__} | {"request": asked.request}))


class MovedKV:
    """DRCG/KV: both searches at once, the cloud's passages with their KV, and the device generates alone."""

    def __init__(self, device: Caller, cloud: Caller, endpoints: tuple[str, str], keys: Path, model: str) -> None:
        """Between both retrieval daemons; KV is offered at the first of `endpoints` and fetched at the second."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hocket-")))
            self._own = Keeper(folder / "device", device, model)
            stack.callback(self._own.store.close)
            theirs = Keeper(folder / "cloud", cloud, model)
            stack.callback(theirs.store.close)
            stack.callback(Offer(endpoints[0], keys, theirs).close)
            self._far = stack.enter_context(Caller(endpoints[1], keys=keys))
            self._stack = stack.pop_all()

    def close(self) -> None:
        """End the cloud's part and drop what is kept."""
        self._stack.close()

    def run(self, prompt: str, terms: Terms) -> Run:
        """Answer as the device's user would see it."""
        started_s = time.monotonic()
        with ThreadPoolExecutor(1) as pool:
            moved = pool.submit(self._fetch, prompt, terms.documents)
            passages = self._own.search(prompt, terms.documents).passages + moved.result()
        return answered(self._own.model, prompt, passages, terms, started_s)

    def _fetch(self, query: str, k: int) -> list[Passage]:
        """The cloud's passages; their KV is in the device's store afterwards."""
        came: dict[int, bytearray] = {}
        for reply in self._far.replies(Search(request=os.urandom(16), query=query, k=k), WAIT_S):
            if isinstance(reply, Part):
                came.setdefault(reply.passage, bytearray()).extend(reply.payload)
        assert isinstance(reply, Passages)
        for number, passage in enumerate(reply.passages):
            self._own.store.put(self._own.prefix(passage.text), whole(came[number]))
        return reply.passages


def parts(kv: KV) -> Iterator[bytes]:
    """A document's KV in pieces of at most PART_BYTES."""
    data = b"".join(entry.encode(b"", kv))
    return (data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES))


def whole(came: bytearray) -> KV:
    """The KV that such pieces, put together, are. Raises Damaged."""
    return entry.decode(b"", np.frombuffer(came, dtype=np.uint8), check=True)
