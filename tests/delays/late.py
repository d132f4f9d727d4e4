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
SHARE, MOST_S = 0.05, 0.06


def begin(seed: str) -> None:
    """From now on, here and in every process that gets this one's environment (sitecustomize.py beside this file)."""
    chance, emit, do = random.Random(seed), Bus.emit, Bus.do

    def wait() -> None:
        if chance.random() < SHARE:
            time.sleep(chance.uniform(0, MOST_S))

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
