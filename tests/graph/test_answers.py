"""Laws of the gate `answers`: doubt escalates, agreement stays, and the order of answers changes nothing."""

from __future__ import annotations

import itertools

import pytest

from hocket_daemon.graph.answers import THRESHOLD, Candidate, judge, similarity

BERTH = "The Halcyon lies at berth 41 of the marina."


def candidates(*texts: str, log_probability: float = -0.3, entropy: float = 0.5) -> list[Candidate]:
    return [Candidate(text, log_probability, entropy) for text in texts]


def cosines(count: int, value: float = 0.95) -> list[list[float]]:
    return [[1.0 if i == j else value for j in range(count)] for i in range(count)]


def test_equal_answers_stay_and_different_ones_go_on() -> None:
    """By similarity."""
    kept = judge(candidates(BERTH, BERTH, BERTH), cosines(3))
    assert (kept.decision, kept.metric) == ("home", pytest.approx((0.95 + 1 + 1) / 3))
    other = judge(candidates(BERTH, "It is Tuesday.", "Bread costs 3 crowns."), cosines(3, 0.1))
    assert other.decision == "escalate"
    assert other.metric < THRESHOLD


@pytest.mark.parametrize(
    "text",
    [
        "I don't know where it lies.",
        "The passages do not say where it lies.",
        "It is not mentioned in the text.",
        "There is no information about the boat.",
        "I cannot answer that.",
        "I am not sure.",
    ],
)
def test_one_answer_that_does_not_know_is_enough(text: str) -> None:
    """However well the others agree."""
    assert judge(candidates(BERTH, BERTH, text), cosines(3)).decision == "escalate"


def test_unlikely_flat_and_empty_answers_go_on() -> None:
    """The model itself doubts them."""
    assert judge(candidates(BERTH, BERTH, log_probability=-3.0), cosines(2)).decision == "escalate"
    assert judge(candidates(BERTH, BERTH, entropy=4.0), cosines(2)).decision == "escalate"
    for empty in (("", ""), (BERTH, " "), ("", BERTH, BERTH)):
        assert "empty" in judge(candidates(*empty), []).reason
    assert judge([], []).decision == "escalate"
    assert judge(candidates(BERTH), cosines(1)).decision == "escalate"


def test_the_order_of_answers_changes_nothing() -> None:
    """The metric is of the set."""
    texts = (BERTH, "The Halcyon lies at berth 41.", "It lies at berth 14 of the marina.")
    metrics = {round(judge(candidates(*each), cosines(3, 0.8)).metric, 12) for each in itertools.permutations(texts)}
    assert len(metrics) == 1


def test_another_number_is_another_claim() -> None:
    """Where everything else is alike."""
    assert similarity(BERTH, BERTH.replace("41", "14"), 0.99) < similarity(BERTH, BERTH, 0.99)
    assert similarity(BERTH, "The Halcyon", 0.5) == pytest.approx(similarity("The Halcyon", BERTH, 0.5))
