"""Memory that a server of text is to write for devices: transformers' own server, as it is, and killed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from harness import pair
from real_server import MODEL, listens, needs_serving, serve, started

from hocket_client import Client, Remembered
from hocket_daemon.composition.remembering import EXTRACTIVE
from hocket_daemon.composition.settings import GeneratorSettings
from hocket_daemon.engine.settings import ServerSettings
from ports import free_port
from waiting import WAIT_S, until

pytestmark = [pytest.mark.long, needs_serving]
TEXTS = ("kala mira duno soretu limba", "tano meku kala mira duno", "duno soretu kala limba meku")


def remembered(client: Client, text: str) -> Remembered:
    with client.compose(text) as composer:
        found = (event for event in composer.events(WAIT_S) if isinstance(event, Remembered) and event.side == "cloud")
        return next(found)


def test_memory_comes_in_time_whatever_a_server_writes(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """Every text has memory, and the reply says who wrote it; it is an extract where nobody writes.

    A model as small as the bundled one writes nothing to be believed; a larger one may.
    """
    port = free_port()
    with (
        started(serve(port), tmp_path) as process,
        tempfile.TemporaryDirectory(prefix="hk") as folder,
        pair(Path(folder), tiny_models, start=False) as made,
    ):
        until(lambda: listens(process, port))
        made.start_retrieval("cloud")
        settings = ServerSettings(url=f"http://127.0.0.1:{port}", model=str(MODEL))
        made.start_cloud(server=settings, composition=GeneratorSettings(generator="server"))
        device = made.start_device()
        until(lambda: (peer := device.memory_peer()) is not None and peer.up)
        told = [remembered(made.client(), text) for text in TEXTS]
        assert all(each.takeaways for each in told)
        assert {each.generator for each in told} <= {"server", EXTRACTIVE}
        process.kill()
        process.wait(WAIT_S)
        assert remembered(made.client(), "meku kala duno mira tano").generator == EXTRACTIVE
