"""A cloud and devices of a family on real sockets, with keys of their own and retrieval daemons that read files."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from harness import Pair

from hocket_bus.messages import Done, Held, Ingest, Ingested, Keep, ListSubgraphs, Subgraphs
from hocket_bus.sockets import new_key_pair
from hocket_bus.trust import keys
from hocket_bus.trust.keys import Peer
from hocket_bus.trust.pins import Pins, fingerprint
from hocket_bus.trust.sealing import SealingKey
from hocket_daemon.aggregation.settings import GroupSettings
from hocket_daemon.graph.settings import FederationSettings, GateSettings
from hocket_daemon.privacy.egress import EgressSettings, read
from hocket_daemon.roles.cloud import CloudDaemon
from hocket_retrieval.config import RetrievalConfig
from hocket_retrieval.embedding.embedder import Embedder
from hocket_retrieval.service import daemon
from hocket_tools.caller import Caller
from ports import free_port
from waiting import WAIT_S, until

HOME = "The boiler in the cellar of Elm House was serviced by Karsten Dahl on the third of March."
BOAT = (
    "The sailing boat Halcyon lies at berth 41 of the Marstal marina. "
    "The harbour master Inge Thorsen keeps the spare key of the Halcyon."
)
CHOIR = "The choir Vox Borealis rehearses on Thursdays in the Trinity chapel. Its conductor is Aurel Benko."
OF_BOAT = "At which berth does the sailing boat Halcyon lie?"
OF_HOME = "By whom was the boiler in the cellar of Elm House serviced?"
EVIDENCE = GateSettings()
PATIENT = GroupSettings(patience_ms=1000 * WAIT_S / 10, reading_s=WAIT_S / 10)  # the machine may be busy


def beside_new(notices: Sequence[str]) -> list[str]:
    """The notices of an answer but for those of devices that are seen for the first time."""
    return [notice for notice in notices if "is new in the group" not in notice]


@dataclass
class Family:
    """The parts by name; each device is a Pair whose cloud is elsewhere."""

    folder: Path
    models: dict[str, Path]
    stack: ExitStack = field(default_factory=ExitStack)
    devices: dict[str, Pair] = field(default_factory=dict)
    cloud: CloudDaemon = field(init=False)

    def start_cloud(
        self,
        names: Sequence[str],
        groups: Mapping[str, list[str]],
        settings: Mapping[str, Any] = MappingProxyType({}),
        **federation: float,
    ) -> None:
        """A cloud that knows these devices; `settings` are further ones of its own."""
        self.at = f"tcp://127.0.0.1:{free_port()}"
        self.own = new_key_pair()
        self._cloud = Pair(self._place("cloud"), self.models, stack=self.stack)
        self._device_keys = {name: new_key_pair() for name in names}
        folder = self._cloud.folder / "keys"
        keys.write_own(folder, self.own)
        may = {name: Peer(pair.public, may=frozenset({"pair"})) for name, pair in self._device_keys.items()}
        keys.write_peers(folder, may)
        self._cloud.keys = str(folder)
        self.start_retrieval(self._cloud, "cloud")
        self._settings = FederationSettings(groups=dict(groups), **federation)  # type: ignore[arg-type]
        self.cloud = self._cloud.start_cloud(endpoint=self.at, federation=self._settings, **settings)

    def restart_cloud(self, forgets: str) -> None:
        """The same cloud anew, which has forgotten what a device has shared."""
        before = self.cloud
        before.stop()
        until(lambda: not before.bus._running)
        with Caller(self._cloud.endpoint("cloud-retrieval"), connect_s=WAIT_S) as caller:
            caller.ask(Keep(request=os.urandom(16), device=forgets, store="", drop_all=True), Held, WAIT_S)
        self.cloud = self._cloud.start_cloud(endpoint=self.at, federation=self._settings)

    def connected(self) -> list[str]:
        """The devices that the cloud sees."""
        return self.cloud._federation.members.connected()

    def start_device(
        self,
        name: str,
        text: str = "",
        gate: GateSettings = EVIDENCE,
        group: GroupSettings = PATIENT,
        read_s: float = 0.0,
        **egress: object,
    ) -> Pair:
        """A device that has read one document, if any; each of its prompts takes `read_s`."""
        made = self.devices.get(name) or self._prepared(name)
        if text:
            self.ingest(made, text)
        policy = {"summaries": True, "evidence": True} | egress
        settings = EgressSettings(ledger=str(made.folder / "ledger"), **policy)  # type: ignore[arg-type]
        if "*" in settings.drafts_for:
            self._pin_all(made)
        made.start_device(
            link=self.at, name=name, egress=settings, gate=gate, group=group, read_s=read_s,
            decisions=str(made.folder / "decisions"),
        )  # fmt: skip
        made.join()
        self.devices[name] = made
        return made

    def _pin_all(self, made: Pair) -> None:
        """By hand, as their owners would."""
        pins = Pins.beside(made.folder / "ledger")
        for name, pair in self._device_keys.items():
            pins.pin(name, fingerprint(SealingKey.of_secret(pair.secret).public))

    def _prepared(self, name: str) -> Pair:
        made = Pair(self._place(name), self.models, stack=self.stack)
        folder = made.folder / "keys"
        keys.write_own(folder, self._device_keys[name])
        keys.write_peers(folder, {"cloud": Peer(self.own.public, self.at, frozenset({"dial"}))})
        made.keys = str(folder)
        self.start_retrieval(made, "device")
        return made

    def stop_device(self, name: str, made: Pair) -> None:
        """Its daemon alone; it can be started again."""
        device = made.device
        assert device is not None
        device.stop()
        until(lambda: not device.bus._running and name not in self.connected())

    def start_retrieval(self, made: Pair, side: str) -> None:
        """One that embeds, searches and builds a graph."""
        retrieval = daemon.Daemon(
            RetrievalConfig(endpoint=made.endpoint(f"{side}-retrieval"), state=str(made.folder / f"{side}-documents"))
        )
        retrieval.start()
        thread = threading.Thread(target=retrieval.serve, name=f"{side}-retrieval", daemon=True)
        thread.start()

        def stop() -> None:
            retrieval.stop()
            thread.join(WAIT_S)
            retrieval.close()

        self.stack.callback(stop)

    def ingest(self, made: Pair, text: str, name: str = "note.txt") -> None:
        """Let the device's retrieval daemon read a file, into the graph, too."""
        path = made.folder / name
        path.write_text(text, encoding="utf-8")
        with Caller(made.endpoint("device-retrieval"), connect_s=WAIT_S) as caller:
            asked = Ingest(request=os.urandom(16), paths=[str(path)])
            assert isinstance(list(caller.replies(asked, WAIT_S))[-1], Ingested)
            until(lambda: not self.graph(caller).building)

    def graph(self, caller: Caller) -> Subgraphs:
        """The first page of a device's graph."""
        return caller.ask(ListSubgraphs(request=os.urandom(16)), Subgraphs, WAIT_S)

    def wait_shared(self, name: str) -> None:
        """Until the cloud holds all that the device shares."""
        made = self.devices[name]
        with made.client() as client:
            until(lambda: _is_shared(client.status(WAIT_S).metrics))

    def ask(self, name: str, question: str, mode: str = "auto") -> tuple[Done, list[str]]:
        """The end of an answer, and the notices on its way."""
        with self.devices[name].client() as client:
            events = list(client.ask(question, mode=mode, max_tokens=8, seed=1, deadline_s=WAIT_S).events())
        done = events[-1]
        assert isinstance(done, Done)
        return done, [event.text for event in events[:-1] if hasattr(event, "text") and not hasattr(event, "step")]

    def ledger(self, name: str) -> dict[str, int]:
        """Bytes by class that have left a device."""
        made = self.devices[name]
        assert made.device is not None
        made.device.ledger.write()
        sums: dict[str, int] = {}
        for entry in read(made.folder / "ledger"):
            sums[entry.kind] = sums.get(entry.kind, 0) + entry.size_bytes
        return sums

    def sealed_bytes(self, name: str) -> int:
        """Bytes that a device has sealed for others, by its ledger."""
        made = self.devices[name]
        assert made.device is not None
        made.device.ledger.write()
        return sum(entry.size_bytes for entry in read(made.folder / "ledger") if entry.peer.endswith(", sealed"))

    def _place(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir()
        return folder


def _is_shared(metrics: Mapping[str, float]) -> bool:
    """All of some summaries."""
    return 0 < metrics["summaries_own"] == metrics["summaries_current"]


@contextmanager
def family(folder: Path, models: dict[str, Path]) -> Iterator[Family]:
    """Nothing runs yet; all of it ends with the context."""
    made = Family(folder, models)
    with pytest.MonkeyPatch.context() as patch, made.stack:
        patch.setattr(daemon, "Embedder", _embedder)
        yield made


@cache
def _embedder(*settings: Any) -> Embedder:
    """One for all of them: it takes longer to load than to embed what they have, and any thread may use it."""
    return Embedder(*settings)
