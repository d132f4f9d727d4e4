"""A gateway before a running pair: real HTTP on a port of its own, in this process."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from harness import ListRetrieval, Pair, pair

from hocket_bus.messages import (
    Document,
    Documents,
    DocumentText,
    Embed,
    Embedded,
    Error,
    ListDocuments,
    ListSkipped,
    Message,
    Passages,
    Quote,
    Remove,
    Removed,
    Search,
    ShowDocument,
    Skipped,
)
from hocket_bus.sockets import Event, Received, Server
from hocket_daemon.engine.settings import ServerSettings
from hocket_daemon.privacy.egress import EgressSettings
from hocket_gateway.access.people import People
from hocket_gateway.server import GatewayServer, listener, server
from hocket_gateway.settings import ServeSettings
from hocket_lab.link.tap import Tap
from waiting import WAIT_S, until

MODELS = ("hocket", "hocket-auto", "hocket-dispatch", "hocket-graph", "hocket-alone")
SHORT = {"max_tokens": 8, "seed": 7}
NONE = ServerSettings()
TOKENS = 24  # of an answer, where a request does not say
USER = [{"role": "user", "content": "kala mira?"}]


@dataclass(frozen=True)
class Served:
    """Where the gateway is, and what is behind it."""

    port: int
    pair: Pair
    people: Path
    tap: Tap | None = None
    retrieval: QuotingRetrieval | None = None
    server: GatewayServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def in_work(self) -> int:
        """Questions that the device daemon works at."""
        assert self.pair.device is not None
        return int(self.pair.client().status(WAIT_S).facts["requests in work"])


Asked = Quote | ShowDocument | ListDocuments | Embed | Remove | ListSkipped


class QuotingRetrieval(ListRetrieval):
    """Knows its passages again: those of any question that was searched for."""

    def __init__(self, endpoint: str, side: str) -> None:
        self.searched: list[Search] = []
        self.embedded: list[Embed] = []
        super().__init__(endpoint, side)

    def answer(self, search: Search) -> Passages:
        self.searched.append(search)
        return super().answer(search)

    def _on_event(self, event: Event) -> None:
        asked = event.message if isinstance(event, Received) else None
        if isinstance(event, Received) and isinstance(asked, Asked):
            assert isinstance(event.port, Server)
            event.port.send(event.route, self.stored(asked))
        else:
            super()._on_event(event)

    def stored(self, asked: Asked) -> Message:
        if isinstance(asked, Embed):
            self.embedded.append(asked)
            vectors = [b"\0\0\x80\x3f" + bytes(12)] * len(asked.texts)  # 1, 0, 0, 0
            return Embedded(request=asked.request, vectors=vectors, embedder="none")
        if isinstance(asked, Remove):
            return Removed(request=asked.request, removed=0, missing=asked.documents)
        if isinstance(asked, ListSkipped):
            return Skipped(request=asked.request, files=[], total=0)
        if isinstance(asked, ListDocuments):
            titles = {"device-0": "", "letters/a": "To Anna"}
            listed = [Document(name=name, title=title, chunks=1) for name, title in titles.items()]
            return Documents(request=asked.request, documents=listed, total=len(listed))
        return self.quoted(asked) if isinstance(asked, Quote) else self.shown(asked)

    def shown(self, asked: ShowDocument) -> Message:
        name, *_ = asked.names
        if name not in ("device-0", "device-1"):
            return Error(code="bad_request", text="there is no such document", request=asked.request)
        text = "<script>" if name == "device-0" else self.around_passage()
        return DocumentText(
            request=asked.request, name=name, title="", version="1", text=text, outline=[], total=len(text)
        )

    def around_passage(self) -> str:
        """A long document with the passage of device-1 that was last found, in lines of its own."""
        if not self.searched:
            return ""
        found = super().answer(self.searched[-1]).passages
        passage = next(each.text for each in found if each.document == "device-1")
        return "before. " * 2_000 + "\n\n" + passage.replace(" ", "\n") + "\n\nbehind."

    def quoted(self, asked: Quote) -> Passages:
        last = super().answer(self.searched[-1])
        places = {(place.document, place.ordinal) for place in asked.places}
        found = [each for each in last.passages if (each.document, each.ordinal) in places]
        return msgspec.structs.replace(last, request=asked.request, passages=found)


@contextmanager
def running_gateway(settings: ServeSettings) -> Iterator[tuple[int, GatewayServer]]:
    """A gateway that runs on a thread of its own, and its port."""
    sock = listener(settings, People(Path(settings.people) if settings.people else None))
    running = server(settings)
    thread = threading.Thread(target=lambda: asyncio.run(running.serve([sock])), name="gateway", daemon=True)
    thread.start()
    try:
        until(lambda: running.started)
        yield sock.getsockname()[1], running
    finally:
        running.should_exit = True
        thread.join(WAIT_S)
        sock.close()


@contextmanager
def gateway(settings: ServeSettings) -> Iterator[int]:
    """The port of a gateway that runs on a thread of its own."""
    with running_gateway(settings) as (port, _):
        yield port


@contextmanager
def served(
    models: dict[str, Path],
    *,
    hold_s: float = 0.0,
    tapped: bool = False,
    max_sessions: int = 8,
    server: ServerSettings = NONE,
    **options: object,
) -> Iterator[Served]:
    """A pair and its gateway; `hold_s` is what each of the device's decode steps takes at least.

    `server` is the device's.
    """
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), models, start=False) as made:
        tap = made.stack.enter_context(Tap(made.endpoint("tap"), made.endpoint("cloud"))) if tapped else None
        retrieval = QuotingRetrieval(made.endpoint("device-retrieval"), "device")
        made.stack.callback(retrieval.close)
        made.start_retrieval("cloud")
        made.start_cloud(hold_s=hold_s)
        egress = EgressSettings(ledger=str(made.folder / "ledger"))
        made.start_device(
            link=made.endpoint("tap" if tapped else "cloud"),
            hold_s=hold_s,
            egress=egress,
            max_sessions=max_sessions,
            decisions=str(made.folder / "decisions.db"),
            server=server,
        )
        settings = ServeSettings(
            port=0,
            device=made.endpoint("device"),
            retrieval=made.endpoint("device-retrieval"),
            people=str(made.folder / "people.json"),
            responses=str(made.folder / "responses.db"),
            **options,  # type: ignore[arg-type]
        )
        with running_gateway(settings) as (port, running):
            yield Served(port, made, made.folder / "people.json", tap, retrieval, running)
