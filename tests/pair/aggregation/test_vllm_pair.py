"""A cloud whose model vLLM reads: the same answers by any way and any network, and no block taken behind them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import WORDS, Pair, pair
from vllm_here import SMALL, needs_vllm

import hocket_models
from hocket_client import Client
from hocket_lab.link import Conditions, Link, start
from ports import free_port
from waiting import WAIT_S

pytestmark = needs_vllm
QUESTIONS = [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(1, 6)) + "?" for i in range(50)]
WAYS = [(0.0, "likelihood"), (1.0, "dynamic"), (0.7, "off")]


@contextmanager
def opened(**vllm: object) -> Iterator[tuple[Pair, Client, Link]]:
    """A running pair, a client of its device, and the link between the sides."""
    models = {"device": hocket_models.path("device"), "cloud": hocket_models.path("cloud")}
    cloud = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), models, start=False) as made:
        link = made.stack.enter_context(start("127.0.0.1:0", cloud))
        made.start_retrieval("device")
        made.start_retrieval("cloud")
        made.trust(f"tcp://127.0.0.1:{link.port}", f"tcp://{cloud}")
        model = made.model("cloud", engine="vllm", context=512, vllm=SMALL | vllm)
        made.start_cloud(endpoint=f"tcp://{cloud}", model=model)
        made.start_device(link=f"tcp://127.0.0.1:{link.port}")
        yield made, made.client(), link


def ids(client: Client, aggregation: str, questions: int) -> list[list[int]]:
    """Of so many questions, four at a time."""
    found = []
    for first in range(0, questions, 4):
        numbers = range(first, min(first + 4, questions))
        asked = [
            client.ask(
                QUESTIONS[number], aggregation=aggregation, seed=number, temperature=WAYS[number % 3][0],
                weights=WAYS[number % 3][1], max_tokens=16, documents=2, require_cloud=True, deadline_s=WAIT_S,
            )
            for number in numbers
        ]  # fmt: skip
        for stream in asked:
            done = stream.result()
            assert done.aggregation.solo_steps == []
            found.append(done.token_ids)
    return found


@pytest.mark.parametrize("questions", [9, pytest.param(50, marks=pytest.mark.long)])
def test_every_way_gives_the_same_ids_in_float32(questions: int) -> None:
    """Near or far, coupled or in step, alone in a pass or with others."""
    with opened() as (made, client, link):
        expected = ids(client, "sync", questions)
        for rtt_ms, jitter_ms in ((0, 0), (40, 30)):
            link.set(Conditions.symmetric(rtt_ms / 1000, jitter_ms / 1000, seed=rtt_ms))
            assert ids(client, "coupled", questions) == expected
        assert made.cloud is not None
        assert made.cloud.services.counters.metrics()["corrections_total"] == 0
