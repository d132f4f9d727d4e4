"""Sockets that are closed while events of their connections come: the I/O thread must outlive it.

Where the hearer of the events is closed before its socket, libzmq's I/O thread (up to 4.3.5) waits for ever to tell
an event to nobody, and no connection of the process goes on. Whether an event comes in between is a matter of the
machine's speed, so that order is not a test of its own.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import zmq

from hocket_bus.sockets.socket_set import SocketSet

ROUNDS = 300
WAIT_MS = 5_000


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        sockets = SocketSet(Path(folder), os.eventfd(0), lambda: None)
        near, remote = (sockets.open(zmq.PAIR, f"ipc://{folder}/x", {}) for _ in range(2))
        near.bind(f"ipc://{folder}/x")
        remote.connect(f"ipc://{folder}/x")
        for number in range(ROUNDS):
            socket = sockets.open(zmq.DEALER, f"ipc://{folder}/nobody", {zmq.RECONNECT_IVL: 1})
            sockets.monitor(socket, zmq.EVENT_ALL, lambda _: None)
            socket.connect(f"ipc://{folder}/nobody")
            time.sleep(0.002)
            sockets.drop(socket)
            remote.send(b"still there?")
            if not near.poll(WAIT_MS):
                print("stuck in round", number, flush=True)
                os._exit(1)
            near.recv()
        print("alive", flush=True)
        os._exit(0)


if __name__ == "__main__":
    main()
