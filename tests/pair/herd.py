"""The four daemons as processes of their own, to be killed; forked from one that has the libraries loaded."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import sleep

from harness import UNMEASURED

from exact import exact
from hocket_bus.deadline import Deadline
from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Done, Ingest, Ingested, Token
from hocket_client import Client, Stream
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.config import CloudSettings, DeviceSettings
from hocket_daemon.engine.settings import KVSettings
from hocket_daemon.roles.cloud import CloudDaemon
from hocket_daemon.roles.device import DeviceDaemon
from hocket_lab.rehearsal.daemon import Rehearsal, script_of
from hocket_retrieval.config import RetrievalConfig
from hocket_retrieval.service.daemon import run
from hocket_tools.caller import Caller
from waiting import WAIT_S

NAMES = ("device", "cloud", "device-retrieval", "cloud-retrieval")
TEXT = "The heron stands in the marsh at dawn. The bakery sells rye bread on Tuesdays. Tulips grow behind the hall."

CONTEXT = multiprocessing.get_context("forkserver")
LIBRARIES = ["hocket_lab.rehearsal.daemon", "hocket_retrieval.service.daemon", "sentence_transformers"]
CONTEXT.set_forkserver_preload(["herd", *LIBRARIES])


def serve(name: str, folder: str, model: str, hold_s: float) -> None:
    """Be the daemon `name`; what it says goes into its log."""
    log = os.open(f"{folder}/{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    endpoint = f"ipc://{folder}/{name}"
    if name.endswith("retrieval"):
        run(RetrievalConfig(endpoint=endpoint, state=f"{folder}/{name}-state", log_level="error"))
        return
    common = {
        "endpoint": endpoint,
        "retrieval": endpoint + "-retrieval",
        "model": exact(name=model, slots=64),
        "kv": KVSettings(folder=f"{folder}/{name}-kv"),
        "max_sessions": 32,
    }
    parts = Rehearsal(decode_s=hold_s).parts(script_of(Path(folder) / "device"))
    if name == "cloud":
        CloudDaemon(CloudSettings(**common), parts).run()  # type: ignore[arg-type]
    else:
        # A cloud that has gone is left because its link is down, and for nothing else.
        waits = AggregationSettings(connect_wait_s=5.0, peer_wait_s=WAIT_S, rejoin_wait_s=10.0)
        DeviceDaemon(
            DeviceSettings(**common, cloud=f"ipc://{folder}/cloud", aggregation=waits, composition=UNMEASURED),  # type: ignore[arg-type]
            parts,
        ).run()


@dataclass
class Outcome:
    """What a reader saw of one stream."""

    tokens: list[Token] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    done: Done | None = None
    error: HocketError | None = None


def read(stream: Stream) -> Outcome:
    """Read to the end, whatever it is."""
    outcome = Outcome(notices=stream.notices)
    try:
        for token in stream:
            outcome.tokens.append(token)
        outcome.done = stream.result()
    except HocketError as error:
        outcome.error = error
    return outcome


class Herd:
    """The daemons of one pair in `folder`, a short path."""

    def __init__(self, folder: Path, models: dict[str, Path], hold_s: float = 0.02) -> None:
        self.folder = folder
        self._hold_s = hold_s
        self.readers = ThreadPoolExecutor(32)
        self._models = models
        self._processes: dict[str, BaseProcess] = {}
        (folder / "note.txt").write_text(TEXT)

    def start(self, name: str) -> None:
        side = name.removesuffix("-retrieval")
        args = (name, str(self.folder), str(self._models[side]), self._hold_s)
        process = CONTEXT.Process(target=serve, args=args, daemon=True)
        process.start()
        self._processes[name] = process

    def lead(self, script: str) -> None:
        """Let the dispatched answers that begin from now on go as `script` says."""
        script_of(self.folder / "device").write_text(script)

    def pid(self, name: str) -> int | None:
        """The process of a daemon that runs."""
        process = self._processes[name]
        return process.pid if process.is_alive() else None

    def send(self, name: str, number: signal.Signals) -> None:
        pid = self._processes[name].pid
        assert pid is not None
        os.kill(pid, number)
        if number == signal.SIGKILL:
            self._processes[name].join()

    def endpoint(self, name: str) -> str:
        return f"ipc://{self.folder}/{name}"

    def client(self) -> Client:
        return Client(self.endpoint("device"), connect_s=WAIT_S)

    def ingest(self, side: str, path: Path) -> Ingested:
        """Ingest, again where the connection broke meanwhile. Raises what the daemon says."""
        deadline = Deadline.after(WAIT_S)
        while True:
            try:
                with Caller(self.endpoint(f"{side}-retrieval"), WAIT_S) as caller:
                    *_, reply = caller.replies(Ingest(request=os.urandom(16), paths=[str(path)]), WAIT_S)
            except Unavailable:
                if deadline.passed:
                    raise
            else:
                assert isinstance(reply, Ingested)
                return reply

    def answers_together(self) -> None:
        """Wait until a question is answered by both sides."""
        deadline = Deadline.after(WAIT_S)
        with self.client() as client:
            while True:
                try:
                    client.ask("heron?", max_tokens=2, require_cloud=True, ignore_eos=True, deadline_s=20.0).result()
                except HocketError:
                    if deadline.passed:
                        raise
                    sleep(0.3)
                else:
                    return

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.join()
        self.readers.shutdown()


@contextmanager
def started(herd: Herd) -> Iterator[Herd]:
    """All four, with a document each, which answer together."""
    try:
        for name in NAMES:
            herd.start(name)
        for side in ("device", "cloud"):
            herd.ingest(side, herd.folder / "note.txt")
        herd.answers_together()
        yield herd
    finally:
        herd.close()
