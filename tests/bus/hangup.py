"""An end that speaks and hangs up, again and again: `python hangup.py 1` or `0`, for ZMQ_IMMEDIATE.

Prints how many of its 500 messages were heard, at the fewest.
With IMMEDIATE libzmq 4.3.5 throws away what has arrived but is not read yet when the other end hangs up; where that
happens between two parts of a message, it ends the process (`Assertion failed: !_more (src/fq.cpp:80)`).
"""

from __future__ import annotations

import sys
from contextlib import suppress

import zmq

ROUNDS, MESSAGES, PARTS = 20, 500, 3


def heard(context: zmq.Context[zmq.Socket[bytes]], immediate: int) -> int:
    """The messages read of those that an end sent before it closed."""
    router, dealer = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    router.linger = 1000
    dealer.set(zmq.IMMEDIATE, immediate)
    dealer.rcvhwm = router.sndhwm = 0
    dealer.rcvtimeo = router.rcvtimeo = 1000
    port = router.bind_to_random_port("tcp://127.0.0.1")
    dealer.connect(f"tcp://127.0.0.1:{port}")
    dealer.send(b"hello")
    route, _ = router.recv_multipart()
    for _ in range(MESSAGES):
        router.send_multipart([route, *[b"part"] * PARTS])
    router.close()
    number = 0
    with suppress(zmq.Again):
        while number < MESSAGES:
            dealer.recv_multipart()
            number += 1
    dealer.close(0)
    return number


if __name__ == "__main__":
    shared = zmq.Context()
    rounds = (heard(shared, int(sys.argv[1])) for _ in range(ROUNDS))
    print(next((number for number in rounds if number < MESSAGES), MESSAGES))
    shared.destroy(linger=0)
