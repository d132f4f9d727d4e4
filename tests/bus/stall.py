"""A SUB that stalls under a flood, again and again: `python stall.py trap 8`, or `ours`. Prints "alive".

With ZMTP heartbeats and a bounded receive queue libzmq 4.3.5 ends the process when the reader goes on
(libzmq issue 3937: `Assertion failed: _input_stopped`). `ours` takes the options of this project's own links.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time

import zmq

from hocket_bus import log
from hocket_bus.messages import Hello, Welcome
from hocket_bus.sockets import Bus
from waiting import WAIT_S, until

TRAP = {zmq.HEARTBEAT_IVL: 100, zmq.HEARTBEAT_TIMEOUT: 300, zmq.RCVHWM: 1}
STALL_S, READ_S = 1.2, 0.3


def ours() -> dict[int, int]:
    """The options that matter here, as a link sets them."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, Bus(lambda _: None) as there, Bus(lambda _: None) as bus:
        there.serve(f"ipc://{folder}/x", lambda _: Welcome(role="device", epoch=1))
        link = bus.dial(f"ipc://{folder}/x", Hello(role="client"), bytes(16))
        found: dict[int, int] = {}
        until(lambda: link._subscriber is not None)
        wanted = (zmq.HEARTBEAT_IVL, zmq.RCVHWM, zmq.IMMEDIATE)
        bus._call(lambda: found.update({option: link._subscriber.get(option) for option in wanted}))
        return found


def flood(publisher: zmq.Socket[bytes], ended: threading.Event) -> None:
    while not ended.is_set():
        publisher.send(bytes(1000))
        time.sleep(0.0001)


def main(options: dict[int, int], stalls: int) -> None:
    context = zmq.Context()
    publisher, reader = context.socket(zmq.PUB), context.socket(zmq.SUB)
    publisher.sndhwm = 1000
    port = publisher.bind_to_random_port("tcp://127.0.0.1")
    for option, value in options.items():
        reader.set(option, value)
    reader.subscribe(b"")
    reader.connect(f"tcp://127.0.0.1:{port}")
    ended = threading.Event()
    flooding = threading.Thread(target=flood, args=(publisher, ended))
    flooding.start()
    for _ in range(stalls):
        assert reader.poll(1000 * WAIT_S), "the reader hears nothing any more"
        time.sleep(STALL_S)
        until_s = time.monotonic() + READ_S
        while time.monotonic() < until_s:
            if reader.poll(100):
                reader.recv()
    ended.set()
    flooding.join()
    context.destroy(linger=0)
    print("alive")


if __name__ == "__main__":
    log.setup("error")
    main(TRAP if sys.argv[1] == "trap" else ours(), int(sys.argv[2]))
