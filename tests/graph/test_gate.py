"""Laws of the gate and of its calibration."""

from __future__ import annotations

import random
from math import comb
from pathlib import Path

import pytest

from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import Passage, Passages
from hocket_daemon.graph import calibration_file
from hocket_daemon.graph.calibration import CONFIDENCE, binomial_cdf, calibrate, choose, fit
from hocket_daemon.graph.gate import Calibration, Inputs, decide, inputs, metric
from hocket_daemon.graph.shipped import SHIPPED

QUESTION = "At which berth does the boat Halcyon lie?"


def found(*pairs: tuple[str, float], scorer: str = SHIPPED.scorer) -> Passages:
    passages = [Passage(document="a", title="", ordinal=0, text=text, score=score) for text, score in pairs]
    return Passages(
        request=bytes(16), passages=passages, scorer=scorer, scorers=[scorer], documents_total=1, seconds=0.0
    )


def test_what_is_covered_is_counted() -> None:
    """Words and names, together and in the best passage."""
    given = inputs(QUESTION, found(("The Halcyon is a boat.", 0.8), ("Berth 41 is free.", 0.3)))
    assert given == Inputs(best=0.8, second=0.3, words=3 / 4, words_in_best=2 / 4, names=1.0)
    assert inputs("Why?", found(("Because.", 0.1))).names == 1.0


def test_a_passage_that_says_more_of_the_question_never_lowers_the_metric() -> None:
    """By the weights that ship."""
    poor, rich = found(("A boat.", 0.6)), found(("A boat, the Halcyon, at a berth.", 0.6))
    assert metric(inputs(QUESTION, rich), SHIPPED) > metric(inputs(QUESTION, poor), SHIPPED)
    assert all(weight >= 0 for weight in SHIPPED.weights)


def test_what_cannot_be_judged_escalates() -> None:
    """No documents, and scores of another embedder."""
    good = ("The boat Halcyon lies at berth 41.", 0.95)
    assert decide(QUESTION, found(good), SHIPPED).decision == "home"
    assert decide(QUESTION, found(), SHIPPED).decision == "escalate"
    other = decide(QUESTION, found(good, scorer="cosine:0"), SHIPPED)
    assert (other.decision, "not calibrated" in other.reason) == ("escalate", True)


@pytest.mark.parametrize(("trials", "chance"), [(1, 0.2), (17, 0.2), (60, 0.5), (300, 0.1)])
def test_the_binomial_sum_is_exact(trials: int, chance: float) -> None:
    """Against the sum of its terms."""
    total = 0.0
    for successes in range(trials + 1):
        total += comb(trials, successes) * chance**successes * (1 - chance) ** (trials - successes)
        assert binomial_cdf(successes, trials, chance) == pytest.approx(total, abs=1e-9)


@pytest.mark.slow
def test_the_threshold_holds_the_risk_as_often_as_it_promises() -> None:
    """Over many draws of questions whose risk falls with the metric: the true risk of what is kept, by simulation."""
    rng, above = random.Random(1), 0

    def true_risk(threshold: float) -> float:
        kept = [x / 1000 for x in range(1000) if x / 1000 >= threshold]
        return sum(1 - x for x in kept) / len(kept) if kept else 0.0

    for _ in range(200):
        metrics = [rng.random() for _ in range(300)]
        labels = [rng.random() < value for value in metrics]
        above += true_risk(choose(metrics, labels, 0.2)) > 0.2
    assert above / 200 <= 2 * (1 - CONFIDENCE)  # the lowest of several thresholds that pass is a little bold


def test_no_threshold_is_chosen_that_cannot_be_known() -> None:
    """Few questions, or none with evidence, keep nothing."""
    assert choose([0.9, 0.8], [True, True], 0.2) == 1.0
    assert choose([0.5] * 50, [False] * 50, 0.2) == 1.0


def test_the_model_finds_what_tells() -> None:
    """The weight of an input that decides is above those of noise."""
    rng = random.Random(2)
    given = [Inputs(*(rng.random() for _ in Inputs._fields)) for _ in range(400)]
    weights, _ = fit(given, [each.words > 0.6 for each in given])
    assert weights.words > 4 * max(abs(weights.best), abs(weights.second), abs(weights.names))


def test_a_calibration_of_ones_own_comes_back(tmp_path: Path) -> None:
    """Without a file the shipped one holds; a damaged one is one clear line."""
    path = tmp_path / "gate.json"
    assert calibration_file.load(str(path)) == calibration_file.load("") == SHIPPED
    mine = Calibration("cosine:1", Inputs(1.0, 2.0, 3.0, 4.0, 5.0), -1.0, 0.4)
    calibration_file.save(path, mine)
    assert calibration_file.load(str(path)) == mine
    path.write_text("{")
    with pytest.raises(BadConfiguration, match="calibrate"):
        calibration_file.load(str(path))


def test_calibrating_on_perfect_questions_keeps_them_all() -> None:
    """Where every question finds its evidence the lowest metric is good enough."""
    given = [Inputs(0.5 + n / 100, 0.4, 1.0, 1.0, 1.0) for n in range(40)]
    made = calibrate("s", given, [True] * 40)
    assert all(metric(each, made) >= made.threshold for each in given)


def test_no_input_speaks_against_evidence() -> None:
    """Give an input that would no weight, and fit the others without it."""
    rng = random.Random(2)
    given, labels = list[Inputs](), list[bool]()
    for at in range(400):
        is_found = at % 2 == 0
        best, second = rng.gauss(0.5 + 0.3 * is_found, 0.2), rng.gauss(0.5 - 0.3 * is_found, 0.2)
        given.append(Inputs(best, second, rng.random(), rng.random(), rng.random()))
        labels.append(is_found)
    weights, bias = fit(given, labels)
    assert weights.second == 0.0
    assert weights.best > 1.0
    assert all(weight >= 0.0 for weight in weights)
    alone, bias_alone = fit([each._replace(second=0.0) for each in given], labels)
    assert (*weights, bias) == pytest.approx((*alone, bias_alone), abs=1e-6)
