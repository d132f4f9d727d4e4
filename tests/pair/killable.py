"""Members of a group as processes of their own, to be killed."""

from __future__ import annotations

import os
import signal
from multiprocessing.process import BaseProcess
from pathlib import Path

from family import PATIENT
from harness import ABOUT_MODELS, UNMEASURED, Pair
from herd import CONTEXT
from peer_group import PeerGroup

from exact import exact
from hocket_bus.trust import keys
from hocket_bus.trust.keys import Peer
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.config import DeviceSettings
from hocket_daemon.privacy.egress import EgressSettings
from hocket_daemon.roles.device import DeviceDaemon
from hocket_lab.rehearsal.daemon import Rehearsal, script_of
from waiting import WAIT_S, until


def serve(folder: str, model: str, cloud: str, hold_s: float) -> None:
    """Be a member that sends drafts to anna."""
    log = os.open(f"{folder}/device.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    settings = DeviceSettings(
        endpoint=f"ipc://{folder}/device",
        retrieval=f"ipc://{folder}/device-retrieval",
        keys=f"{folder}/keys",
        cloud=cloud,
        model=exact(name=model),
        aggregation=AggregationSettings(**ABOUT_MODELS),  # type: ignore[arg-type]
        egress=EgressSettings(drafts_for=("anna",), ledger=f"{folder}/ledger"),
        composition=UNMEASURED,
        group=PATIENT,
    )
    DeviceDaemon(settings, Rehearsal(decode_s=hold_s).parts(script_of(Path(folder) / "script"))).run()


class Killable(PeerGroup):
    """A circle whose members can be killed; the asked device and the cloud are in this process."""

    def start_member(self, name: str, hold_s: float = 0.02) -> None:
        """Begin a member, with keys and documents of its own, and wait until the cloud sees it."""
        made = Pair(self._place(name), self.models, stack=self.stack)
        keys.write_own(made.folder / "keys", self._device_keys[name])
        keys.write_peers(made.folder / "keys", {"cloud": Peer(self.own.public, self.at, frozenset({"dial"}))})
        self.start_retrieval(made, "device")
        self.members: dict[str, tuple[Pair, float, BaseProcess]] = getattr(self, "members", {})
        self._fork(name, made, hold_s)
        self.stack.callback(lambda: self.kill(name))

    def _fork(self, name: str, made: Pair, hold_s: float) -> None:
        process = CONTEXT.Process(
            target=serve, args=(str(made.folder), str(self.models["device"]), self.at, hold_s), daemon=True
        )
        process.start()
        self.members[name] = made, hold_s, process
        until(lambda: name in self.connected())

    def kill(self, name: str) -> None:
        """As the system does when memory runs out."""
        process = self.members[name][2]
        if process.pid is not None and process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
        process.join(WAIT_S)

    def restart(self, name: str) -> None:
        """The same member anew; the cloud may still think that the one before is there."""
        made, hold_s, _ = self.members[name]
        until(lambda: name not in self.connected())
        self._fork(name, made, hold_s)
