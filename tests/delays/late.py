"""A bus on which some messages wait before they go and before they are heard, in this process and in those it starts.

What is right only as long as everything comes at once fails here; nothing else does.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from hocket_bus.sockets import Bus, Event

SEED = "HOCKET_TESTS_LATE"
SHARE, MAX_S = 0.05, 0.06
REST = 4  # times as long as a wait nothing waits again: who says much must get on, too


def begin(seed: str) -> None:
    """From now on, here and in every process that gets this one's environment (sitecustomize.py beside this file)."""
    chance, emit, do = random.Random(seed), Bus.emit, Bus.do
    next_s = 0.0

    def wait() -> None:
        nonlocal next_s
        if time.monotonic() >= next_s and chance.random() < SHARE:
            wait_s = chance.uniform(0, MAX_S)
            next_s = time.monotonic() + (1 + REST) * wait_s
            time.sleep(wait_s)

    def emit_late(bus: Bus, event: Event) -> None:
        wait()
        emit(bus, event)

    def do_late(bus: Bus, command: Callable[[], None]) -> None:
        wait()
        do(bus, command)

    setattr(Bus, "emit", emit_late)  # noqa: B010 - a type checker would not have it
    setattr(Bus, "do", do_late)  # noqa: B010
    paths = [str(Path(__file__).parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ |= {SEED: seed, "PYTHONPATH": os.pathsep.join(dict.fromkeys(filter(None, paths)))}
