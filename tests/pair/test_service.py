"""A daemon under a service manager: ready, reloaded, drained; every request ends in a result or a reason."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Pair, pair
from reference import Reference

from exact import table
from hocket_bus.errors import Unavailable
from hocket_client import Client, Stream
from hocket_client.question import ask_message
from hocket_lab.rehearsal.daemon import PROGRAM, Rehearsal
from hocket_tools.pair.loopback import trust_self
from manager import manager
from ports import free_port
from processes import guarded
from waiting import WAIT_S

SLOW_S = 0.02
QUESTION, OPTIONS = "kala mira?", {"seed": 9, "max_tokens": 100, "ignore_eos": True, "temperature": 1.0}


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, since it holds sockets."""
    with tempfile.TemporaryDirectory(prefix="hk") as name:
        yield Path(name)


@pytest.mark.slow
def test_a_cloud_process_is_ready_reloads_and_drains(folder: Path, tiny_models: dict[str, Path]) -> None:
    """Over tcp with its real keys; the stream under way ends whole, a new question is refused, the status is 0."""
    at = f"tcp://127.0.0.1:{free_port()}"
    keys = trust_self(folder / "keys", at)
    (folder / "cloud.toml").write_text(
        f'endpoint = "{at}"\nretrieval = "ipc://{folder}/none"\nkeys = "{keys}"\n' + table(tiny_models["cloud"])
    )
    Rehearsal(decode_s=SLOW_S).save(folder / "cloud.toml")
    arguments = [sys.executable, "-m", PROGRAM, "cloud", "--config", f"{folder}/cloud.toml"]
    environment = os.environ | {"NOTIFY_SOCKET": f"{folder}/notify", "WATCHDOG_USEC": "3000000"}
    with (
        manager(f"{folder}/notify") as systemd,
        guarded(subprocess.Popen(arguments, env=environment, text=True)) as cloud,
    ):
        systemd.until("READY")
        systemd.until("WATCHDOG")
        cloud.send_signal(signal.SIGHUP)
        assert int(systemd.until("RELOADING")["MONOTONIC_USEC"]) > 0
        systemd.until("READY")
        with Client(at, keys=keys, connect_s=WAIT_S) as client:
            stream = client.ask(QUESTION, documents=0, **OPTIONS)
            longer = client.ask(QUESTION, documents=0, **OPTIONS | {"max_tokens": 900})
            for each in (stream, longer):  # which keeps it from ending before it has refused
                next(iter(each))
            cloud.send_signal(signal.SIGTERM)
            systemd.until("STOPPING")
            with pytest.raises(Unavailable, match="stopping"):
                client.ask(QUESTION, documents=0).result()
            longer.cancel()
            assert len(stream.result().token_ids) == 100
        assert cloud.wait(WAIT_S) == 0


def begun(made: Pair, side: str, **options: object) -> Stream:
    """A stream of which a token has been read."""
    stream = made.client(side).ask(QUESTION, **OPTIONS, **options)
    next(iter(stream))
    return stream


@pytest.mark.parametrize("how", ["late", "twice"])
def test_what_outlasts_the_drain_ends_with_a_reason(folder: Path, tiny_models: dict[str, Path], how: str) -> None:
    """When its time is over, or at the second request to end."""
    with pair(folder, tiny_models, start=False) as made:
        made.start_retrieval("device")
        device = made.start_device(hold_s=0.2, drain_s=0.3 if how == "late" else 20)
        stream = begun(made, "device", alone=True)
        device.drain()
        if how == "twice":
            device.drain()
        asked_s = time.monotonic()
        with pytest.raises(Unavailable, match="the device daemon is stopping"):
            stream.result()
        assert time.monotonic() - asked_s < 15


@pytest.mark.parametrize("drain_s", [0.3, pytest.param(WAIT_S, marks=pytest.mark.slow)])
def test_a_cloud_that_drains_costs_no_token(folder: Path, tiny_models: dict[str, Path], drain_s: float) -> None:
    """It helps to the end of the answer, or tells the device, which goes on alone at once."""
    with pair(folder, tiny_models, start=False) as made:
        made.start_retrieval("device")
        made.start_retrieval("cloud")
        cloud = made.start_cloud(hold_s=SLOW_S, drain_s=drain_s)
        made.start_device(hold_s=SLOW_S)
        stream = begun(made, "device", require_cloud=False)
        cloud.drain()
        done = stream.result()
        ask = ask_message(QUESTION, topic=bytes(16), **OPTIONS)
        assert done.token_ids == Reference(tiny_models).answer(ask, frozenset(done.aggregation.solo_steps)).ids
        told = [notice for notice in stream.notices if "the cloud is stopping" in notice]
        assert (bool(told), bool(done.aggregation.solo_steps)) == (drain_s < 1, drain_s < 1)
        later = made.client().ask(QUESTION, **OPTIONS | {"max_tokens": 3})
        assert later.result().aggregation.method == "alone"
