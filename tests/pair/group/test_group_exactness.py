"""A running group gives the tokens of one process that holds all models and documents, whatever the network does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from family import PATIENT, beside_new
from harness import WORDS
from peer_group import GroupReference, PeerGroup

from hocket_client.question import ask_message
from hocket_daemon.aggregation.settings import GroupSettings
from hocket_lab.link import Conditions, Link, start
from ports import free_port
from waiting import WAIT_S

QUESTIONS = [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(1, 6)) + "?" for i in range(200)]
MEMBERS = ["ben", "carl", "dora", "emil"]
AT_ONCE = 2


def options(number: int) -> dict[str, object]:
    """Greedy, warm and plain, one to three documents, all weights but none."""
    return {
        "seed": 2000 + number,
        "temperature": (0.0, 0.7, 1.0)[number % 3],
        "top_p": (0.9, 1.0)[number % 2],
        "max_tokens": 6 + number % 11,
        "documents": 1 + number % 3,
        "weights": ("likelihood", "static", "dynamic", "off")[number % 4],
        "mode": "graph",
    }


@pytest.fixture(scope="module")
def group(tiny_models: dict[str, Path]) -> Iterator[tuple[PeerGroup, Link]]:
    """Five devices and a cloud behind the link emulator: between two devices its round trip counts twice."""
    with tempfile.TemporaryDirectory(prefix="hk") as name, ExitStack() as stack:
        made = PeerGroup(Path(name), tiny_models, stack)
        names = ["anna", *MEMBERS]
        made.start_cloud(names, {"family": names})
        link = stack.enter_context(start(f"127.0.0.1:{free_port()}", made.at.removeprefix("tcp://")))
        made.at = f"tcp://127.0.0.1:{link.port}"
        for each in names:
            made.start_device(each, drafts_for=("anna",), group=PATIENT)
        yield made, link


@pytest.fixture(scope="module")
def reference(tiny_models: dict[str, Path]) -> GroupReference:
    return GroupReference(tiny_models, MEMBERS)


@pytest.mark.parametrize(
    ("members", "rtt_ms", "number"),
    [
        (4, 0, 4),
        *(pytest.param(members, ms, 8, marks=pytest.mark.slow) for members in (1, 2, 4) for ms in (0, 60)),
        *(
            pytest.param(members, ms, len(QUESTIONS), marks=pytest.mark.long)
            for members in (1, 2, 4)
            for ms in (0, 100, 300)
        ),
    ],
)
def test_ids_are_those_of_one_process(
    group: tuple[PeerGroup, Link], reference: GroupReference, members: int, rtt_ms: int, number: int
) -> None:
    """Token for token, over the members that took part in each step; `rtt_ms` between two devices, with jitter."""
    made, link = group
    link.set(Conditions.symmetric(rtt_ms / 2000, rtt_ms / 20_000, seed=7))
    names, differing = MEMBERS[:members], 0
    client = made.devices["anna"].client()
    for first in range(0, number, AT_ONCE):
        streams = {
            at: client.ask(QUESTIONS[at], members=tuple(names), deadline_s=WAIT_S, unknown="answer", **options(at))  # type: ignore[arg-type]
            for at in range(first, first + AT_ONCE)
        }
        for at, stream in streams.items():
            done = stream.result()
            there = {each.name: each.steps for each in done.aggregation.members}
            assert not beside_new(stream.notices)
            assert there == {name: [0, len(done.token_ids)] for name in ["cloud", *names]}
            roster = [["cloud", *names]] * len(done.token_ids)
            ask = ask_message(QUESTIONS[at], topic=bytes(16), **options(at))  # type: ignore[arg-type]
            differing += done.token_ids != reference.group_answer(ask, roster, GroupSettings().most_say)
    assert differing <= number // 100  # near-ties, whose last bit depends on who else is in a batch


@pytest.mark.slow
def test_a_link_that_breaks_leaves_the_device_alone_and_it_is_joined_again(
    group: tuple[PeerGroup, Link], reference: GroupReference
) -> None:
    """Cut in the middle: what is written alone is recorded, all are back, and every token is the recorded ones'."""
    made, link = group
    link.set(Conditions.symmetric(0.02, 0.002, seed=7))
    asked = {"seed": 9, "temperature": 1.0, "max_tokens": 400, "documents": 1, "ignore_eos": True, "mode": "graph"}
    stream = (
        made.devices["anna"]
        .client()
        .ask(QUESTIONS[1], members=("ben", "carl"), deadline_s=WAIT_S, unknown="answer", **asked)
    )  # type: ignore[arg-type]
    tokens = iter(stream)
    for _ in range(10):
        next(tokens)
    link.cut()
    done = stream.result()
    turns = {each.name: each.steps for each in done.aggregation.members}
    assert all(steps[0] == 0 for steps in turns.values())
    there: list[list[str]] = [[] for _ in done.token_ids]
    for name, steps in turns.items():
        for first, end in zip(steps[::2], steps[1::2], strict=True):
            for step in range(first, end):
                there[step].append(name)
    assert not all(there), "the device was never alone"
    assert len(there[-1]) == 3, "nobody came back"
    assert any("answering alone" in notice for notice in stream.notices)
    ask = ask_message(QUESTIONS[1], topic=bytes(16), **asked)  # type: ignore[arg-type]
    assert done.token_ids == reference.group_answer(ask, there, GroupSettings().most_say)
