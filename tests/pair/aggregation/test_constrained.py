"""Answers that obey a grammar: the masked mixture of both sides, token for token, whatever the network does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from harness import WORDS, Pair, linked_pair
from reference import Expected, Reference

from hocket_bus.errors import BadRequest, Unavailable
from hocket_bus.messages import Token
from hocket_client import Client
from hocket_client.question import ask_message
from hocket_lab.link import Conditions, Link
from waiting import WAIT_S

QUESTIONS = [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(1, 6)) + "?" for i in range(12)]
EXPLODING = "start: A\nA: /(.*a.{200})/ & /(.*b.{150})/ & ~/(.*c.{100})/"
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "who": {"enum": ["kala", "mira", "kal", "nobody at all"]},
        "count": {"type": "integer", "minimum": 0, "maximum": 999},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 4}, "maxItems": 2},
        "sure": {"type": "boolean"},
    },
    "required": ["who", "count", "tags"],
    "additionalProperties": False,
}


def options(number: int) -> dict[str, object]:
    return {
        "seed": 500 + number,
        "temperature": (0.0, 0.7, 1.0)[number % 3],
        "top_p": (0.9, 1.0)[number % 2],
        "max_tokens": 120,
        "documents": 1 + number % 3,
        "weights": ("dynamic", "static", "off")[number % 3],
        "schema": SCHEMA,
    }


@pytest.fixture(scope="module")
def linked(tiny_models: dict[str, Path]) -> Iterator[tuple[Pair, Client, Link]]:
    with linked_pair(tiny_models) as made:
        yield made


@pytest.fixture(scope="module")
def expected(tiny_models: dict[str, Path]) -> object:
    reference = Reference(tiny_models)

    @cache
    def answer(number: int) -> Expected:
        asked = {name: value for name, value in options(number).items() if name != "schema"}
        grammar = ask_message(QUESTIONS[number], topic=bytes(16), **options(number)).sampling.grammar  # type: ignore[arg-type]
        return reference.answer(ask_message(QUESTIONS[number], topic=bytes(16), grammar=grammar, **asked))  # type: ignore[arg-type]

    return answer


def fits(text: str) -> bool:
    """Tell whether a text is JSON that fits the schema, by hand."""
    found = json.loads(text)
    return (
        {"who", "count", "tags"} <= found.keys() <= {"who", "count", "tags", "sure"}
        and found["who"] in ("kala", "mira", "kal", "nobody at all")
        and type(found["count"]) is int
        and 0 <= found["count"] <= 999
        and len(found["tags"]) <= 2
        and all(isinstance(tag, str) and len(tag) <= 4 for tag in found["tags"])
        and isinstance(found.get("sure", True), bool)
    )


@pytest.mark.parametrize("rtt_ms", [0, pytest.param(300, marks=pytest.mark.slow)])
def test_ids_are_those_of_the_masked_mixture_at_any_round_trip(
    linked: tuple[Pair, Client, Link], expected: object, rtt_ms: int
) -> None:
    """Coupled and synchronous alike are what one process draws that holds both rows; and each text fits."""
    _, client, link = linked
    link.set(Conditions.symmetric(rtt_ms / 1000, rtt_ms / 10_000, seed=7))
    explained = 0
    for number in range(6 if rtt_ms == 0 else 3):
        want = expected(number)  # type: ignore[operator]
        given = {**options(number), "grammar": grammar_of_schema(number)}
        del given["schema"]
        for aggregation in ("coupled", "sync"):
            stream = client.ask(
                QUESTIONS[number], aggregation=aggregation, unknown="answer", deadline_s=WAIT_S, **given
            )  # type: ignore[arg-type]
            got = stream.result()
            assert not stream.notices
            assert got.aggregation.solo_steps == []
            assert got.finish == "eos"
            assert fits(got.text), got.text
            explained += want.differs_by_a_tie(got.token_ids)
    assert explained <= 2


def grammar_of_schema(number: int) -> str:
    return ask_message(QUESTIONS[number], topic=bytes(16), **options(number)).sampling.grammar  # type: ignore[arg-type]


def test_every_way_of_answering_fits_the_schema(linked: tuple[Pair, Client, Link]) -> None:
    """Alone, dispatched to either side, and with a question that nothing found is about."""
    _, client, link = linked
    link.set(Conditions())
    ways: list[dict[str, object]] = [{"alone": True}, {"mode": "dispatch"}, {"mode": "dispatch", "to": "cloud"}]
    for number, way in enumerate([*ways, {"mode": "dispatch", "to": "device"}, {"mode": "graph"}]):
        given = {"schema": SCHEMA, "max_tokens": 120, "temperature": 1.0, "seed": number, **way}
        done = client.ask(QUESTIONS[number], unknown="answer", deadline_s=WAIT_S, **given).result()  # type: ignore[arg-type]
        assert (done.finish, fits(done.text)) == ("eos", True), (way, done.text)


def test_what_cannot_be_obeyed_is_refused_in_one_line(linked: tuple[Pair, Client, Link]) -> None:
    """A schema that says what the library does not know, no grammar, one with the paper's method, one that is huge."""
    _, client, _ = linked
    for more, reason in (
        ({"schema": {"type": "object", "not": {}}}, "not"),
        ({"grammar": "no grammar"}, "cannot be used"),
        ({"schema": SCHEMA, "aggregation": "independent"}, "independent"),
        ({"schema": SCHEMA, "grammar": "start: x"}, "exclude"),
        ({"schema": SCHEMA, "ignore_eos": True}, "ignore_eos"),
        ({"schema": {"enum": ["x" * 70_000]}}, "characters"),
        ({"grammar": EXPLODING}, "fuel"),
    ):
        with pytest.raises((BadRequest, Unavailable)) as refused:
            client.ask("kala?", deadline_s=WAIT_S, **more).result()  # type: ignore[arg-type]
        assert reason in str(refused.value)
        assert len(str(refused.value)) < 500
        assert "\n" not in str(refused.value)
    assert fits(client.ask("kala?", unknown="answer", deadline_s=WAIT_S, **options(0)).result().text)  # type: ignore[arg-type]


def test_an_answer_goes_on_where_the_cloud_is_lost_and_still_fits(tiny_models: dict[str, Path]) -> None:
    """Cut the link within the answer: the device alone goes on by the same grammar."""
    with linked_pair(tiny_models) as (_, client, link):
        stream = client.ask(QUESTIONS[1], unknown="answer", deadline_s=WAIT_S, **options(1))  # type: ignore[arg-type]
        events = stream.events()
        while not isinstance(next(events), Token):
            pass
        link.partition(cut=True)
        done = stream.result()
        assert done.aggregation.solo_steps
        assert (done.finish, fits(done.text)) == ("eos", True)
