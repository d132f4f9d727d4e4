"""Several cloud daemons: whichever of them is killed, stopped, full or drained, an answer has the ids of one alone."""

from __future__ import annotations

import os
import random
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import CLOUDS, FleetOfClouds, started

from hocket_bus.messages import Drain, Drained
from hocket_client import Client, Stream
from hocket_daemon.roles.membership import FILE, sign, take
from hocket_daemon.serving.cluster import CloudLink
from hocket_tools.caller import Caller
from waiting import WAIT_S

TOKENS, PLACES = 40, 20
DRAINED = 120  # tokens of an answer that goes on for longer than a device takes to hear of it
QUESTION = "kala mira?"
OPTIONS = {"seed": 9, "ignore_eos": True, "temperature": 1.0, "deadline_s": WAIT_S}
AT = range(0, TOKENS, TOKENS // PLACES)
SHORT = set(random.Random(3).sample([(cloud, at) for cloud in range(CLOUDS) for at in AT], 1))
CASES = [
    pytest.param(cloud, at, marks=[] if (cloud, at) in SHORT else [pytest.mark.long])
    for cloud in range(CLOUDS)
    for at in AT
]


@pytest.fixture(scope="module")
def fleet(tiny_models: dict[str, Path]) -> Iterator[FleetOfClouds]:
    options = {"max_sessions": 1, "silence_s": 10.0}
    with tempfile.TemporaryDirectory(prefix="hk") as folder, started(Path(folder), tiny_models, **options) as made:
        yield made


@pytest.fixture(scope="module")
def alone(fleet: FleetOfClouds) -> list[int]:
    """The ids of a device that has one cloud daemon, of which nothing happens."""
    return asked(fleet.clients[CLOUDS], DRAINED).result().token_ids


def asked(client: Client, tokens: int = TOKENS) -> Stream:
    return client.ask(QUESTION, require_cloud=True, max_tokens=tokens, **OPTIONS)


def begun(fleet: FleetOfClouds, device: int, at: int, tokens: int = TOKENS) -> tuple[Stream, Iterator[object]]:
    """An answer of that device, of which so many tokens are read."""
    stream = asked(fleet.clients[device], tokens)
    rest = iter(stream)
    for _ in range(at):
        next(rest)
    return stream, rest


def check(stream: Stream, tokens: Iterator[object], alone: list[int]) -> None:
    """Nothing lost, nothing repeated, nothing written without a cloud."""
    for _ in tokens:
        pass
    done = stream.result()
    assert done.token_ids == alone[: len(done.token_ids)]
    assert done.finish == "length"
    assert done.aggregation.solo_steps == []
    assert any("another cloud daemon" in notice for notice in stream.notices)


@pytest.mark.slow
@pytest.mark.parametrize(("cloud", "at"), CASES)
def test_a_cloud_that_is_killed_costs_no_token(fleet: FleetOfClouds, alone: list[int], cloud: int, at: int) -> None:
    """At any place of an answer: the ids are those of a single daemon that lives."""
    fleet.settle()
    stream, tokens = begun(fleet, cloud, at)
    fleet.stop(cloud)
    fleet.start_cloud(cloud)
    check(stream, tokens, alone)


@pytest.mark.parametrize(
    "at", [pytest.param(each, marks=pytest.mark.slow if each == TOKENS // 2 else pytest.mark.long) for each in AT]
)
def test_a_cloud_that_drains_loses_nothing(fleet: FleetOfClouds, alone: list[int], at: int) -> None:
    """At any place: its session moves, it ends of itself with none cut short, and the ids are those of one alone."""
    fleet.settle()
    stream, tokens = begun(fleet, 0, at, DRAINED)
    with Caller(fleet.endpoints[0], WAIT_S, keys=fleet.folder / "single-keys") as caller:
        drained = caller.ask(Drain(request=os.urandom(16), within_s=WAIT_S), Drained, WAIT_S)
    fleet.processes[0].join()
    assert (drained.ended, fleet.processes[0].exitcode) == (0, 0)
    fleet.start_cloud(0)
    check(stream, tokens, alone)


@pytest.mark.slow
def test_a_cloud_that_is_full_is_left_for_the_other(
    fleet: FleetOfClouds, alone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its one place is another device's: it says busy, and the session begins with the other daemon."""
    fleet.settle()
    monkeypatch.setattr(CloudLink, "load", 0.0)  # so that it is asked at all
    filling = fleet.clients[CLOUDS].ask(QUESTION, require_cloud=True, max_tokens=400, **OPTIONS)
    next(iter(filling))
    stream, tokens = begun(fleet, 0, 0)
    check(stream, tokens, alone)
    filling.cancel()


@pytest.mark.slow
def test_a_member_that_leaves_the_list_is_dialled_no_more(fleet: FleetOfClouds, alone: list[int]) -> None:
    """A later list without it takes effect in the midst of an answer, which goes on with another daemon."""
    fleet.settle()
    stream, tokens = begun(fleet, 2, TOKENS // 4)
    device, entries = fleet.devices[2], fleet.entries()
    members = sign(fleet.owner, {name: each for name, each in entries.items() if name != "cloud-2"})
    take(Path(device.settings.keys), (fleet.owner / FILE).read_text())
    device.bus.post(device.reload)
    check(stream, tokens, alone)
    linked = {each.link.endpoint for each in device.cluster.links}
    assert linked == {each.endpoint for each in members.members.values()}


@pytest.mark.slow
def test_a_cloud_that_is_silent_costs_no_token(fleet: FleetOfClouds, alone: list[int]) -> None:
    """It is stopped and hears nothing; what it says when it goes on is nobody's."""
    fleet.settle()
    stream, tokens = begun(fleet, 1, TOKENS // 4)
    fleet.send(1, signal.SIGSTOP)
    try:
        check(stream, tokens, alone)
    finally:
        fleet.send(1, signal.SIGCONT)
