"""The daemons of a pair and the gateway before them, each a process of its own, to be killed."""

from __future__ import annotations

import os
from pathlib import Path

from herd import CONTEXT, LIBRARIES, Herd

from hocket_gateway.server import run
from hocket_gateway.settings import ServeSettings
from ports import free_port
from waiting import WAIT_S

GATEWAY = "gateway"
CONTEXT.set_forkserver_preload(["herd", "front_herd", *LIBRARIES])


def serve_http(folder: str, port: int) -> None:
    """Be the gateway; what it says goes into its log."""
    log = os.open(f"{folder}/{GATEWAY}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    run(
        ServeSettings(
            port=port,
            device=f"ipc://{folder}/device",
            retrieval=f"ipc://{folder}/device-retrieval",
            responses=f"{folder}/responses.db",
            deadline_s=WAIT_S,
            a_minute=100_000,
        )
    )


class FrontHerd(Herd):
    """At a port that stays the same."""

    def __init__(self, folder: Path, models: dict[str, Path]) -> None:
        super().__init__(folder, models)
        self.port = free_port(1)

    def start(self, name: str) -> None:
        if name != GATEWAY:
            super().start(name)
            return
        process = CONTEXT.Process(target=serve_http, args=(str(self.folder), self.port), daemon=True)
        process.start()
        self._processes[name] = process

    def in_work(self) -> int:
        """Questions that the device daemon works at."""
        with self.client() as client:
            return int(client.status(WAIT_S).facts["requests in work"])
