"""R6 at every place: the link goes down for five seconds behind any token of an answer, and no token is lost for it."""

from __future__ import annotations

import random
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Pair, pair
from reference import Reference

from hocket_client import Client
from hocket_client.question import ask_message
from hocket_lab.link import Link, start
from ports import free_port
from waiting import WAIT_S

TOKENS, DOWN_S = 60, 5.0
QUESTION, OPTIONS = "kala mira?", {"seed": 9, "max_tokens": TOKENS, "ignore_eos": True, "temperature": 1.0}
CLOUD = f"127.0.0.1:{free_port()}"
SHORT = random.Random(4).sample(range(TOKENS), 1)


@pytest.fixture(scope="module")
def linked(tiny_models: dict[str, Path]) -> Iterator[tuple[Pair, Client, Link]]:
    """A pair at a pace that leaves the link time to come back within the answer."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        link = made.stack.enter_context(start("127.0.0.1:0", CLOUD))
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.trust(f"tcp://127.0.0.1:{link.port}")
        made.start_cloud(endpoint=f"tcp://{CLOUD}", hold_s=0.08)
        made.start_device(
            link=f"tcp://127.0.0.1:{link.port}",
            hold_s=0.08,
            connect_wait_s=30.0,
            rejoin_wait_s=10.0,
        )
        yield made, made.client(), link


@pytest.fixture(scope="module")
def reference(tiny_models: dict[str, Path]) -> Reference:
    return Reference(tiny_models)


@pytest.mark.parametrize(
    "index", [index if index in SHORT else pytest.param(index, marks=pytest.mark.long) for index in range(TOKENS)]
)
def test_a_cut_behind_any_token_costs_none(linked: tuple[Pair, Client, Link], reference: Reference, index: int) -> None:
    """Steps count up, ids equal the reference given the solo steps, and joint steps come back with the link."""
    _, client, link = linked
    client.ask("kala?", max_tokens=1, require_cloud=True).result()  # the cloud is there
    stream = client.ask(QUESTION, deadline_s=WAIT_S, **OPTIONS)
    tokens = iter(stream)
    read = [next(tokens) for _ in range(index)]
    link.partition()
    healing = threading.Timer(DOWN_S, link.heal)
    healing.start()
    read += tokens
    done = stream.result()
    healing.join()

    assert [token.step for token in read] == list(range(TOKENS))
    assert [token.id for token in read] == done.token_ids
    assert done.aggregation.solo_steps == [token.step for token in read if token.source == "solo"]
    asked = ask_message(QUESTION, topic=bytes(16), **OPTIONS)
    assert done.token_ids == reference.answer(asked, frozenset(done.aggregation.solo_steps)).ids
    if done.aggregation.solo_steps and done.aggregation.solo_steps[-1] < TOKENS - 1:
        assert any("back" in notice for notice in stream.notices)
    after = client.ask(QUESTION, require_cloud=True, **OPTIONS | {"max_tokens": 3}).result()
    assert after.aggregation.solo_steps == []
