"""Dispatch on real sockets: one model on both sides writes one answer, wherever it moves and whoever is killed."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Pair, pair
from herd import Herd

from hocket_client import Client, HocketError
from hocket_daemon.dispatch.settings import DispatchSettings
from hocket_daemon.privacy.egress import EgressSettings
from waiting import WAIT_S, until

TOKENS = 60
OPTIONS = {"mode": "dispatch", "seed": 3, "documents": 0, "ignore_eos": True, "temperature": 1.0, "deadline_s": WAIT_S}
QUESTION = "kala mira duno?"
OTHER = {"device": "cloud", "cloud": "device"}
SHORT = {1, 7, 30, 59}


@pytest.fixture(scope="module")
def similar(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    """A pair of one model, its decode steps held so that an answer takes a while."""
    models = dict.fromkeys(("device", "cloud"), tiny_models["device"])
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.start_cloud(hold_s=0.005)
        made.start_device(hold_s=0.005, dispatch=DispatchSettings(migration="overlap", budget=1.0))
        yield made


@pytest.fixture(scope="module")
def client(similar: Pair) -> Client:
    return similar.client()


@pytest.fixture(scope="module")
def unmoved(client: Client) -> list[int]:
    return client.ask(QUESTION, max_tokens=TOKENS, alone=True, **OPTIONS).result().token_ids


@pytest.mark.parametrize("first", ["device", "cloud"])
@pytest.mark.parametrize(
    "at", [at if at in SHORT else pytest.param(at, marks=pytest.mark.long) for at in range(1, TOKENS)]
)
def test_the_ids_are_those_of_the_answer_that_does_not_move(
    similar: Pair, client: Client, unmoved: list[int], first: str, at: int
) -> None:
    """At every token and in both directions, over sockets."""
    similar.script = f"{first},{at}:{OTHER[first]}"
    done = client.ask(QUESTION, max_tokens=TOKENS, **OPTIONS).result()
    assert done.token_ids == unmoved
    assert done.dispatch.winner == first
    written = {"device": done.dispatch.device_tokens, "cloud": done.dispatch.cloud_tokens}
    assert sum(written.values()) == TOKENS
    assert written[first] >= at
    assert len(done.dispatch.migrations) == (written[OTHER[first]] > 0)


def test_every_token_tells_who_wrote_it(similar: Pair, client: Client, unmoved: list[int]) -> None:
    """There and back; sources of tokens and the outcome agree."""
    similar.script = "cloud,10:device,30:cloud"
    stream = client.ask(QUESTION, max_tokens=TOKENS, **OPTIONS)
    tokens = list(stream)
    done = stream.result()
    assert [token.id for token in tokens] == unmoved
    sources = [token.source for token in tokens]
    for move in done.dispatch.migrations:
        assert sources[move.step - 1] == move.source
        assert sources[move.step] == move.target


def test_a_pace_hands_tokens_out_evenly(similar: Pair, client: Client, unmoved: list[int]) -> None:
    """No token comes before its time, and none is lost for it."""
    similar.script = ""
    tokens = list(client.ask(QUESTION, max_tokens=10, pace=50.0, **OPTIONS))
    assert [token.id for token in tokens] == unmoved[:10]


def test_questions_of_both_modes_beside_each_other(similar: Pair, client: Client, unmoved: list[int]) -> None:
    """A session tells whose message a Target is."""
    similar.script = "device,5:cloud"
    dispatched = [client.ask(QUESTION, max_tokens=TOKENS, **OPTIONS) for _ in range(3)]
    others = OPTIONS | {"mode": "aggregation", "documents": 2}
    aggregated = [client.ask(QUESTION, max_tokens=20, **others) for _ in range(2)]
    assert [stream.result().token_ids for stream in dispatched] == [unmoved] * 3
    first, second = (stream.result().token_ids for stream in aggregated)
    assert first == second


def test_what_may_not_leave_keeps_the_answer_at_home(tiny_models: dict[str, Path]) -> None:
    """The device writes alone and says why."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.start_device(egress=EgressSettings(targets=False))
        stream = made.client().ask(QUESTION, max_tokens=5, **OPTIONS)
        assert {token.source for token in stream} == {"device"}
        assert any("[egress] keeps targets" in notice for notice in stream.notices)


@pytest.fixture(scope="module")
def herd(tiny_models: dict[str, Path]) -> Iterator[Herd]:
    """Processes of one model, to be killed."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        models = dict.fromkeys(("device", "cloud"), tiny_models["device"])
        made = Herd(Path(folder), models, hold_s=0.05)  # there is time to kill it before it has written all
        try:
            for name in ("device-retrieval", "cloud-retrieval", "cloud", "device"):
                made.start(name)
            yield made
        finally:
            made.close()


def together(herd: Herd) -> None:
    """Wait until the cloud writes for the device."""

    def written() -> bool:
        try:
            herd.lead("cloud")
            with herd.client() as client:
                done = client.ask(QUESTION, max_tokens=2, **OPTIONS).result()
        except HocketError:
            return False
        return bool(done.dispatch.cloud_tokens == 2)

    until(written)


@pytest.mark.parametrize(
    ("script", "read"),
    [
        pytest.param("cloud", 0, id="in the race", marks=pytest.mark.long),
        pytest.param("cloud", 20, id="while it writes", marks=pytest.mark.slow),
        pytest.param("device,10:cloud", 10, id="while it reads to take over", marks=pytest.mark.slow),
        pytest.param("device,5:cloud", 30, id="after the hand-over", marks=pytest.mark.long),
        pytest.param("cloud,5:device", 30, id="when it has handed over", marks=pytest.mark.long),
    ],
)
def test_a_cloud_that_is_killed_costs_no_token(herd: Herd, script: str, read: int) -> None:
    """The device goes on at the exact prefix; one that was not asked yet, at the beginning."""
    together(herd)
    with herd.client() as client:
        unmoved = client.ask(QUESTION, max_tokens=TOKENS, alone=True, **OPTIONS).result().token_ids
        herd.lead(script)
        stream = client.ask(QUESTION, max_tokens=TOKENS, **OPTIONS)
        tokens = iter(stream)
        seen = [next(tokens) for _ in range(read)]
        herd.send("cloud", signal.SIGKILL)
        seen += list(tokens)
        assert [token.id for token in seen] == unmoved == stream.result().token_ids
        assert [token.step for token in seen] == list(range(TOKENS))
        assert seen[-1].source == "device"
    herd.start("cloud")
