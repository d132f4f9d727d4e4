"""Memory that a server of text writes for devices: transformers' own server with SmolLM2, as it is, and killed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from harness import pair
from real_server import listens, needs_serving, serve, started

from hocket_client import Client, Remembered
from hocket_daemon.composition.remembering import EXTRACTIVE
from hocket_daemon.composition.settings import GeneratorSettings
from hocket_daemon.engine.published import is_installed, place
from hocket_daemon.engine.settings import ServerSettings
from hocket_tools.commands.documents import read_in
from ports import free_port
from waiting import WAIT_S, until

pytestmark = [
    pytest.mark.long,
    needs_serving,
    pytest.mark.skipif(not is_installed("smollm2"), reason="SmolLM2 is not here: hocket model get smollm2"),
]
DOCUMENTS = {
    "mill": "The mill at Tarnow was built in 1874 by two brothers. It burnt down in 1902 and was never built again.",
    "ferry": "The ferry to Brightholm costs 14 crowns. It leaves from the old quay every morning at seven.",
    "bees": "Linnea Varga keeps bees in Oakhaven. She has nine hives behind the chapel and sells honey in autumn.",
}


def remembered(client: Client, text: str) -> Remembered:
    with client.compose(text) as composer:
        found = (event for event in composer.events(WAIT_S) if isinstance(event, Remembered) and event.side == "cloud")
        return next(found)


def test_a_server_writes_memory_and_an_extract_comes_where_it_does_not(
    tiny_models: dict[str, Path], tmp_path: Path
) -> None:
    """Every text has its memory, the reply says who wrote it, and what was written is of a document that was read."""
    port, model = free_port(), place("smollm2")
    documents = tmp_path / "documents"
    documents.mkdir()
    for name, text in DOCUMENTS.items():
        (documents / f"{name}.txt").write_text(text)
    with (
        started(serve(port, model), tmp_path) as process,
        tempfile.TemporaryDirectory(prefix="hk") as folder,
        pair(Path(folder), tiny_models, start=False) as made,
    ):
        until(lambda: listens(process, port))
        made.start_retrieval("cloud")
        read_in(made.endpoint("cloud-retrieval"), [documents])
        settings = ServerSettings(url=f"http://127.0.0.1:{port}", model=str(model))
        made.start_cloud(server=settings, composition=GeneratorSettings(generator="server"))
        device = made.start_device()
        until(lambda: (peer := device.memory_peer()) is not None and peer.up)
        told = [remembered(made.client(), f"{text.partition('.')[0]} and") for text in DOCUMENTS.values()]
        assert {each.generator for each in told} <= {"server", EXTRACTIVE}
        assert "server" in {each.generator for each in told}
        assert {Path(one.document).stem for each in told for one in each.takeaways} <= set(DOCUMENTS)
        process.kill()
        process.wait(WAIT_S)
        assert remembered(made.client(), "Linnea Varga keeps bees and").generator == EXTRACTIVE
