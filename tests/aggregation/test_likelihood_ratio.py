"""What a side explains of the question: the maximum likelihood of a mixture, and the same on both sides."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.errors import BadMessage
from hocket_daemon.aggregation.weights.likelihood_ratio import decode, encode, likelihood_ratio, steps_of
from hocket_daemon.aggregation.weights.relevance import compared
from hocket_daemon.engine.runtime.likelihood import MAX_TOKENS, MINIMUM
from hocket_daemon.serving.search.passage_weights import MIN_PART, explained, parts, weigh

STEP = 0.5 / 2_000  # half of what two bytes tell apart
MAX_RATIO = math.log((1 + MIN_PART) / MIN_PART)
logs = st.lists(st.floats(math.log(MINIMUM), 0.0), max_size=MAX_TOKENS).map(np.array)
tables = st.tuples(st.integers(1, 5), st.integers(1, 40), st.integers(0, 1000)).map(
    lambda drawn: np.log(np.random.default_rng(drawn[2]).uniform(1e-6, 1.0, drawn[:2]))
)


@given(logs)
def test_what_is_told_is_what_was_heard(heard: np.ndarray) -> None:
    """To half of a step."""
    told = decode(encode(steps_of(heard)))
    assert told == steps_of(heard)
    np.testing.assert_allclose(np.array(told) / -2_000, heard, atol=STEP)


@pytest.mark.parametrize("payload", [b"\x00", bytes(2 * MAX_TOKENS + 2), b"\xff\xff"])
def test_what_nobody_tells_is_refused(payload: bytes) -> None:
    """Half a token, too many tokens, a token less likely than the least."""
    with pytest.raises(BadMessage):
        decode(payload)


@given(logs, logs)
def test_neither_side_is_favoured(one: np.ndarray, other: np.ndarray) -> None:
    """Changing places changes the sign; no claim leans further than the least part allows."""
    device, cloud = steps_of(one), steps_of(other)
    assert likelihood_ratio(device, cloud) == pytest.approx(-likelihood_ratio(cloud, device), abs=1e-9)
    assert abs(likelihood_ratio(device, cloud)) <= MAX_RATIO + 1e-9
    assert likelihood_ratio(device, device) == pytest.approx(0.0, abs=1e-12)
    if len(device) != len(cloud):
        assert likelihood_ratio(device, cloud) == 0.0


def test_who_explains_half_of_the_question_has_half_a_say() -> None:
    """Where the product of all tokens leaves one side next to nothing."""
    sure, unsure = [0] * 10, [10_000] * 10  # 0 and 5 nats a token
    device, cloud = sure + unsure, unsure + [2_000] * 10
    assert sum(device) - sum(cloud) < -2_000 * 2.25
    assert likelihood_ratio(device, cloud) == pytest.approx(0.0, abs=0.1)
    assert likelihood_ratio(sure, unsure) == pytest.approx(MAX_RATIO, abs=1e-6)


@given(tables)
def test_parts_make_the_text_likeliest(heard: np.ndarray) -> None:
    """No step from them towards a single document makes it likelier; they sum to 1, whatever the documents' order."""
    found = parts(heard)
    assert found.sum() == pytest.approx(1.0)
    assert found.min() >= MIN_PART / (1 + len(found) * MIN_PART)
    np.testing.assert_allclose(parts(heard[::-1]), found[::-1], atol=1e-9)
    fitted = found * (1 + len(found) * MIN_PART) - MIN_PART
    said = np.exp(heard)
    for document in said:
        assert np.log(fitted @ said).mean() >= np.log(0.95 * fitted @ said + 0.05 * document).mean() - 0.005
    assert (explained(heard) <= 1e-12).all()


def test_a_question_of_two_parts_keeps_both_documents() -> None:
    """Each explains its half; the third, which explains nothing better, has the least part."""
    halves = np.full((3, 20), -5.0)
    halves[0, :10], halves[1, 10:] = -0.1, -0.5
    assert parts(halves) == pytest.approx([0.5 / 1.06 + 0.02 / 1.06] * 2 + [0.02 / 1.06], abs=0.02)
    assert weigh([0.0] * 3, 0.1, halves)[0] == pytest.approx(list(parts(halves)))


def test_no_token_counted_says_nothing() -> None:
    """A question of one token."""
    assert list(parts(np.zeros((4, 0)))) == [0.25] * 4
    assert encode(steps_of(explained(np.zeros((4, 0))))) == b""
    assert likelihood_ratio([], []) == 0.0


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), max_size=6))
def test_only_a_rise_since_the_question_counts_once_more(scores: list[tuple[float, float]]) -> None:
    """And only where the question is explained; what comes of it is a score."""
    sentence, question = [list(each) for each in zip(*scores, strict=True)] or [[], []]
    assert compared("dynamic", sentence, question) == sentence
    assert compared("likelihood", question, question) == question
    for now, before, counted in zip(sentence, question, compared("likelihood", sentence, question), strict=True):
        assert -1 <= counted <= 1
        assert (counted - now) * (now - before) >= 0
