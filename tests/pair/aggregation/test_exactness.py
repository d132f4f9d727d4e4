"""The running pair gives the tokens of the synchronous reference, whatever the network does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from harness import WORDS, Pair, linked_pair
from reference import Expected, Reference

from hocket_client import Client
from hocket_client.question import ask_message
from hocket_lab.link import Conditions, Link
from waiting import WAIT_S

QUESTIONS = [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(1, 6)) + "?" for i in range(480)]
AT_ONCE = 10


def options(number: int) -> dict[str, object]:
    """Many different ways to ask: greedy, warm and plain, long and short, one to three documents, all weights."""
    return {
        "seed": 1000 + number,
        "temperature": (0.0, 0.7, 1.0)[number % 3],
        "top_p": (0.9, 1.0)[number % 2],
        "max_tokens": 8 + number % 17,
        "documents": 1 + number % 3,
        "weights": ("dynamic", "static", "likelihood", "off")[number % 4],
    }


@pytest.fixture(scope="module")
def reference(tiny_models: dict[str, Path]) -> Reference:
    return Reference(tiny_models)


@pytest.fixture(scope="module")
def expected(reference: Reference) -> Callable[[int], Expected]:
    """What the reference answers to a question."""

    @cache
    def answer(number: int) -> Expected:
        return reference.answer(ask_message(QUESTIONS[number], topic=bytes(16), **options(number)))  # type: ignore[arg-type]

    return answer


@pytest.fixture(scope="module")
def linked(tiny_models: dict[str, Path]) -> Iterator[tuple[Pair, Client, Link]]:
    """A pair whose cloud lies behind the link emulator, over tcp."""
    with linked_pair(tiny_models) as made:
        yield made


@pytest.mark.parametrize(
    ("number", "rtt_ms", "jitter"),
    [
        (20, 0, 0.0),
        pytest.param(20, 150, 0.2, marks=pytest.mark.slow),
        *(pytest.param(50, ms, part, marks=pytest.mark.long) for ms in (0, 30, 150) for part in (0.0, 0.2)),
    ],
)
def test_questions_give_the_reference_ids_at_any_round_trip(
    linked: tuple[Pair, Client, Link], expected: Callable[[int], Expected], number: int, rtt_ms: int, jitter: float
) -> None:
    """Token for token; a difference has to be a near-tie (margin below 1e-4), and there are at most two."""
    _, client, link = linked
    link.set(Conditions.symmetric(rtt_ms / 1000, rtt_ms / 2000 * jitter, seed=7))
    _compare(client, expected, number)


@pytest.mark.parametrize(
    ("contrast", "number", "rtt_ms"),
    [
        pytest.param(0.5, AT_ONCE, 60, marks=pytest.mark.slow),
        pytest.param(2.0, AT_ONCE, 60, marks=pytest.mark.slow),
        *(pytest.param(0.5, len(QUESTIONS), ms, marks=pytest.mark.long) for ms in (0, 40, 150)),
    ],
)
def test_rows_that_are_set_against_the_question_alone_give_the_reference_ids(
    tiny_models: dict[str, Path], expected: Callable[[int], Expected], contrast: float, number: int, rtt_ms: int
) -> None:
    """Coupled under a network and synchronous alike; and it changes tokens, so that the law can fail."""
    reference = Reference(tiny_models, contrast=contrast)

    @cache
    def contrasted(number: int) -> Expected:
        return reference.answer(ask_message(QUESTIONS[number], topic=bytes(16), **options(number)))  # type: ignore[arg-type]

    with linked_pair(tiny_models, contrast=contrast) as (_, client, link):
        link.set(Conditions.symmetric(rtt_ms / 1000, rtt_ms / 10_000, seed=7))
        _compare(client, contrasted, number)
        for i in range(3):
            for aggregation in ("sync", "sync-both"):
                got = client.ask(QUESTIONS[i], aggregation=aggregation, **options(i)).result()  # type: ignore[arg-type]
                assert got.token_ids == contrasted(i).ids
    assert any(contrasted(i).ids != expected(i).ids for i in range(AT_ONCE))


def _compare(client: Client, expected: Callable[[int], Expected], number: int) -> None:
    explained = 0
    for first in range(0, number, AT_ONCE):
        numbers = range(first, first + AT_ONCE)
        streams = [client.ask(QUESTIONS[i], deadline_s=WAIT_S, unknown="answer", **options(i)) for i in numbers]  # type: ignore[arg-type]
        for i, stream in zip(numbers, streams, strict=True):
            got, want = stream.result(), expected(i)
            assert not stream.notices
            assert got.aggregation.solo_steps == []
            explained += want.differs_by_a_tie(got.token_ids)
    assert explained <= 2


@pytest.mark.parametrize("aggregation", ["sync", pytest.param("sync-both", marks=pytest.mark.slow)])
def test_the_synchronous_modes_give_the_same_ids(
    linked: tuple[Pair, Client, Link], expected: Callable[[int], Expected], aggregation: str
) -> None:
    """Mode and speed change, tokens do not."""
    _, client, link = linked
    link.set(Conditions.symmetric(0.01))
    for i in range(12):
        got = client.ask(QUESTIONS[i], aggregation=aggregation, **options(i)).result()  # type: ignore[arg-type]
        assert (got.token_ids, got.aggregation.method) == (expected(i).ids, aggregation)


@pytest.mark.parametrize("number", [6, pytest.param(24, marks=pytest.mark.long)])
def test_independent_drafts_give_the_ids_of_algorithm_1_and_greedily_those_of_every_mode(
    linked: tuple[Pair, Client, Link], reference: Reference, expected: Callable[[int], Expected], number: int
) -> None:
    """Whoever aggregates: the noises are functions of the seed, and greedily nothing is left of them."""
    _, client, link = linked
    link.set(Conditions.symmetric(0.03, 0.003, seed=7))
    for i in range(number):
        asked = options(i) | {"aggregation": "independent"}
        got = client.ask(QUESTIONS[i], **asked).result()  # type: ignore[arg-type]
        want = reference.answer(ask_message(QUESTIONS[i], topic=bytes(16), **asked))  # type: ignore[arg-type]
        assert (got.token_ids, got.aggregation.method, got.aggregation.solo_steps) == (want.ids, "independent", [])
        assert asked["temperature"] != 0 or got.token_ids == expected(i).ids


@pytest.mark.parametrize(
    "number",
    [pytest.param(20, marks=pytest.mark.slow), pytest.param(500, marks=[pytest.mark.long, pytest.mark.timeout(3600)])],
)
def test_independent_questions_back_to_back_all_end(linked: tuple[Pair, Client, Link], number: int) -> None:
    """At temperature 1, without a pause, four at a time: no deadlock, no solo step, and a seed repeats its ids."""
    _, client, link = linked
    link.set(Conditions.symmetric(0.01, 0.002, seed=7))
    warm = {"aggregation": "independent", "temperature": 1.0, "max_tokens": 12, "ignore_eos": True}
    for first in range(0, number, 4):
        streams = [client.ask(QUESTIONS[i % 50], seed=i // 2, **warm) for i in range(first, first + 4)]
        done = [stream.result() for stream in streams]
        assert [(len(each.token_ids), each.finish, each.aggregation.solo_steps) for each in done] == [
            (12, "length", [])
        ] * 4
        again = client.ask(QUESTIONS[first % 50], seed=first // 2, **warm).result()
        assert again.token_ids == done[0].token_ids


@pytest.mark.parametrize("number", [50, pytest.param(500, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
def test_questions_in_a_row_lose_no_token(linked: tuple[Pair, Client, Link], number: int) -> None:
    """Every stream is whole from token 0: steps count up, pieces join to the text, ids equal those of the end."""
    made, _, link = linked
    link.set(Conditions())
    for i in range(number):
        if i % 10 == 0:
            # a new connection, a new subscription, at once a question
            client = Client(made.endpoint("device"), connect_s=WAIT_S)
        stream = client.ask(QUESTIONS[i % 50], seed=i, max_tokens=3, ignore_eos=True)
        tokens = list(stream)
        done = stream.result()
        assert [token.step for token in tokens] == list(range(3))
        assert [token.id for token in tokens] == done.token_ids
        assert "".join(token.text for token in tokens) == done.text
        if i % 10 == 9:
            client.close()
