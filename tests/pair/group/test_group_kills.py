"""A member killed at any token of a group's answer: it goes on without it, and every token is the recorded members'."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from family import PATIENT, beside_new
from killable import Killable
from peer_group import GroupReference

from hocket_bus.messages import Done
from hocket_client.question import ask_message
from hocket_daemon.aggregation.settings import GroupSettings
from waiting import WAIT_S

TOKENS = 24
MEMBERS = ["ben", "carl"]
ASKED = {"mode": "graph", "max_tokens": TOKENS, "ignore_eos": True, "temperature": 1.0, "documents": 1, "seed": 5}
SOME = {("ben", 0), ("carl", 11)}
PLACES = [
    pytest.param(name, at, marks=[pytest.mark.slow if (name, at) in SOME else pytest.mark.long])
    for name in MEMBERS
    for at in range(20)
]


@pytest.fixture(scope="module")
def peer_group(tiny_models: dict[str, Path]) -> Iterator[Killable]:
    with tempfile.TemporaryDirectory(prefix="hk") as name, ExitStack() as stack:
        made = Killable(Path(name), tiny_models, stack)
        names = ["anna", *MEMBERS]
        made.start_cloud(names, {"family": names})
        made.start_device("anna", group=GroupSettings(patience_ms=500, reading_s=PATIENT.reading_s))
        for each in MEMBERS:
            made.start_member(each)
        yield made


@pytest.fixture(scope="module")
def reference(tiny_models: dict[str, Path]) -> GroupReference:
    return GroupReference(tiny_models, MEMBERS)


def roster(done: Done) -> list[list[str]]:
    """Who took part in each step, from the turns that are told of each."""
    there: list[list[str]] = [[] for _ in done.token_ids]
    for each in done.aggregation.members:
        for first, end in zip(each.steps[::2], each.steps[1::2], strict=True):
            for step in range(first, end):
                there[step].append(each.name)
    return there


@pytest.mark.parametrize(("name", "at"), PLACES)
def test_the_answer_goes_on_without_whoever_is_killed(
    peer_group: Killable, reference: GroupReference, name: str, at: int
) -> None:
    """To its last token, with one notice of who is late or gone; whoever starts again takes part in the next."""
    client = peer_group.devices["anna"].client()
    stream = client.ask("heron?", members=tuple(MEMBERS), deadline_s=WAIT_S, unknown="answer", **ASKED)
    tokens = iter(stream)
    for _ in range(at):
        next(tokens)
    peer_group.kill(name)
    done = stream.result()
    assert len(done.token_ids) == TOKENS
    turns = {each.name: each.steps for each in done.aggregation.members}
    assert turns["cloud"] == [0, TOKENS]
    assert turns[name] == [] or turns[name][-1] < TOKENS
    assert sum(name in notice for notice in beside_new(stream.notices)) == 1
    ask = ask_message("heron?", topic=bytes(16), **ASKED)  # type: ignore[arg-type]
    assert done.token_ids == reference.group_answer(ask, roster(done), GroupSettings().most_say)

    peer_group.restart(name)
    whole = client.ask("heron?", members=tuple(MEMBERS), deadline_s=WAIT_S, unknown="answer", **ASKED).result()
    assert {each.name: each.steps for each in whole.aggregation.members}[name][:1] == [0]
