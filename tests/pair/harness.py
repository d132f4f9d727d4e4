"""A running pair for tests: real sockets and models, both daemons in this process, retrieval answering from a list."""

from __future__ import annotations

import tempfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from exact import exact
from hocket_bus.errors import Forbidden, ProtocolError
from hocket_bus.messages import Extract, Extracted, Passage, Passages, Score, Scores, Search, Sentence, Welcome
from hocket_bus.sockets import Bus, Event, Received, Server
from hocket_client import Client
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.composition.settings import CompositionSettings
from hocket_daemon.config import CloudSettings, DeviceSettings
from hocket_daemon.engine.runtime.compute import Compute
from hocket_daemon.engine.settings import ModelSettings
from hocket_daemon.roles.cloud import CloudDaemon
from hocket_daemon.roles.daemon import Daemon
from hocket_daemon.roles.device import DeviceDaemon
from hocket_daemon.roles.parts import Parts
from hocket_lab.link import Link, start
from hocket_lab.rehearsal.held import HeldCompute, Hold
from hocket_lab.rehearsal.script import scripted
from hocket_tools.pair.loopback import trust_self
from ports import free_port
from waiting import WAIT_S, until

ABOUT_MODELS = {
    "peer_wait_s": WAIT_S,
    "trust_cloud": True,
    "contrast": 0.0,
}  # slow, and untrained: they lead each other all the time
# The model that answers, whatever this hour's machine takes; untrained it is never sure of what it suggests.
UNMEASURED = CompositionSettings(model="", confidence=0.0)
AGGREGATION = (
    "unit",
    *("contrast", "connect_wait_s", "peer_wait_s", "progress_wait_s", "rejoin_wait_s"),
    *("relevance_temperature", "trust_cloud", "min_evidence"),
)
WORDS = tuple("kala mira duno soretu limba tano meku relado sina borita kulo namira ditu sola pemi".split())  # noqa: SIM905


class ListRetrieval:
    """A retrieval daemon at the bus: answers every search with passages cut from the question's own words.

    Of a question of a conversation it finds what is of `form`, where there is one.
    """

    form = 0

    def __init__(
        self, endpoint: str, side: str, documents: int = 5, scorers: str = "list", late_s: float = 0.0
    ) -> None:
        self.side, self.documents, self.scorers, self.late_s = side, documents, scorers.split(), late_s
        self._bus = Bus(self._on_event)
        self._bus.serve(endpoint, lambda _: Welcome(role="retrieval", epoch=1))

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, Received):
            return
        assert isinstance(event.port, Server)
        send, route, asked = event.port.send, event.route, event.message
        if isinstance(asked, Search):
            send(route, self.answer(asked))
        elif isinstance(asked, Extract):
            send(route, self.extract(asked))
        elif isinstance(asked, Score):
            scores = [self.score(asked.query, place.document, asked.scorer) for place in asked.places]
            threading.Timer(self.late_s, send, (route, Scores(request=asked.request, scores=scores))).start()

    def score(self, query: str, document: str, scorer: str) -> float:
        """Any number that query, document and scorer decide."""
        return zlib.crc32(f"{query} {document} {scorer}".encode()) % 1000 / 1000

    def extract(self, asked: Extract) -> Extracted:
        """The first words of passages for the query, the same for the same query."""
        found = self.answer(Search(request=asked.request, query=asked.query, k=asked.k)).passages[: asked.sentences]
        sentences = [Sentence(document=each.document, text=each.text, score=each.score) for each in found]
        return Extracted(request=asked.request, sentences=sentences, seconds=0.0)

    def answer(self, search: Search) -> Passages:
        scorer = search.scorer if search.scorer in self.scorers else self.scorers[0]
        form = min(self.form, len(search.others))
        seed = sum([search.query, *search.others][form].encode()) + {"device": 0, "cloud": 7}.get(
            self.side, zlib.crc32(self.side.encode()) % 99
        )
        passages = [
            Passage(
                document=f"{self.side}-{i}",
                title="",
                ordinal=0,
                text=" ".join(WORDS[(seed * (i + 3) + k * k) % len(WORDS)] for k in range(12 + i)),
                score=0.5 - 0.05 * i + 0.01 * ((seed + len(scorer)) % 7),
            )
            for i in range(min(search.k, self.documents))
        ]
        return Passages(
            request=search.request,
            passages=passages,
            scorer=scorer,
            scorers=self.scorers,
            documents_total=self.documents,
            seconds=0.0,
            form=form,
        )

    def close(self) -> None:
        self._bus.close(0)


@dataclass
class Pair:
    """The parts, to poke at; `link` is the endpoint that the device dials for the cloud."""

    folder: Path
    models: dict[str, Path]
    device: DeviceDaemon | None = None
    cloud: CloudDaemon | None = None
    stack: ExitStack = field(default_factory=ExitStack)
    keys: str = ""
    script: str = ""  # of the dispatched answers that begin from now on

    def trust(self, *endpoints: str) -> None:
        """Give the daemons started from here on keys with which they know each other at these tcp endpoints."""
        self.keys = str(trust_self(self.folder / "keys", *endpoints))

    def endpoint(self, name: str) -> str:
        return f"ipc://{self.folder}/{name}"

    def start_retrieval(self, side: str, **options: object) -> ListRetrieval:
        retrieval = ListRetrieval(self.endpoint(f"{side}-retrieval"), side, **options)  # type: ignore[arg-type]
        self.stack.callback(retrieval.close)
        return retrieval

    def model(self, side: str, **options: object) -> ModelSettings:
        return exact(name=str(self.models[side]), **options)

    def parts(self, hold_s: float, read_s: float = 0.0) -> Parts:
        """Decode steps take at least `hold_s`, prompts `read_s`, and dispatched answers go as `script` says."""
        prompts = repeat(Hold(seconds=read_s)) if read_s else ()
        compute = partial(HeldCompute, decode_s=hold_s, prompts=prompts) if hold_s or read_s else Compute
        return Parts(compute, strategy=scripted(lambda: self.script))

    def start_cloud(
        self,
        *,
        endpoint: str = "",
        model: ModelSettings | None = None,
        hold_s: float = 0.0,
        read_s: float = 0.0,
        **options: object,
    ) -> CloudDaemon:
        self.cloud = CloudDaemon(
            CloudSettings(
                endpoint=endpoint or self.endpoint("cloud"),
                retrieval=self.endpoint("cloud-retrieval"),
                keys=self.keys,
                model=model or self.model("cloud"),
                **options,  # type: ignore[arg-type]
            ),
            self.parts(hold_s, read_s),
        )
        self.run(self.cloud)
        return self.cloud

    def start_device(
        self,
        *,
        link: str = "",
        model: ModelSettings | None = None,
        hold_s: float = 0.0,
        read_s: float = 0.0,
        **options: object,
    ) -> DeviceDaemon:
        set_here = {name: options.pop(name) for name in AGGREGATION if name in options}
        self.device = DeviceDaemon(
            DeviceSettings(
                endpoint=self.endpoint("device"),
                retrieval=self.endpoint("device-retrieval"),
                keys=self.keys,
                cloud=link or self.endpoint("cloud"),
                model=model or self.model("device"),
                aggregation=AggregationSettings(**ABOUT_MODELS | set_here),  # type: ignore[arg-type]
                **{"composition": UNMEASURED} | options,  # type: ignore[arg-type]
            ),
            self.parts(hold_s, read_s),
        )
        self.run(self.device)
        if self.cloud is not None:
            self.join()
        return self.device

    def join(self) -> None:
        """Wait until the device has its cloud, or the cloud will have none of it: a question waits a moment only."""
        device = self.device
        assert device is not None
        peer = device.peer()
        assert peer is not None
        until(lambda: peer.up or isinstance(peer.reason, Forbidden | ProtocolError))

    def client(self, side: str = "device") -> Client:
        return self.stack.enter_context(Client(self.endpoint(side), connect_s=WAIT_S))

    def run(self, daemon: Daemon) -> None:
        """On a thread of its own, to the end of the test."""
        thread = threading.Thread(target=daemon.run, name=daemon.side, daemon=True)
        thread.start()

        def stop() -> None:
            daemon.stop()
            thread.join(WAIT_S)

        self.stack.callback(stop)


@contextmanager
def pair(folder: Path, models: dict[str, Path], *, start: bool = True) -> Iterator[Pair]:
    """A pair in `folder` (a short path: it holds ipc sockets); with `start`, all four daemons run."""
    made = Pair(folder, models)
    with made.stack:
        if start:
            made.start_retrieval("device")
            made.start_retrieval("cloud")
            made.start_cloud()
            made.start_device()
        yield made


@contextmanager
def linked_pair(tiny_models: dict[str, Path], **options: Any) -> Iterator[tuple[Pair, Client, Link]]:
    """Start a pair whose cloud lies behind the link emulator, over tcp."""
    cloud = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        link = made.stack.enter_context(start("127.0.0.1:0", cloud))
        made.start_retrieval("device")
        made.start_retrieval("cloud")
        slots = {"slots": 64}
        made.trust(f"tcp://127.0.0.1:{link.port}")
        made.start_cloud(endpoint=f"tcp://{cloud}", max_sessions=32, model=made.model("cloud", **slots))
        made.start_device(
            link=f"tcp://127.0.0.1:{link.port}",
            max_sessions=32,
            model=made.model("device", **slots),
            **options,
        )
        yield made, made.client(), link
