"""Sockets that are closed while events of their connections come: the I/O thread must outlive it.

`monitored.py ours` closes them as the bus does, `monitored.py trap` closes the hearer of the events first.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import zmq

from hocket_bus.sockets.opened import Socket, Sockets

ROUNDS = 300
WAIT_MS = 5_000


def closed_as_trap(sockets: Sockets, socket: Socket) -> None:
    sockets.drop(sockets._monitors.pop(socket))
    time.sleep(0.002)
    sockets.drop(socket)


def main(how: str) -> None:
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        sockets = Sockets(Path(folder), os.eventfd(0), lambda: None)
        near, far = (sockets.open(zmq.PAIR, f"ipc://{folder}/x", {}) for _ in range(2))
        near.bind(f"ipc://{folder}/x")
        far.connect(f"ipc://{folder}/x")
        for number in range(ROUNDS):
            socket = sockets.open(zmq.DEALER, f"ipc://{folder}/nobody", {zmq.RECONNECT_IVL: 1})
            sockets.monitor(socket, zmq.EVENT_ALL, lambda _: None)
            socket.connect(f"ipc://{folder}/nobody")
            time.sleep(0.002)
            (closed_as_trap if how == "trap" else Sockets.drop)(sockets, socket)
            far.send(b"still there?")
            if not near.poll(WAIT_MS):
                print("stuck in round", number, flush=True)
                os._exit(1)
            near.recv()
        print("alive", flush=True)
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
