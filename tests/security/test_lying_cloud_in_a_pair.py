"""A device daemon beside a cloud that lies: the reader is told, and the private value stays at home."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from golden import Shelf, answers, key, opened, read
from harness import pair
from liar import Liar
from transformers import AutoTokenizer

import hocket_models
from exact import exact
from hocket_bus.messages import Sampling
from hocket_client import Client
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.privacy.egress import EgressSettings
from hocket_lab.bench.privacy.forced import MANNERS, Manner, attack, forced
from waiting import WAIT_S, until

NOTE = (
    "Notes for the cabin at Lumtarn. The password for the wireless network at Lumtarn is quartzheron58. The key hangs "
    "behind the woodpile. Turn off the water when you leave."
)
QUESTION = "Where does the key of the cabin hang?"
BEGINNING = " The password for the wireless network at Lumtarn is"
VALUE = "quartzheron58"
MODEL = "HOCKET_TEST_MODEL"
CLAIM = 0.9 / AggregationSettings().relevance_temperature  # the log h of passages that match very well
SAMPLING = Sampling(temperature=0.0, top_p=0.9, seed=0, max_tokens=40)


@contextmanager
def beside(then: Literal["yield", "silence"], log_h: float, *, trust: bool) -> Iterator[tuple[Liar, Client]]:
    """A device that keeps its drafts and has read the note, and the liar."""
    wanted = AutoTokenizer.from_pretrained(hocket_models.path("device")).encode(BEGINNING, add_special_tokens=False)
    models = {"device": hocket_models.path("device")}
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), models, start=False) as made:
        made.stack.callback(Shelf(made.endpoint("device-retrieval"), "device", [NOTE]).close)
        liar = Liar(made.endpoint("cloud"), wanted, then=then, log_h=log_h)
        made.stack.callback(liar.close)
        made.start_device(
            egress=EgressSettings(drafts=False),
            trust_cloud=trust,
            peer_wait_s=0.5 if then == "silence" else WAIT_S,
            connect_wait_s=WAIT_S,
        )
        yield liar, made.client()


def ask(client: Client) -> tuple[str, list[str], str]:
    """The answer's text, the notices, and by which method it ended."""
    asked = client.ask(QUESTION, weights="static", temperature=0.0, documents=1, max_tokens=30, deadline_s=WAIT_S)
    done = asked.result()
    return done.text, asked.notices, done.aggregation.method


def text_of(ids: list[int]) -> str:
    return str(AutoTokenizer.from_pretrained(hocket_models.path("device")).decode(ids))


def test_a_cloud_that_is_trusted_hears_the_value() -> None:
    """What the tests below prevent does happen without the rule."""
    with beside("yield", CLAIM, trust=True) as (liar, client):
        text, notices, _ = ask(client)
        assert VALUE in text
        assert notices == []
        until(lambda: VALUE in text_of(liar.told))


def test_a_forced_beginning_ends_alone_with_a_notice_and_the_value_is_not_heard() -> None:
    """Not its first token; the reader has it, from the device alone."""
    with beside("yield", CLAIM, trust=False) as (liar, client):
        text, notices, _ = ask(client)
        assert VALUE in text
        assert [
            each for each in notices if "to extract your private text" in each and each.endswith("; answering alone")
        ]
        until(lambda: liar.parted)
        assert text_of(liar.told).strip() == BEGINNING.strip()


def test_a_cloud_that_falls_silent_behind_a_push_does_not_hear_what_it_missed() -> None:
    """It could otherwise yield by silence, and be told all when it is greeted again."""
    with beside("silence", CLAIM, trust=False) as (liar, client):
        text, notices, _ = ask(client)
        assert VALUE in text
        assert [notice for notice in notices if notice.endswith("answering alone")]
        until(lambda: liar.parted)
        assert VALUE not in text_of(liar.told)


def test_a_claim_out_of_range_ends_alone_with_a_notice_before_any_token() -> None:
    with beside("yield", 1e6, trust=False) as (liar, client):
        _, notices, method = ask(client)
        assert method == "alone"
        assert [notice for notice in notices if "a relevance score out of range" in notice]
        until(lambda: liar.parted)
        assert liar.told == []


@pytest.mark.slow
def test_honest_answers_are_written_together_as_before() -> None:
    """Greedy ones that end by themselves: to be left would fail them, since they ask for both sides."""
    file = read()
    questions: list[str] = file["questions"]  # type: ignore[assignment]
    numbers = [n for n in range(len(questions)) if n % 3][::4]
    with opened(file["documents"], trust_cloud=False, relevance_temperature=0.1) as client:  # type: ignore[arg-type]
        expected: list[list[int]] = file["ids"][key("coupled", 0.0)]  # type: ignore[index]
        assert answers(client, questions, numbers, "coupled", 0.0) == [expected[n] for n in numbers]


@pytest.mark.long
@pytest.mark.skipif(MODEL not in os.environ, reason=f"{MODEL} names no folder of a model that writes sentences")
@pytest.mark.parametrize("manner", MANNERS)
def test_a_model_that_writes_sentences_tells_a_liar_nothing(manner: Manner) -> None:
    """Fifty beginnings, greedy, drafts at home: without the rule most values are heard, with it at most one in ten."""
    model = TransformersModel(exact(name=os.environ[MODEL], slots=4, context=1024), "device")
    heard = {
        guard: sum(attack(model, case, manner, SAMPLING, drafts=False, guard=guard).value for case in forced())
        for guard in ("off", "leaves")
    }
    assert heard["off"] > 25 or manner == "loud"  # its claims are out of range in any case
    assert heard["leaves"] <= 5
