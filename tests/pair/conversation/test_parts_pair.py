"""A question of several parts on a running pair: its answer is those of its parts, whatever the network does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import WORDS, Pair, linked_pair

from hocket_bus.messages import Done
from hocket_client import Client
from hocket_daemon.serving.records import decisions
from hocket_lab.link import Conditions, Link
from hocket_tools.main import run
from waiting import WAIT_S

MADE = [tuple(WORDS[(i * k + k) % len(WORDS)] for k in (1, 2, 3, 5)) for i in range(4)]
PARTS = [(f"What is {a} {b}?", f"Who has {c} {d}?") for a, b, c, d in MADE]
SEEDS = range(24)  # the toy ends an answer seldom
ROOM = 80


def options(seed: int, **more: object) -> dict[str, object]:
    return {
        "seed": seed, "temperature": 1.0, "top_p": 1.0, "unknown": "answer", "max_tokens": ROOM, "deadline_s": WAIT_S,
        **more,
    }  # fmt: skip


def whole(number: int) -> str:
    first, second = PARTS[number]
    return f"{first.rstrip('?')}, and {second[0].lower()}{second[1:]}"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records") / "decisions.db"


@pytest.fixture(scope="module")
def linked(tiny_models: dict[str, Path], file: Path) -> Iterator[tuple[Pair, Client, Link]]:
    with linked_pair(tiny_models, decisions=str(file)) as made:
        yield made


def ask(client: Client, question: str, seed: int, **more: object) -> Done:
    return client.ask(question, **options(seed, **more)).result()  # type: ignore[arg-type]


def ended(client: Client, number: int) -> tuple[int, Done]:
    """Return a seed with which the first part's answer ends by itself, and that answer."""
    asked = ((seed, ask(client, PARTS[number][0], seed)) for seed in SEEDS)
    return next((seed, done) for seed, done in asked if done.finish == "eos")


@pytest.mark.parametrize("rtt_ms", [0, pytest.param(300, marks=pytest.mark.slow)])
def test_the_answer_is_that_of_each_part(linked: tuple[Pair, Client, Link], rtt_ms: int) -> None:
    """Token for token, with the sources of both; nothing is told of it."""
    _, client, link = linked
    for number in range(2):
        link.set(Conditions.symmetric(0, 0, seed=7))
        seed, first = ended(client, number)
        second = ask(client, PARTS[number][1], seed, max_tokens=12)
        link.set(Conditions.symmetric(rtt_ms / 1000, rtt_ms / 10_000, seed=7))
        room = len(first.token_ids) + 12
        stream = client.ask(whole(number), **options(seed, max_tokens=room))  # type: ignore[arg-type]
        tokens = list(stream)
        done = stream.result()
        assert done.token_ids == [each.id for each in tokens] == first.token_ids + second.token_ids
        assert done.text == "".join(each.text for each in tokens) == f"{first.text}\n{second.text}"
        assert not stream.notices
        assert {each.document for each in done.sources} == {each.document for each in (*first.sources, *second.sources)}
        assert len(done.token_sources) in (0, len(done.token_ids))
        assert done.finish == second.finish


def test_a_dispatched_answer_goes_from_part_to_part(linked: tuple[Pair, Client, Link]) -> None:
    """Whoever writes them: tokens are counted over both, and the text is what was streamed."""
    _, client, link = linked
    link.set(Conditions.symmetric(0, 0, seed=7))
    parted = 0
    for seed in SEEDS:
        stream = client.ask(whole(0), **options(seed, mode="dispatch"))  # type: ignore[arg-type]
        text = "".join(token.text for token in stream)
        done = stream.result()
        assert done.text == text
        assert done.dispatch.device_tokens + done.dispatch.cloud_tokens == len(done.token_ids)
        parted += "\n" in text
        if parted == 2:
            break
    assert parted == 2


def test_each_part_is_recorded_and_forgotten_with_the_whole(
    linked: tuple[Pair, Client, Link], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record of the whole names them; what left stands in each, and in sum in the whole."""
    made, client, link = linked
    link.set(Conditions.symmetric(0, 0, seed=7))
    seed, _ = ended(client, 0)
    done = ask(client, whole(0), seed)
    client.explain(done.request)  # returns once it is written
    record = decisions.named(file, done.request.hex()).record
    assert [each["question"] for each in record["parts"]] == list(PARTS[0])
    sums, of_whole = Counter[str](), Counter[str]()
    for part in record["parts"]:
        of_part = decisions.named(file, part["ID"]).record
        assert of_part["question"] == part["question"]
        assert {each["class"] for each in of_part["left"]} >= {"query", "drafts"}
        sums.update({each["class"]: each["bytes"] for each in of_part["left"]})
    for each in record["left"]:
        of_whole[each["class"]] += each["bytes"]
    assert of_whole == sums
    (made.folder / "device.toml").write_text(f'decisions = "{file}"\n')
    assert run(["forget", done.request.hex(), "--home", str(made.folder)]) == 0
    assert capsys.readouterr().out == "forgotten: 3 records of the device\n"


def test_an_answer_in_parts_goes_on_alone_when_the_link_is_cut(linked: tuple[Pair, Client, Link]) -> None:
    """In the first part; the second begins without the cloud, and the reader is told once."""
    _, client, link = linked
    link.set(Conditions.symmetric(0, 0, seed=7))
    seed, _ = ended(client, 1)
    stream = client.ask(whole(1), **options(seed))  # type: ignore[arg-type]
    tokens = [next(iter(stream))]
    link.partition(cut=True)
    try:
        tokens += list(stream)
    finally:
        link.heal()
    done = stream.result()
    assert done.text == "".join(each.text for each in tokens)
    assert "\n" in done.text or len(done.token_ids) == ROOM
    assert len([line for line in stream.notices if "answering alone" in line]) == 1
    assert done.aggregation.solo_steps


@pytest.mark.parametrize("part", [0, 1])
def test_who_stops_in_a_part_gets_what_was_written(linked: tuple[Pair, Client, Link], part: int) -> None:
    """And the pair answers the next question."""
    _, client, link = linked
    link.set(Conditions.symmetric(0, 0, seed=7))
    seed, first = ended(client, 0)
    stream = client.ask(whole(0), **options(seed))  # type: ignore[arg-type]
    for token in stream:
        if token.step >= len(first.token_ids) * part + 2:
            stream.cancel()
            break
    done = stream.result()
    assert done.finish == "cancelled"
    assert done.token_ids[: len(first.token_ids)] == first.token_ids[: len(done.token_ids)]
    assert ask(client, PARTS[0][0], seed).token_ids == first.token_ids
