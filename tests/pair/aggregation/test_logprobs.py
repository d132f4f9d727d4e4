"""Log-probabilities are those of the distribution that a token was drawn from, whoever wrote it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from math import exp
from pathlib import Path

import pytest
from harness import Pair, pair
from reference import Reference

from hocket_bus.errors import BadRequest
from hocket_client import Done, Logprob, Token
from hocket_client.question import Options, ask_message
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_lab.link import Conditions, Link, start
from ports import free_port
from waiting import WAIT_S

QUESTIONS = ["kala mira sono?", "tivu rano kala mira?"]
SPECIAL = {b"<|bos|>", b"<|eos|>"}  # which have a name, and no text


@pytest.fixture(scope="module")
def linked(tiny_models: dict[str, Path]) -> Iterator[tuple[Pair, Link]]:
    """A pair whose cloud lies behind the link emulator."""
    cloud = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        link = made.stack.enter_context(start("127.0.0.1:0", cloud))
        made.start_retrieval("device")
        made.start_retrieval("cloud")
        made.trust(f"tcp://127.0.0.1:{link.port}")
        made.start_cloud(endpoint=f"tcp://{cloud}")
        made.start_device(link=f"tcp://127.0.0.1:{link.port}")
        yield made, link


@pytest.fixture(scope="module")
def near(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    """A pair whose sides can both be asked."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.start_retrieval("device")
        made.start_retrieval("cloud")
        made.start_cloud(aggregation=AggregationSettings(contrast=0.0))  # as the device of a test has it
        made.start_device()
        yield made


def asked(made: Pair, question: str, **options: object) -> tuple[list[Token], Done]:
    stream = made.client().ask(question, unknown="answer", deadline_s=WAIT_S, **options)  # type: ignore[arg-type]
    return list(stream), stream.result()


def check(known: list[Logprob], token: int, law: dict[int, float], most: int) -> None:
    """The token's own, and the likeliest, equal a law recomputed elsewhere."""
    own, *likeliest = known
    assert (own.id, own.logprob) == (token, pytest.approx(law[token], abs=1e-4))
    assert [each.logprob for each in likeliest] == pytest.approx(sorted(law.values(), reverse=True)[:most], abs=1e-4)
    for each in likeliest:
        assert each.logprob == pytest.approx(law[each.id], abs=1e-4)
    assert sum(exp(each.logprob) for each in likeliest) <= 1 + 1e-9


@pytest.mark.parametrize("rtt_ms", [0, 40])
@pytest.mark.parametrize("aggregation", ["coupled", "sync"])
def test_they_are_the_mixtures(
    linked: tuple[Pair, Link], tiny_models: dict[str, Path], rtt_ms: int, aggregation: str
) -> None:
    """Recomputed in one process, before temperature and top-p, whatever these are."""
    made, link = linked
    link.set(Conditions.symmetric(rtt_ms / 1000, 0.0, seed=7))
    reference = Reference(tiny_models)
    for number, question in enumerate(QUESTIONS):
        options = Options(seed=number, max_tokens=10, ignore_eos=True, temperature=(0.0, 0.8)[number % 2])
        options["aggregation"] = aggregation
        tokens, done = asked(made, question, logprobs=5, **options)
        solo = frozenset(done.aggregation.solo_steps)
        laws = reference.logprobs(ask_message(question, topic=bytes(16), **options), done.token_ids, solo)
        for token, law in zip(tokens, laws, strict=True):
            check(token.logprobs, token.id, law, 5)


@pytest.mark.parametrize("side", ["device", "cloud"])
def test_a_dispatched_answer_has_those_of_the_side_that_wrote_it(near: Pair, side: str) -> None:
    """From one passage, where nothing is weighed: the same as that side says when it is asked alone."""
    made = near
    for question in QUESTIONS:
        options = Options(seed=3, max_tokens=10, documents=1, ignore_eos=True, logprobs=4)
        tokens, _ = asked(made, question, mode="dispatch", to=side, **options)
        stream = made.client(side).ask(question, alone=True, unknown="answer", deadline_s=WAIT_S, **options)
        alone = list(stream)
        assert [token.id for token in tokens] == [token.id for token in alone]
        for one, other in zip(tokens, alone, strict=True):
            assert [each.id for each in one.logprobs] == [each.id for each in other.logprobs]
            want = [each.logprob for each in other.logprobs]
            assert [each.logprob for each in one.logprobs] == pytest.approx(want, abs=1e-4)  # float32, in other passes


def test_greedy_takes_the_likeliest_and_the_pieces_are_the_text(linked: tuple[Pair, Link]) -> None:
    """The bytes of the tokens, joined, are those of the answer but for the blanks before it; the end has none."""
    made, _ = linked
    tokens, done = asked(made, QUESTIONS[0], seed=1, max_tokens=40, logprobs=1)
    *written, last = tokens if done.finish == "eos" else [*tokens, None]
    assert last is None or not last.logprobs
    assert all(token.logprobs[0].logprob == token.logprobs[1].logprob for token in written)
    joined = b"".join(token.logprobs[0].piece for token in written if token.logprobs[0].piece not in SPECIAL)
    assert joined.decode(errors="replace").rstrip("\ufffd").strip() == done.text.strip()


def test_none_are_told_that_were_not_asked_for(linked: tuple[Pair, Link]) -> None:
    """And with 0 the token's own alone; more than a message carries is refused before anything is sent."""
    made, _ = linked
    assert not any(token.logprobs for token in asked(made, QUESTIONS[0], seed=1, max_tokens=5)[0])
    with_own, _ = asked(made, QUESTIONS[0], seed=1, max_tokens=5, ignore_eos=True, logprobs=0)
    assert [len(token.logprobs) for token in with_own] == [1] * 5
    for number in (-1, 21):
        with pytest.raises(BadRequest, match="logprobs is"):
            made.client().ask(QUESTIONS[0], logprobs=number)


def test_what_was_read_is_counted(linked: tuple[Pair, Link]) -> None:
    """More passages are more tokens, and none is not none: the question itself is read."""
    made, _ = linked
    counts = [
        asked(made, QUESTIONS[0], seed=1, max_tokens=2, documents=number)[1].prompt_tokens for number in (0, 1, 3)
    ]
    assert 0 < counts[0] < counts[1] < counts[2]
