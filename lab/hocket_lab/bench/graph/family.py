"""A cloud and devices of a trial that run for a benchmark: they start, read documents, and share summaries."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hocket_bus.deadline import Deadline
from hocket_bus.errors import DeadlineExceeded
from hocket_tools.commands.daemons.pair import START_S
from hocket_tools.commands.library.documents import read_in
from hocket_tools.pair import processes
from hocket_tools.pair.home import Home
from hocket_tools.pair.state import daemon_state
from hocket_tools.pair.up import bring_up

SHARED_S = 300.0


def start(cloud: Home, devices: Sequence[Home], starting: Callable[[Home, str], int] = processes.start) -> None:
    """Bring up the cloud, then each device until it is joined to it; `starting` begins one of their daemons."""
    bring_up(cloud, START_S, lambda _: None, start=starting)
    for device in devices:
        bring_up(device, START_S, lambda _: None, joined=True, start=starting)


def read(home: Home, side: str, texts: Mapping[str, str]) -> None:
    """Let a side read these documents, by name."""
    folder = home.at / "read"
    folder.mkdir()
    for name, text in texts.items():
        (folder / Path(name).name).write_text(text, encoding="utf-8")
    read_in(home.listening(f"{side}-retrieval"), [folder])


def wait_shared(devices: Sequence[Home]) -> None:
    """Wait until the cloud holds what every device shares. Raises DeadlineExceeded."""
    deadline = Deadline.after(SHARED_S)
    while not deadline.passed:
        if all(_is_shared(daemon_state(device, "device").metrics) for device in devices):
            return
        time.sleep(1.0)
    text = f"the cloud does not hold what the devices share within {SHARED_S:g} s"
    raise DeadlineExceeded(text, "run it again when this machine has less to do")


def _is_shared(metrics: Mapping[str, float]) -> bool:
    """Tell whether a device has summaries and all are shared; one that does not answer reports no metrics."""
    return 0 < metrics.get("summaries_own", 0) == metrics["summaries_current"]
