"""A pair of real daemons for a benchmark: own processes, the cloud behind the link emulator, removed afterwards.

A service of the cloud's machine at port p, its daemon or its retrieval daemon, is at p + FAR across the emulated link.
Several benchmarks may run on one machine: the first of those ports is drawn anew for each pair.
"""

from __future__ import annotations

import json
import random
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.request import urlopen

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from hocket_bus.config import EXPERT, expert_keys, flat
from hocket_bus.deadline import Deadline
from hocket_bus.errors import Unavailable
from hocket_bus.messages import Side
from hocket_bus.paths import keys
from hocket_client import Client
from hocket_daemon.config import CloudSettings, DeviceSettings
from hocket_daemon.engine.settings import BUNDLED
from hocket_lab.link import Conditions, Link, start
from hocket_lab.rehearsal.daemon import PROGRAM, Rehearsal, script_of
from hocket_retrieval.config import BUNDLED_EMBEDDER
from hocket_retrieval.text.chunking import DEFAULT_WORDS
from hocket_tools.caller import Caller
from hocket_tools.commands.daemons.pair import START_S
from hocket_tools.commands.library.documents import read_in
from hocket_tools.pair import processes
from hocket_tools.pair.home import Home
from hocket_tools.pair.loopback import trust_self
from hocket_tools.pair.state import state_at
from hocket_tools.pair.temporary import temporary_home
from hocket_tools.pair.up import bring_up

REMOTE = 10
FIRST_PORTS = range(18_000, 30_000)  # below those that systems give to connections
ATTEMPTS = 100
PROBE_S = 1.0
SIDES: tuple[Side, ...] = ("device", "cloud")
Value = float | str
NOTHING: Mapping[Side, Rehearsal] = MappingProxyType({})
Tables = Mapping[str, Mapping[str, Value]]  # of a configuration by name; "" has the keys that stand in none


@dataclass(frozen=True)
class Ports:
    """Ports at which the cloud's machine listens; a daemon's streams go out at the next port."""

    first: int

    @property
    def carried(self) -> tuple[int, ...]:
        """The ports that the link carries: the daemon's two, the retrieval daemon's, and that of documents' KV."""
        return self.first, self.first + 1, self.first + 2, self.first + 4

    def cloud(self, *, remote: bool = False) -> str:
        """Return the endpoint of the cloud daemon, itself or across the link."""
        return f"tcp://{address(self.first + REMOTE * remote)}"

    def search(self, *, remote: bool = False) -> str:
        """Return the endpoint of the cloud's retrieval daemon, itself or across the link."""
        return f"tcp://{address(self.first + 2 + REMOTE * remote)}"

    def kv(self, *, remote: bool = False) -> str:
        """Return the endpoint at which a baseline offers the KV of the cloud's documents."""
        return f"tcp://{address(self.first + 4 + REMOTE * remote)}"

    @property
    def metrics(self) -> str:
        """The address at which the cloud daemon offers its metrics, of everybody's requests."""
        return address(self.first + 6)

    @property
    def endpoints(self) -> list[str]:
        """The endpoints of the cloud's daemons, itself and across the link, to be trusted."""
        return [place(remote=remote) for place in (self.cloud, self.search) for remote in (False, True)]


def address(port: int) -> str:
    """Return the address of a port of this machine."""
    return f"127.0.0.1:{port}"


class BenchPair:
    """Four running daemons in a temporary home, and the links between device and cloud."""

    def __init__(self, home: Home, ports: Ports, links: Sequence[Link]) -> None:
        self.home = home
        self._ports = ports
        self._links = links
        self._leading = threading.Lock()

    def client(self, side: str, *, remote: bool = False) -> Client:
        """Return a client of one side's daemon; a cloud asked directly answers alone, across the link if `far`."""
        return Client(self.endpoint(side, remote=remote), keys=self.keys)

    def searcher(self, side: str, *, remote: bool = False) -> Caller:
        """Return a connection to one side's retrieval daemon, across the link if `far`."""
        return Caller(_search_endpoint(self.home, self._ports, side, remote=remote), keys=self.keys)

    def kv(self, *, remote: bool = False) -> str:
        """Return the endpoint of the cloud's document KV; nothing listens there before a baseline offers it."""
        return self._ports.kv(remote=remote)

    def stored(self, side: str) -> Path:
        """Return the folder of a side's stored document KV."""
        return self.home.at / f"{side}-kv"

    @property
    def keys(self) -> Path:
        """The folder of the keys that all ends of the pair know each other by."""
        return keys(self.home.at)

    def endpoint(self, side: str, *, remote: bool = False) -> str:
        """Return the endpoint at which a side's daemon listens."""
        return self.home.endpoint("device") if side == "device" else self._ports.cloud(remote=remote)

    def pid(self, name: str) -> int:
        """Return the process id of a daemon. Raises Unavailable when it has ended."""
        found = processes.running(self.home, name)
        if found is None:
            raise Unavailable(f"the {name} daemon has ended", "that is a fault of its own: run the benchmark again")
        return found

    def cloud_metrics(self) -> dict[str, float]:
        """Return the cloud daemon's metrics, by name; over the bus a device gets those of its own requests alone."""
        with urlopen(f"http://{self._ports.metrics}/metrics", timeout=START_S) as page:
            families = text_string_to_metric_families(page.read().decode())
        return {sample.name: sample.value for family in families for sample in family.samples}

    def ingest(self, side: str, documents: Mapping[str, str]) -> None:
        """Let a side read texts, given by file name."""
        with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
            for name, text in documents.items():
                (Path(folder) / name).write_text(text, encoding="utf-8")
            read_in(_search_endpoint(self.home, self._ports, side), [Path(folder)], self.keys)

    def set_rtt(self, rtt_s: float, jitter_s: float = 0.0) -> None:
        """Emulate a round trip between device and cloud; `jitter_s` is that of each direction."""
        for link in self._links:
            link.set(Conditions.symmetric(rtt_s, jitter_s))

    @contextmanager
    def led(self, script: str) -> Iterator[None]:
        """Let dispatched answers that begin within this context go as `script` says; empty: as the device decides."""
        with self._leading:
            script_of(self.home.config("device")).write_text(script, encoding="utf-8")
            yield

    def cut(self) -> None:
        """Break every connection between device and cloud; new ones are taken at once."""
        for link in self._links:
            link.cut()

    def part(self, parted: bool) -> None:
        """Take the link between device and cloud down, or bring it back."""
        for link in self._links:
            link.partition() if parted else link.heal()


@contextmanager
def bench_pair(
    hold_s: float | tuple[float, float] = 0.0,
    *,
    stored: bool = False,
    chunk_words: int = DEFAULT_WORDS,
    embedder: str = BUNDLED_EMBEDDER,
    model: Mapping[str, Value] | None = None,
    sides: Mapping[Side, Tables] | None = None,
    rehearsals: Mapping[Side, Rehearsal] = NOTHING,
    **settings: Value,
) -> Iterator[BenchPair]:
    """Start a pair whose decode steps take at least `hold_s`, one value or (device's, cloud's).

    With stored document KV if `stored`; `chunk_words` and `embedder` are those of both retrieval daemons. `model` and
    `settings` are further keys of both daemons' [model], which is the bundled one, and of their configuration; `sides`
    has tables of one side's, such as [dispatch] of the device's, and holds where they differ. `rehearsals` has what
    else a side is to rehearse. The device composes with its own model.
    """
    holds = hold_s if isinstance(hold_s, tuple) else (hold_s, hold_s)
    with temporary_home() as home, ExitStack() as stack:
        ports = _free_ports()
        links = [stack.enter_context(start(address(port + REMOTE), address(port))) for port in ports.carried]
        home.prepare()
        trust_self(keys(home.at), *ports.endpoints)
        for side, held_s in zip(SIDES, holds, strict=True):
            named: dict[str, Value] = {"name": BUNDLED}
            given: dict[str, Mapping[str, Value]] = {"": settings, "model": named | dict(model or {})}
            if side == "device":
                given |= {"composition": {"model": ""}}
            _configure(home, ports, side, _over(given, (sides or {}).get(side, {})))
            _configure_search(home, ports, side, chunk_words, embedder)
            msgspec.structs.replace(rehearsals.get(side, Rehearsal()), decode_s=held_s).save(home.config(side))
            if stored:
                with home.config(side).open("a", encoding="utf-8") as file:
                    file.write(f'[kv]\nfolder = "{home.at / side}-kv"\n')
        bring_up(home, START_S, lambda _: None, start=_start)
        yield BenchPair(home, ports, links)


@contextmanager
def bench_cloud(model: Mapping[str, Value], **settings: Value) -> Iterator[BenchPair]:
    """Start the cloud daemon alone, without documents.

    `model` are keys of its [model], `settings` of its configuration. Raises Unavailable with its last words where it
    does not start.
    """
    with temporary_home() as home:
        ports = _free_ports()
        home.prepare()
        trust_self(keys(home.at), *ports.endpoints)
        _configure(home, ports, "cloud", {"": settings, "model": model})
        pair, pid, deadline = BenchPair(home, ports, []), _start(home, "cloud"), Deadline.after(START_S)
        while not state_at(pair.endpoint("cloud"), "cloud", pid, pair.keys, PROBE_S).answering:
            if deadline.passed or processes.exit_status(pid) is not None:
                last = " / ".join(processes.last_lines(home.log("cloud")))
                raise Unavailable(f"the cloud daemon does not start: {last}", "see what it says")
        yield pair


def _start(home: Home, name: str) -> int:
    return processes.start(home, name, PROGRAM if name in SIDES else processes.PROGRAM)


def _free_ports() -> Ports:
    """Return free ports for a pair. Raises Unavailable."""
    for _ in range(ATTEMPTS):
        ports = Ports(random.choice(FIRST_PORTS))
        if all(
            _free(port) for port in (*range(ports.first, ports.first + REMOTE), *(p + REMOTE for p in ports.carried))
        ):
            return ports
    raise Unavailable(f"no free ports from {FIRST_PORTS.start} to {FIRST_PORTS.stop}", "end what listens there")


def _free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def _search_endpoint(home: Home, ports: Ports, side: str, *, remote: bool = False) -> str:
    return home.endpoint("device-retrieval") if side == "device" else ports.search(remote=remote)


def _over(given: Tables, own: Tables) -> Tables:
    """Return both, merged table by table; where both have a key, the value of `own` counts."""
    return {name: dict(given.get(name, {})) | dict(own.get(name, {})) for name in given.keys() | own.keys()}


def _configure(home: Home, ports: Ports, side: str, tables: Tables) -> None:
    endpoint = home.endpoint("device") if side == "device" else ports.cloud()
    peer = {"cloud": ports.cloud(remote=True)} if side == "device" else {"metrics": ports.metrics}
    top = {
        "endpoint": endpoint,
        "keys": str(keys(home.at)),
        "retrieval": _search_endpoint(home, ports, side),
        **peer,
        **tables[""],
    }
    given = top | flat({name: tables[name] for name in tables.keys() - {""}})
    rare = given.keys() & expert_keys(DeviceSettings if side == "device" else CloudSettings)
    lines = _lines({key: value for key, value in given.items() if key not in rare})
    lines += [f"[{EXPERT}]", *_lines({key: given[key] for key in sorted(rare)})]
    home.config(side).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _lines(table: Mapping[str, Value]) -> list[str]:
    return [f"{key} = {json.dumps(value)}" for key, value in table.items()]


def _configure_search(home: Home, ports: Ports, side: str, chunk_words: int, embedder: str) -> None:
    lines = [
        f'endpoint = "{_search_endpoint(home, ports, side)}"',
        f'state = "{home.at / side}-documents"',
        f'keys = "{keys(home.at)}"',
        f'embedder = "{embedder}"',
        f"[{EXPERT}]",
        f"chunk_words = {chunk_words}",
    ]
    home.config(f"{side}-retrieval").write_text("\n".join(lines) + "\n", encoding="utf-8")
