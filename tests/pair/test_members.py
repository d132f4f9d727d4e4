"""Several cloud daemons: whichever of them is killed, stopped, full or drained, an answer has the ids of one alone."""

from __future__ import annotations

import random
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import CLOUDS, FleetOfClouds, started

from hocket_client import Client, Stream
from waiting import WAIT_S

TOKENS, PLACES = 40, 20
QUESTION = "kala mira?"
OPTIONS = {"seed": 9, "max_tokens": TOKENS, "ignore_eos": True, "temperature": 1.0, "deadline_s": WAIT_S}
AT = range(0, TOKENS, TOKENS // PLACES)
SHORT = set(random.Random(3).sample([(cloud, at) for cloud in range(CLOUDS) for at in AT], 3))
CASES = [
    pytest.param(cloud, at, marks=[] if (cloud, at) in SHORT else [pytest.mark.long])
    for cloud in range(CLOUDS)
    for at in AT
]


@pytest.fixture(scope="module")
def fleet(tiny_models: dict[str, Path]) -> Iterator[FleetOfClouds]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, started(Path(folder), tiny_models) as made:
        yield made


@pytest.fixture(scope="module")
def alone(fleet: FleetOfClouds) -> list[int]:
    """The ids of a device that has one cloud daemon, of which nothing happens."""
    return asked(fleet.clients[CLOUDS]).result().token_ids


def asked(client: Client) -> Stream:
    return client.ask(QUESTION, require_cloud=True, **OPTIONS)


def check(stream: Stream, tokens: Iterator[object], alone: list[int], *, moved: bool = True) -> None:
    """Nothing lost, nothing repeated, nothing written without a cloud."""
    for _ in tokens:
        pass
    done = stream.result()
    assert done.token_ids == alone
    assert done.aggregation.solo_steps == []
    assert any("another cloud daemon" in notice for notice in stream.notices) == moved


@pytest.mark.parametrize(("cloud", "at"), CASES)
def test_a_cloud_that_is_killed_costs_no_token(fleet: FleetOfClouds, alone: list[int], cloud: int, at: int) -> None:
    """At any place of an answer: the ids are those of a single daemon that lives."""
    fleet.settle()
    stream = asked(fleet.clients[cloud])
    tokens = iter(stream)
    for _ in range(at):
        next(tokens)
    fleet.stop(cloud)
    fleet.start_cloud(cloud)
    check(stream, tokens, alone)


def test_a_cloud_that_is_silent_costs_no_token(fleet: FleetOfClouds, alone: list[int]) -> None:
    """It is stopped and hears nothing; what it says when it goes on is nobody's."""
    fleet.settle()
    stream = asked(fleet.clients[1])
    tokens = iter(stream)
    for _ in range(TOKENS // 4):
        next(tokens)
    fleet.send(1, signal.SIGSTOP)
    try:
        check(stream, tokens, alone)
    finally:
        fleet.send(1, signal.SIGCONT)
