"""A laptop with a GGUF file and a server with safetensors are a pair: the same answers by any way and any network."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import WORDS, Pair, pair
from llama_here import needs_llama

import hocket_models
from exact import DTYPE
from hocket_client import Client
from hocket_lab.link import Conditions, Link, start
from ports import free_port
from waiting import WAIT_S

pytestmark = needs_llama
QUESTIONS = [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(1, 6)) + "?" for i in range(8)]
MIXED = {"device": "file", "cloud": "folder"}
BOTH = {"device": "file", "cloud": "file"}


@contextmanager
def opened(gguf_file: Path, kinds: dict[str, str], dtype: str) -> Iterator[tuple[Pair, Client, Link]]:
    """A running pair, a client of its device, and the link between the sides."""
    models = {side: gguf_file if kind == "file" else hocket_models.path(side) for side, kind in kinds.items()}  # type: ignore[arg-type]
    cloud = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), models, start=False) as made:
        link = made.stack.enter_context(start("127.0.0.1:0", cloud))
        made.start_retrieval("device")
        made.start_retrieval("cloud")
        made.trust(f"tcp://127.0.0.1:{link.port}", f"tcp://{cloud}")
        here = {side: made.model(side, dtype=dtype if kind == "file" else DTYPE) for side, kind in kinds.items()}
        made.start_cloud(endpoint=f"tcp://{cloud}", model=here["cloud"])
        made.start_device(link=f"tcp://127.0.0.1:{link.port}", model=here["device"])
        yield made, made.client(), link


def ids(client: Client, aggregation: str, temperature: float) -> list[list[int]]:
    found = []
    for number, question in enumerate(QUESTIONS):
        asked = client.ask(
            question, aggregation=aggregation, seed=number, temperature=temperature, max_tokens=16, documents=2,
            require_cloud=True, deadline_s=WAIT_S,
        )  # fmt: skip
        done = asked.result()
        assert done.aggregation.solo_steps == []
        found.append(done.token_ids)
    return found


@pytest.mark.parametrize(
    "kinds",
    [pytest.param(MIXED, id="mixed", marks=pytest.mark.long), pytest.param(BOTH, id="both", marks=pytest.mark.slow)],
)
def test_every_way_gives_the_same_ids_in_float32(gguf_file: Path, kinds: dict[str, str]) -> None:
    """Near or far, coupled or in step: the tokens are those of the models alone."""
    with opened(gguf_file, kinds, "float32") as (_, client, link):
        expected = {temperature: ids(client, "sync", temperature) for temperature in (0.0, 1.0)}
        for rtt_ms, jitter_ms in ((0, 0), (40, 30)):
            link.set(Conditions.symmetric(rtt_ms / 1000, jitter_ms / 1000, seed=rtt_ms))
            for temperature, wanted in expected.items():
                assert ids(client, "coupled", temperature) == wanted


@pytest.mark.long
def test_sides_of_half_precision_never_disagree_about_a_target(gguf_file: Path) -> None:
    """What they aggregate are integers that both hold, so no cloud is ever corrected, whatever the network does."""
    with opened(gguf_file, MIXED, "auto") as (made, client, link):
        for seed, jitter_ms in ((1, 5), (2, 40)):
            link.set(Conditions.symmetric(0.03, jitter_ms / 1000, seed=seed))
            for aggregation in ("coupled", "independent"):
                ids(client, aggregation, 1.0)
        assert made.cloud is not None
        assert made.cloud.services.counters.metrics()["corrections_total"] == 0
