"""Ends a client's program as soon as it reaches for another machine; Python imports this first, by PYTHONPATH."""

from __future__ import annotations

import os
import sys

HERE = ("127.0.0.1", "::1", "localhost")
ENDED_BY_THIS = 70


def _stay_here(event: str, args: tuple[object, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event == "socket.connect" and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    if host not in HERE:
        os.write(2, f"this program wanted to reach {host!r}\n".encode())
        os._exit(ENDED_BY_THIS)


sys.addaudithook(_stay_here)
