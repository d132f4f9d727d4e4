"""Run by the tests of ends: a cloud daemon whose model never returns, on the compute thread or on the main thread."""

import ctypes
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hocket_daemon.engine.runtime.compute import Compute, Post, Read
from hocket_daemon.roles import cloud
from hocket_daemon.roles.parts import Parts
from hocket_tools.commands.daemons.serve import leave


def native() -> None:
    """Stay in C."""
    say()
    while True:
        ctypes.CDLL(None).sleep(1000)


def loop() -> None:
    """Stay in Python, as a template does."""
    say()
    while True:
        pass


def say() -> None:
    sys.stdout.write("stuck\n")
    sys.stdout.flush()


STUCK: dict[str, Callable[[], None]] = {"native": native, "loop": loop}


def compute(post: Post, read: Read, *, thread: str, how: str) -> Compute:
    """A compute thread that is stuck, or one beside a main thread that is."""
    made = Compute(post, read)
    post(partial(made.run, STUCK[how], print) if thread == "compute" else STUCK[how])  # once the main loop turns
    return made


def main() -> None:
    config, thread, how = sys.argv[1:]
    cloud.main(Path(config), Parts(compute=partial(compute, thread=thread, how=how)))
    leave()


if __name__ == "__main__":
    main()
