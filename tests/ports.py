"""Ports of this machine that nobody listens at, so that several test runs can go on beside each other."""

from __future__ import annotations

import random
import socket

BELOW_OUTGOING = range(10_000, 32_000)  # the system gives ports from 32,768 on to connections that go out


def free_port(number: int = 2) -> int:
    """The first of `number` neighbouring free ports of 127.0.0.1: a daemon takes two.

    They are drawn at random, so that two runs that look at the same time hardly ever find the same ones.
    """
    while True:
        first = random.SystemRandom().choice(BELOW_OUTGOING)
        if all(_is_free(port) for port in range(first, first + number)):
            return first


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
