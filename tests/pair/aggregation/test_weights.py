"""Dynamic weights are a function of the answer so far: a late scorer changes nothing but the time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from harness import WORDS, ListRetrieval, pair
from reference import Reference

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Begin, Error, Passage, Prompt, Sampling, Search
from hocket_bus.sockets import Event, Received
from hocket_client.question import ask_message
from hocket_daemon.aggregation.drafter import RelevanceWeights
from hocket_daemon.aggregation.weights.relevance import query, weighed_by
from hocket_daemon.serving.search.follow_up import Found
from hocket_daemon.serving.search.retrieval import NO_PASSAGES
from hocket_daemon.serving.stream.prefix import PrefixChain
from waiting import WAIT_S

QUESTIONS = [" ".join(WORDS[(i * k + 2 * k) % len(WORDS)] for k in range(1, 6)) + "?" for i in range(6)]
OPTIONS: dict[str, object] = {"max_tokens": 32, "ignore_eos": True, "documents": 3, "temperature": 1.0, "top_p": 1.0}


@pytest.mark.parametrize(
    "late_s",
    [
        pytest.param(0.05, marks=pytest.mark.slow),
        *(pytest.param(late_s, marks=pytest.mark.long) for late_s in (0.0, 0.5)),
    ],
)
def test_a_late_scorer_changes_no_token(tiny_models: dict[str, Path], late_s: float) -> None:
    """Scores that come late give the reference's ids; without dynamic weights the ids are others."""
    reference = Reference(tiny_models)
    differing = 0
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.start_retrieval("device", late_s=late_s)
        made.start_retrieval("cloud", late_s=late_s / 2)
        made.start_cloud()
        made.start_device()
        client = made.client()
        for seed, question in enumerate(QUESTIONS[: 2 if late_s > 0.1 else 6]):
            asked: dict[str, object] = {**OPTIONS, "seed": seed}
            expected = reference.answer(ask_message(question, topic=bytes(16), **asked))  # type: ignore[arg-type]
            static = ask_message(question, topic=bytes(16), weights="static", **asked)  # type: ignore[arg-type]
            done = client.ask(question, deadline_s=WAIT_S, **asked).result()  # type: ignore[arg-type]
            assert (done.token_ids, done.aggregation.solo_steps) == (expected.ids, [])
            differing += reference.answer(static).ids != expected.ids
    assert differing


@pytest.mark.parametrize(
    ("room", "texts"), [(128, ["Mira lives", "Mira lives in", "Mira lives in Osta"]), (4, ["Mira lives"])]
)
def test_what_is_known_or_never_needed_is_not_asked_for(room: int, texts: list[str]) -> None:
    """Each text is scored once; the question's own scores came with the passages, and the last tokens weigh no step."""
    sampling = Sampling(max_tokens=room)
    begin = Begin(
        session=bytes(16), epoch=0, prompt=Prompt(query="Who?"), sampling=sampling, method="coupled", task="answer",
        documents=1, eos=[], weights="dynamic", reweigh_every=1, relevance_temperature=1.0, wire_mass=0.98, scorer="",
    )  # fmt: skip
    passage = Passage(document="d", title="", ordinal=0, text="t", score=0.5)
    found = msgspec.structs.replace(NO_PASSAGES, passages=[passage])
    asked: list[str] = []

    def score(text: str, _: list[Passage], __: str, done: Callable[[list[float] | HocketError], None]) -> None:
        asked.append(text)
        done([1.0])

    def decode(ids: list[int]) -> str:
        return " ".join(["Mira", "lives", "in", "Osta"][: len(ids)])

    def failed(reason: HocketError) -> None:
        pytest.fail(str(reason))

    weights = RelevanceWeights(begin, Found("Who?", found), score, decode, on_news=lambda: None, on_static=failed)
    drafted = PrefixChain(bytes(16), 0)
    for step in range(min(5, room)):
        assert weights.of(step, drafted) == weights.of(step, drafted)
        drafted.append(step)
    assert asked == texts


class Forgetful(ListRetrieval):
    """Has forgotten its passages when their scores are asked for."""

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Received) and isinstance(event.message, Search):
            super()._on_event(event)
        elif isinstance(event, Received):
            gone = Unavailable("a passage is no longer here")
            event.port.send(event.route, Error(code=gone.code, text=gone.text, request=event.message.request))  # type: ignore[attr-defined,call-arg,arg-type]


def test_an_answer_outlives_its_passages(tiny_models: dict[str, Path]) -> None:
    """A side that can score no more weighs by the question alone, goes on, and says so once."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        forgetful = Forgetful(made.endpoint("device-retrieval"), "device")
        made.stack.callback(forgetful.close)
        made.start_retrieval("cloud")
        made.start_cloud()
        made.start_device()
        answer = made.client().ask(QUESTIONS[0], seed=1, deadline_s=WAIT_S, unknown="answer", **OPTIONS)  # type: ignore[arg-type]
        done = answer.result()
        assert len(done.token_ids) == 32
        assert done.aggregation.solo_steps == []
        told = "a passage is no longer here: from now on the device's passages are weighted by the question only"
        assert answer.notices == [told]


def test_unequal_scorers_fall_to_the_common_one(tiny_models: dict[str, Path]) -> None:
    """A side with a re-ranker and one without use what both have, say so, and give that scorer's tokens, each time."""
    asked: dict[str, object] = {**OPTIONS, "seed": 1}
    ask = ask_message(QUESTIONS[0], topic=bytes(16), **asked)  # type: ignore[arg-type]
    common, own = (Reference(tiny_models, scorer).answer(ask).ids for scorer in ("list", "re-ranker"))
    assert common != own
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.start_retrieval("device", scorers="re-ranker list")
        made.start_retrieval("cloud")
        cloud = made.start_cloud()
        made.start_device()
        client = made.client()
        for _ in range(2):
            answer = client.ask(QUESTIONS[0], deadline_s=WAIT_S, **asked)  # type: ignore[arg-type]
            done = answer.result()
            assert (done.token_ids, done.aggregation.solo_steps) == (common, [])
            assert [notice for notice in answer.notices if notice.endswith("both use list instead")]
        assert len(cloud.sessions.followed) <= 1


@pytest.mark.parametrize("every", [1, 2, 5])
def test_a_score_has_a_full_interval_of_steps_to_arrive(every: int) -> None:
    """The prefix that weighs a step ends at a multiple of n, and at least n tokens before the step."""
    for step in range(40):
        length = weighed_by(step, every)
        assert length % every == 0
        assert step < 2 * every if length == 0 and every > 1 else length == 0 or every <= step - length < 2 * every


def test_the_sentence_under_way_is_compared_once_it_has_begun() -> None:
    """Before that, and for its first word, the question is."""
    assert query("Who?", "") == "Who?"
    assert query("Who?", "Mira") == "Who?"
    assert query("Who?", "Mira lives") == "Mira lives"
    assert query("Who?", "Mira lives in Duno. ") == "Who?"
    assert query("Who?", "Mira lives in Duno. Tano eats at 12.30 with") == "Tano eats at 12.30 with"
