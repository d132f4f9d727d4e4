"""Three cloud daemons as processes, to be killed, and a device for each that prefers it; one signed list for all."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from harness import ABOUT_MODELS, UNMEASURED, Pair

from exact import exact
from hocket_bus.messages import Right
from hocket_bus.trust.keys import Peer
from hocket_client import Client
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.config import CloudSettings, DeviceSettings
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.roles.cloud import CloudDaemon
from hocket_daemon.roles.device import DeviceDaemon
from hocket_daemon.roles.membership import BY_LIST, FILE, CloudMember, MemberList, new_owner, sign, take
from hocket_lab.rehearsal.daemon import Rehearsal
from machines import Machine
from ports import free_port
from waiting import WAIT_S, until

CLOUDS, HOLD_S = 3, 0.02
WAITS = {"connect_wait_s": WAIT_S, "rejoin_wait_s": WAIT_S}
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["cluster"])


def serve(settings: CloudSettings) -> None:
    """Be a cloud daemon whose decode steps take a moment."""
    CloudDaemon(settings, Rehearsal(decode_s=HOLD_S).parts(Path("/nonexistent"))).run()


class FleetOfClouds:
    """The list's daemons by number, and a device for each, which is with it as long as it takes sessions."""

    def __init__(self, folder: Path, models: dict[str, Path], stack: ExitStack, **cloud: Any) -> None:
        self.folder, self.models, self.stack, self._cloud = folder, models, stack, cloud
        self.machines = [Machine(folder / f"cloud-{number}") for number in range(CLOUDS)]
        self.endpoints = [f"tcp://127.0.0.1:{free_port()}" for _ in range(CLOUDS)]
        self.owner = folder / "owner"
        new_owner(self.owner)
        self.pair = Pair(folder, models, stack=stack)
        self.model = TransformersModel(exact(name=str(models["cloud"])), "cloud").fingerprint
        self.processes: dict[int, BaseProcess] = {}
        self.devices: list[DeviceDaemon] = []
        self.clients: list[Client] = []
        for side in ("device", "cloud"):
            self.pair.start_retrieval(side)

    def entries(self) -> dict[str, CloudMember]:
        return {
            f"cloud-{number}": CloudMember(self.endpoints[number], self.machines[number].own.public, self.model, 8)
            for number in range(CLOUDS)
        }

    def start_device(self, name: str, machine: Machine, cloud: str) -> DeviceDaemon:
        settings = DeviceSettings(
            endpoint=f"ipc://{self.folder}/{name}",
            retrieval=self.pair.endpoint("device-retrieval"),
            keys=str(machine.folder),
            cloud=cloud,
            model=exact(name=str(self.models["device"])),
            aggregation=AggregationSettings(**ABOUT_MODELS | WAITS),  # type: ignore[arg-type]
            composition=UNMEASURED,
        )
        device = DeviceDaemon(settings, self.pair.parts(HOLD_S))
        self.pair.run(device)
        return device

    def start_cloud(self, number: int) -> None:
        settings = CloudSettings(
            endpoint=self.endpoints[number],
            retrieval=self.pair.endpoint("cloud-retrieval"),
            keys=str(self.machines[number].folder),
            model=exact(name=str(self.models["cloud"])),
            log_level="error",
            **self._cloud,
        )
        process = CONTEXT.Process(target=serve, args=(settings,), daemon=True)
        process.start()
        self.stack.callback(process.kill)
        self.processes[number] = process

    def send(self, number: int, which: signal.Signals) -> None:
        pid = self.processes[number].pid
        assert pid is not None
        os.kill(pid, which)

    def client(self, name: str) -> Client:
        return self.stack.enter_context(Client(f"ipc://{self.folder}/{name}", connect_s=WAIT_S))

    def settle(self) -> None:
        """Wait until every device has both of its links, and begins with its first one: nothing is in work anywhere."""
        links = [each.link for device in self.devices for each in device.cluster.links]
        until(lambda: all(link.up and not link.load for link in links))

    def stop(self, number: int) -> None:
        """Kill a daemon, which is gone when this comes back."""
        self.send(number, signal.SIGKILL)
        self.processes[number].join()


def preferring(folder: Path, members: MemberList, number: int) -> Machine:
    """A device whose first candidate is that member; keys are made until one is."""
    wanted, attempt = members.members[f"cloud-{number}"], 0
    while True:
        machine = Machine(folder / f"keys-{number}-{attempt}")
        if members.candidates(machine.own.public, wanted.model)[0] == wanted:
            return machine
        attempt += 1


@contextmanager
def started(folder: Path, models: dict[str, Path], **cloud: Any) -> Iterator[FleetOfClouds]:
    """All three with a device each; a fourth device, `single`, has the first one as its only cloud."""
    with ExitStack() as stack:
        fleet = FleetOfClouds(folder, models, stack, **cloud)
        members = sign(fleet.owner, fleet.entries())
        devices = [preferring(folder, members, number) for number in range(CLOUDS)]
        single = Machine(folder / "single-keys").knows(cloud=Peer(fleet.machines[0].own.public, fleet.endpoints[0]))
        may = frozenset[Right]({"pair", "drain"})
        known = {f"device-{number}": Peer(each.own.public, may=may) for number, each in enumerate([*devices, single])}
        for number in range(CLOUDS):
            fleet.machines[number].knows(**known)
            fleet.start_cloud(number)
        for number, machine in enumerate(devices):
            take(machine.folder, (fleet.owner / FILE).read_text())
            fleet.devices.append(fleet.start_device(f"device-{number}", machine, BY_LIST))
            fleet.clients.append(fleet.client(f"device-{number}"))
        fleet.devices.append(fleet.start_device("single", single, fleet.endpoints[0]))
        fleet.clients.append(fleet.client("single"))
        fleet.settle()
        yield fleet
