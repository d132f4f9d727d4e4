"""Any daemon killed or stopped at any state of an answer: every request ends, and no token is lost or repeated."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from time import sleep

import pytest
from herd import NAMES, Herd, Outcome, read, started

from hocket_client import Client, Stream
from waiting import WAIT_S, until

TOKENS, STREAMS, STOPPED_S = 24, 9, 5.0
WEIGHTS = ("static", "dynamic", "off")  # dynamic ones go over to static ones while no retrieval daemon answers
STATES = {"idle": -2, "asked": -1, "reading": 0, "first": 1, "middle": TOKENS // 2, "last": TOKENS}
SHORT = ("cloud", "middle")
SLOW = {("device", "middle"), ("device-retrieval", "reading"), ("cloud-retrieval", "first")}
CASES = [
    pytest.param(
        name,
        state,
        marks=[] if (name, state) == SHORT else pytest.mark.slow if (name, state) in SLOW else pytest.mark.long,
    )
    for name in NAMES
    for state in STATES
]


@pytest.fixture(scope="module")
def herd(tiny_models: dict[str, Path]) -> Iterator[Herd]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, started(Herd(Path(folder), tiny_models)) as made:
        yield made


@pytest.fixture(scope="module")
def undisturbed(herd: Herd) -> list[list[int]]:
    """The ids of every stream when nothing happens."""
    with herd.client() as client:
        return [stream.result().token_ids for stream in asked(client)]


def asked(client: Client) -> list[Stream]:
    common = {"max_tokens": TOKENS, "ignore_eos": True, "temperature": 1.0, "documents": 1, "deadline_s": WAIT_S}
    return [client.ask("heron?", seed=seed, weights=WEIGHTS[seed % 3], **common) for seed in range(STREAMS)]


def reach(stream: Stream, state: int) -> None:
    """Read up to a state: 0 is accepted, n is the n-th token."""
    if state == 0:
        stream._take(stream._wait())
    tokens = iter(stream)
    for _ in range(state):
        next(tokens)


def left_alone(stream: Stream) -> bool:
    """Whether the device has said that it goes on alone."""
    return any("alone" in notice for notice in stream.notices)


def outcomes(herd: Herd, streams: list[Stream]) -> list[Future[Outcome]]:
    return [herd.readers.submit(read, stream) for stream in streams]


def check(outcome: Outcome, undisturbed: list[int] | None, first: int = 0) -> None:
    """A result or an error; what was read is without gap and repetition, and right up to the first solo step."""
    ids = [token.id for token in outcome.tokens]
    assert [token.step for token in outcome.tokens] == list(range(first, first + len(ids)))
    solo = [token.step for token in outcome.tokens if token.source == "solo"]
    joint = min(solo, default=TOKENS)
    assert undisturbed is None or ids[: joint - first] == undisturbed[first:joint][: len(ids)]
    if outcome.done is not None:
        assert ids == outcome.done.token_ids[first:]
        assert len(outcome.done.token_ids) == TOKENS
    else:
        assert outcome.error is not None
        assert outcome.error.remedy


@pytest.mark.parametrize(("name", "state"), CASES)
def test_whichever_daemon_is_killed_every_request_ends(
    herd: Herd, undisturbed: list[list[int]], name: str, state: str
) -> None:
    """Nine streams at once, 216 over all states; those that the cloud's death interrupts finish on the device."""
    herd.answers_together()
    with herd.client() as client:
        if state == "idle":
            herd.send(name, signal.SIGKILL)
        streams = asked(client)
        reading = outcomes(herd, streams[1:])
        reach(streams[0], STATES[state])
        if state != "idle":
            herd.send(name, signal.SIGKILL)
        reading += outcomes(herd, streams[:1])
        herd.start(name)
        seen = [future.result(WAIT_S) for future in reading]
    for seed, outcome in zip([*range(1, STREAMS), 0], seen, strict=True):
        reweighed = name.endswith("retrieval") and WEIGHTS[seed % 3] == "dynamic"
        check(outcome, None if reweighed else undisturbed[seed], max(0, STATES[state]) if seed == 0 else 0)
    if name.startswith("cloud"):
        assert [outcome.error for outcome in seen] == [None] * STREAMS


@pytest.mark.slow
@pytest.mark.parametrize("name", ["device", "cloud"])
def test_a_side_that_is_stopped_and_goes_on_costs_no_token(herd: Herd, undisturbed: list[list[int]], name: str) -> None:
    """For longer than anybody waits in silence; a stopped cloud is left behind, with a notice, and comes back."""
    herd.answers_together()
    with herd.client() as client:
        streams = asked(client)
        reading = outcomes(herd, streams[1:])
        reach(streams[0], STATES["middle"])
        herd.send(name, signal.SIGSTOP)
        reading += outcomes(herd, streams[:1])
        try:
            if name == "cloud":
                until(lambda: any(map(left_alone, streams)) or all(future.done() for future in reading))
            else:
                sleep(STOPPED_S)
        finally:
            herd.send(name, signal.SIGCONT)
        seen = [future.result(WAIT_S) for future in reading]
    assert [outcome.error for outcome in seen] == [None] * STREAMS
    for seed, outcome in zip([*range(1, STREAMS), 0], seen, strict=True):
        check(outcome, undisturbed[seed], STATES["middle"] if seed == 0 else 0)
