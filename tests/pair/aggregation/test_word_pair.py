"""Two models with different tokenizers write one answer, by words: in running daemons."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import WORDS, Pair, linked_pair, pair
from word_reference import WordReference

from hocket_bus.errors import Unavailable
from hocket_bus.messages import Done
from hocket_client import Client
from hocket_client.question import ask_message
from hocket_daemon.privacy.egress import EgressSettings
from hocket_daemon.serving.records import decisions
from hocket_lab.link import Conditions, Link
from waiting import WAIT_S, until

QUESTIONS = [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(1, 6)) + "?" for i in range(60)]


def options(number: int) -> dict[str, object]:
    """Greedy, warm and plain; short and long; weighed or not."""
    return {
        "seed": 500 + number,
        "temperature": (0.0, 0.7, 1.0)[number % 3],
        "top_p": (0.9, 1.0)[number % 2],
        "max_tokens": 8 + number % 17,
        "documents": 1 + number % 3,
        "weights": ("static", "off")[number % 2],
        "unknown": "answer",
        "deadline_s": WAIT_S,
    }


@pytest.fixture(scope="module")
def unlike(tiny_models: dict[str, Path]) -> dict[str, Path]:
    """Models of the two sides that number other tokens."""
    if "stranger" not in tiny_models:
        pytest.skip("a published model has no stranger")
    return {"device": tiny_models["device"], "cloud": tiny_models["stranger"]}


@pytest.fixture
def parts(unlike: dict[str, Path]) -> Iterator[Pair]:
    """Nothing runs yet but both retrieval daemons."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), unlike, start=False) as made:
        made.start_retrieval("device")
        made.start_retrieval("cloud")
        yield made


@pytest.fixture(scope="module")
def linked(unlike: dict[str, Path]) -> Iterator[tuple[Client, Link]]:
    """A pair whose cloud lies behind the link emulator, over tcp."""
    with linked_pair(unlike) as (_, client, link):
        yield client, link


@pytest.mark.parametrize(
    ("number", "rtt_ms"),
    [(12, 0), pytest.param(24, 100, marks=pytest.mark.slow), pytest.param(60, 300, marks=pytest.mark.long)],
)
def test_answers_are_those_of_one_process(
    linked: tuple[Client, Link], unlike: dict[str, Path], number: int, rtt_ms: int
) -> None:
    """At any round trip, with jitter; a difference has to be a near-tie of two greedy words."""
    client, link = linked
    link.set(Conditions.symmetric(rtt_ms / 1000, rtt_ms / 10_000, seed=7))
    reference = WordReference(unlike)
    for i in range(number):
        stream = client.ask(QUESTIONS[i], **options(i))
        got, want = stream.result(), reference.write(ask_message(QUESTIONS[i], topic=bytes(16), **options(i)))
        assert not stream.notices
        assert got.aggregation.solo_steps == []
        if got.token_ids != want.ids:
            assert min(want.margins) < 1e-4, f"question {i}: {got.text!r} is not {b''.join(want.words)!r}"
        elif got.finish == "eos":
            assert got.text == b"".join(want.words).decode().rstrip("\ufffd").lstrip()


@pytest.mark.parametrize("weights", ["likelihood", "dynamic"])
def test_waiting_for_each_word_gives_the_same_answers(linked: tuple[Client, Link], weights: str) -> None:
    """Guesses change speed alone, however the sides are weighed."""
    client, link = linked
    link.set(Conditions.symmetric(0.01))
    for i in range(6):
        asked = options(i) | {"weights": weights}
        answers = [
            client.ask(QUESTIONS[i], aggregation=method, **asked).result()
            for method in ("coupled", "sync", "sync-both")
        ]
        assert len({answer.text for answer in answers}) == 1
        assert answers[0].aggregation.solo_steps == []


def test_words_obey_a_grammar_on_either_side(linked: tuple[Client, Link]) -> None:
    """Each side knows it by its own tokens; however drafts are exchanged the answer is the same, and fits."""
    client, link = linked
    link.set(Conditions.symmetric(0.01))
    schema = {
        "type": "object",
        "properties": {"who": {"enum": ["kala mira", "nobody"]}, "count": {"type": "integer", "maximum": 99}},
        "required": ["who", "count"],
        "additionalProperties": False,
    }
    for i in range(6):
        asked = options(i) | {"schema": schema, "max_tokens": 120}
        answers = [client.ask(QUESTIONS[i], aggregation=method, **asked).result() for method in ("coupled", "sync")]
        assert len({answer.text for answer in answers}) == 1
        assert answers[0].finish == "eos"
        assert answers[0].aggregation.solo_steps == []
        found = json.loads(answers[0].text)
        assert found["who"] in ("kala mira", "nobody")
        assert found["count"] <= 99


def test_an_answer_is_in_the_devices_tokens(linked: tuple[Client, Link], unlike: dict[str, Path]) -> None:
    """Ids, text, sources and length are as any answer's."""
    client, link = linked
    link.set(Conditions.symmetric(0.0))
    tokenizer = WordReference(unlike)._models["device"]
    both = set[str]()
    for i in range(9):
        answer = client.ask(QUESTIONS[i], **options(i)).result()
        assert len(answer.token_ids) <= int(str(options(i)["max_tokens"]))
        if answer.finish == "length":
            assert len(answer.token_ids) == options(i)["max_tokens"]
        assert tokenizer.text(answer.token_ids).lstrip().startswith(answer.text.rstrip("\ufffd"))
        assert len(answer.token_sources) == len(answer.token_ids)
        assert all(sum(shares) == pytest.approx(1.0, abs=1e-3) for shares in answer.token_sources)
        both |= {source.side for source in answer.sources if source.share > 0}
    assert both == {"device", "cloud"}


def test_a_stop_string_ends_an_answer_inside_a_word(linked: tuple[Client, Link]) -> None:
    """As it does between tokens."""
    client, link = linked
    link.set(Conditions.symmetric(0.0))
    whole = client.ask(QUESTIONS[4], **options(4)).result().text
    stop = whole.strip()[3:5]
    answer = client.ask(QUESTIONS[4], stop=[stop], **options(4)).result()
    assert answer.finish == "stop"
    assert answer.text == whole[: whole.index(stop)]


def _ask(parts: Pair, **more: object) -> tuple[Done, list[str]]:
    asked = options(2) | {"max_tokens": 12, "ignore_eos": True} | more
    stream = parts.client().ask(QUESTIONS[2], **asked)
    return stream.result(), stream.notices


def test_the_first_question_may_come_before_the_cloud(parts: Pair) -> None:
    """Its tokenizer is known only once it is connected: the question is begun anew, by words."""
    device = parts.start_device(connect_wait_s=WAIT_S)
    stream = parts.client().ask(QUESTIONS[2], **options(2) | {"ignore_eos": True})
    until(lambda: len(device.sessions) == 1)
    parts.start_cloud()
    answer = stream.result()
    assert answer.aggregation.method == "coupled"
    assert answer.aggregation.solo_steps == []
    assert not stream.notices


def test_a_cloud_that_goes_leaves_the_device_with_its_own_words(parts: Pair) -> None:
    """In the middle of an answer: it goes on alone at the exact prefix, and the next one is joint again."""
    cloud = parts.start_cloud(hold_s=0.02)
    parts.start_device(hold_s=0.02, peer_wait_s=1.0)
    stream = parts.client().ask(QUESTIONS[1], **options(1) | {"max_tokens": 48, "ignore_eos": True})
    tokens = iter(stream)
    before = [next(tokens).id for _ in range(6)]
    cloud.stop()
    answer = stream.result()
    assert answer.token_ids[:6] == before
    assert len(answer.token_ids) == 48
    assert answer.aggregation.solo_steps
    assert any("alone" in notice for notice in stream.notices)


def test_models_alike_may_be_asked_for_words(tiny_models: dict[str, Path]) -> None:
    """As the owner sets it; by default they answer token by token."""
    for unit, alike in (("auto", True), ("word", False)):
        with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
            made.start_retrieval("device")
            made.start_retrieval("cloud")
            made.start_cloud()
            file = made.folder / "decisions.db"
            made.start_device(unit=unit, decisions=str(file))
            made.client().ask(QUESTIONS[2], **options(2)).result()
            until(lambda file=file: bool(_recorded(file)))
            assert (_recorded(file)[0] == "token") is alike


def _recorded(file: Path) -> list[str]:
    """The units of the answers that are recorded by now."""
    try:
        return [record.record["unit"] for record in decisions.last(file, 9)]
    except Unavailable:
        return []


def test_an_owner_who_wants_tokens_is_told_why_the_cloud_takes_no_part(parts: Pair) -> None:
    """In a line that says what to change."""
    parts.start_cloud()
    parts.start_device(unit="token")
    answer, notices = _ask(parts)
    assert answer.aggregation.method == "alone"
    assert any("different tokenizers" in notice and "unit" in notice for notice in notices)
    with pytest.raises(Unavailable, match="different tokenizers"):
        _ask(parts, require_cloud=True)


def test_a_device_that_keeps_its_drafts_asks_no_unlike_cloud_that_it_does_not_trust(parts: Pair) -> None:
    """Whether it steers cannot be seen: nothing is asked of it, and the reader is told."""
    parts.start_cloud()
    device = parts.start_device(trust_cloud=False, egress=EgressSettings(drafts=False))
    answer, notices = _ask(parts)
    assert answer.aggregation.method == "alone"
    assert any("trust_cloud" in notice for notice in notices)
    assert device.ledger.sums.get("query", 0) == 0


def test_drafts_that_stay_are_words_that_stay(parts: Pair) -> None:
    """With a trusted cloud the answer is joint, and no draft of the device leaves."""
    parts.start_cloud()
    device = parts.start_device(egress=EgressSettings(drafts=False))
    answer, _ = _ask(parts)
    assert answer.aggregation.method == "coupled"
    assert answer.aggregation.solo_steps == []
    assert device.ledger.sums.get("drafts", 0) == 0
    assert device.ledger.sums["targets"] > 0


def test_the_paper_algorithm_needs_one_tokenizer(parts: Pair) -> None:
    """Algorithm 1 draws from distributions over one vocabulary."""
    parts.start_cloud()
    parts.start_device()
    answer, notices = _ask(parts, aggregation="independent")
    assert answer.aggregation.method == "alone"
    assert any("method independent needs one" in notice for notice in notices)


def test_a_word_takes_few_bytes(parts: Pair) -> None:
    """What leaves for each word is less than a tenth of a distribution."""
    parts.start_cloud()
    device = parts.start_device()
    answer, _ = _ask(parts, max_tokens=24)
    assert 0 < device.ledger.sums["drafts"] < 200 * len(answer.token_ids)
