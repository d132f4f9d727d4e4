"""Dispatch between two models with different tokenizers: an answer moves between words, and no byte is lost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import Pair, pair

from hocket_client import Client
from hocket_daemon.dispatch.settings import DispatchSettings
from hocket_daemon.engine.text import words
from waiting import WAIT_S, until

TOKENS = 48
OPTIONS = {
    "mode": "dispatch",
    "seed": 3,
    "documents": 2,
    "ignore_eos": True,
    "temperature": 1.0,
    "deadline_s": WAIT_S,
    "unknown": "answer",
}
QUESTION = "kala mira duno?"
OTHER = {"device": "cloud", "cloud": "device"}


@contextmanager
def _searching(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    """Make a pair of unlike models, of which nothing runs yet but both retrieval daemons."""
    if "stranger" not in tiny_models:
        pytest.skip("a published model has no stranger")
    models = {"device": tiny_models["device"], "cloud": tiny_models["stranger"]}
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        yield made


@pytest.fixture(scope="module")
def unlike(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    """A pair of unlike models, its decode steps held so that an answer takes a while."""
    with _searching(tiny_models) as made:
        made.start_cloud(hold_s=0.003)
        made.start_device(hold_s=0.003, dispatch=DispatchSettings(migration="overlap", budget=1.0))
        yield made


@pytest.fixture(scope="module")
def client(unlike: Pair) -> Client:
    """A client of the device."""
    return unlike.client()


@pytest.mark.parametrize("first", ["device", "cloud"])
@pytest.mark.parametrize("at", [1, 7, 30])
def test_a_move_is_between_words(unlike: Pair, client: Client, first: str, at: int) -> None:
    """The text is whole, in the device's tokens; where it moves a word ends."""
    unlike.script = f"{first},{at}:{OTHER[first]}"
    stream = client.ask(QUESTION, max_tokens=TOKENS, **OPTIONS)
    tokens = list(stream)
    done = stream.result()
    assert not stream.notices
    assert len(done.token_ids) == TOKENS
    assert done.dispatch.winner == first
    assert done.dispatch.device_tokens + done.dispatch.cloud_tokens == TOKENS
    assert done.dispatch.device_tokens > 0
    assert done.dispatch.cloud_tokens > 0
    [move] = done.dispatch.migrations
    assert move.step >= at
    assert {token.source for token in tokens[: move.step]} == {move.source}
    assert {token.source for token in tokens[move.step :]} == {move.target}
    assert len(done.token_sources) == TOKENS


def test_the_whole_answer_of_the_cloud_is_its_own_words(unlike: Pair, client: Client) -> None:
    """As its model draws them alone: the device spells what it is sent."""
    device = unlike.device
    assert device is not None
    tokens = device.services.model.word_tokens
    assert tokens is not None
    unlike.script = "cloud"
    done = client.ask(QUESTION, to="cloud", max_tokens=TOKENS, **OPTIONS).result()
    assert done.dispatch.cloud_tokens == TOKENS
    spelled = [id for word in words.words_of(done.text.encode()) for id in tokens.spelled(words.number_of(word))]
    assert device.services.model.text(spelled).strip("\ufffd") == done.text.strip("\ufffd")


def test_a_cloud_that_goes_leaves_the_answer_to_the_device(tiny_models: dict[str, Path]) -> None:
    """It goes on after the last word, and says so."""
    with _searching(tiny_models) as made:
        cloud = made.start_cloud(hold_s=0.02)
        made.start_device(hold_s=0.003)
        stream = made.client().ask(QUESTION, to="cloud", max_tokens=TOKENS, **OPTIONS)
        tokens = iter(stream)
        before = [next(tokens).id for _ in range(5)]
        cloud.stop()
        done = stream.result()
        assert done.token_ids[:5] == before
        assert done.dispatch.device_tokens > 0
        assert done.dispatch.device_tokens + done.dispatch.cloud_tokens == TOKENS
        assert any("cloud" in notice for notice in stream.notices)


def test_a_cloud_that_comes_later_is_used_from_the_next_question_on(tiny_models: dict[str, Path]) -> None:
    """Its tokenizer was not known when the first one began."""
    with _searching(tiny_models) as made:
        device = made.start_device()
        client = made.client()
        done = client.ask(QUESTION, max_tokens=5, **OPTIONS).result()
        assert done.dispatch.device_tokens == 5
        made.start_cloud()
        peer = device.peer()
        assert peer is not None
        until(lambda: peer.up)
        done = client.ask(QUESTION, to="cloud", max_tokens=5, **OPTIONS).result()
        assert done.dispatch.cloud_tokens == 5
