"""The sampler's laws: target tokens follow p_t, drafts follow p_s, equal distributions draw equal tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest
from draws import DRAWS, PLAIN, cases, p_value, random_distribution
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hocket_daemon.aggregation.exchange.sampler import MIN_OF_DEVICE, eta_device, mix, target
from hocket_daemon.engine.sampling.distribution import truncate
from hocket_daemon.engine.sampling.drawing import Rule, draw, exponential, sample


def check_draws_follow(number: int) -> None:
    p_values: dict[str, list[float]] = {"target": [], "device": [], "cloud": []}
    for i, (_, device, cloud, log_h) in enumerate(cases(number)):
        rules = [Rule(seed=1_000_003 * i + k, **PLAIN) for k in range(DRAWS // 8)]
        ids, weights = mix(device, cloud, eta_device(*log_h))
        drawn = [target(rule, step, device, cloud, log_h) for rule in rules for step in range(8)]
        support = weights > 0
        p_values["target"].append(p_value(drawn, ids[support], weights[support]))
        for side, own in (("device", device), ("cloud", cloud)):
            drafts = [sample(rule, step, own) for rule in rules for step in range(8)]
            p_values[side].append(p_value(drafts, own.ids, own.probabilities))
    for name, values in p_values.items():
        real = [value for value in values if value < 1.0]
        assert min(real) > 0.01 / len(real) / 10, name
        assert stats.kstest(real, "uniform").pvalue > 1e-3, name


def test_targets_follow_the_mixture_and_drafts_their_side() -> None:
    """Chi-square over many pairs; the p-values themselves are uniform."""
    check_draws_follow(18)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_targets_follow_the_mixture_over_many_more_pairs() -> None:
    """The whole of the law above."""
    check_draws_follow(300)


def test_a_biased_sampler_would_be_noticed() -> None:
    """The test above can fail: drawing from the device alone is rejected."""
    _, device, cloud, log_h = cases(1)[0]
    ids, weights = mix(device, cloud, eta_device(*log_h))
    drawn = [sample(Rule(k, **PLAIN), 0, device) for k in range(DRAWS)]
    assert p_value(drawn, ids, weights) < 1e-6


@given(st.integers(0, 2**64 - 1), st.integers(0, 10_000), st.integers(0, 2**32))
def test_equal_distributions_draw_equal_tokens(seed: int, step: int, salt: int) -> None:
    """With one noise and no difference, acceptance is 1."""
    rng = np.random.default_rng(salt)
    same = random_distribution(rng, np.arange(40), 1.5)
    rule = Rule(seed, 1.0, 1.0)
    assert sample(rule, step, same) == target(rule, step, same, same, (0.2, -0.4))


def test_coupled_acceptance_is_what_shared_noise_gives_and_more_than_independent_noise() -> None:
    """At a total variation near 0.15 and η = ½ about 0.9 of the drafts survive (0.52 with independent noise)."""
    rng = np.random.default_rng(3)
    accepted, trials = 0, 0
    for _ in range(150):
        common, own, other = rng.normal(size=(3, 300))
        device, cloud = (
            truncate(np.exp(x) / np.exp(x).sum(), 1.0) for x in (2 * common + 0.38 * own, 2 * common + 0.38 * other)
        )
        for k in range(10):
            rule = Rule(int(rng.integers(2**62)), 1.0, 1.0)
            accepted += sample(rule, k, device) == target(rule, k, device, cloud, (0.0, 0.0))
            trials += 1
    assert 0.85 < accepted / trials < 0.96


@given(st.floats(-900, 900), st.floats(-900, 900))
def test_eta_is_a_multiple_of_two_to_the_minus_24_and_sides_share_one(a: float, b: float) -> None:
    """Both sides compute the same bits, and the two shares sum to 1; none but the cloud's can be 0."""
    eta = eta_device(a, b)
    assert MIN_OF_DEVICE <= eta <= 1
    assert (eta * 2**24).is_integer()
    assert math.isclose(eta, max(1 / 64, 1 / (1 + math.exp(min(700, b - a)))), abs_tol=2**-24)


def test_noise_is_exponential_and_independent_over_ids_steps_and_seeds() -> None:
    """Kolmogorov-Smirnov against Exp(1), and no correlation between neighbours."""
    ids = np.arange(50_000)
    noise = exponential(42, 7, ids)
    assert stats.kstest(noise, "expon").pvalue > 1e-3
    for other in (exponential(42, 8, ids), exponential(43, 7, ids), np.roll(noise, 1)):
        assert abs(np.corrcoef(noise, other)[0, 1]) < 0.02


def plain_exponential(seed: int, step: int, token: int) -> float:
    """The generator as docs/protocol.md words it, in plain integers."""
    mask = (1 << 64) - 1

    def mixed(z: int) -> int:
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        return z ^ z >> 31

    golden = 0x9E3779B97F4A7C15
    key = mixed(seed + golden * (step + 1) & mask) ^ (0xD1342543DE82EF95 * (step + 1) & mask)
    bits = mixed(mixed(key + golden * (token + 1) & mask))
    return -math.log(((bits >> 11) + 0.5) * 2.0**-53)


@given(st.integers(0, 2**64 - 1), st.integers(0, 10_000), st.integers(0, 2**18 - 1))
def test_noise_is_the_documented_generator(seed: int, step: int, token: int) -> None:
    """The vectorised code and the words of docs/protocol.md agree."""
    assert math.isclose(
        exponential(seed, step, np.array([token]))[0], plain_exponential(seed, step, token), rel_tol=1e-12
    )


def test_noise_test_vectors() -> None:
    """The vectors of docs/protocol.md: another implementation must give these."""
    got = exponential(0, 0, np.array([0, 1, 2, 262_143]))
    assert [f"{value:.12f}" for value in got] == VECTORS["0/0"]
    got = exponential(2**64 - 1, 4095, np.array([0, 1, 2, 262_143]))
    assert [f"{value:.12f}" for value in got] == VECTORS["max/4095"]


def test_top_p_and_temperature_act_after_mixing() -> None:
    """The nucleus of the mixture holds tokens that neither side's own nucleus decides; greedy is its argmax."""
    device = truncate(np.array([0.6, 0.4, 0.0, 0.0]), 1.0)
    cloud = truncate(np.array([0.0, 0.4, 0.3, 0.3]), 1.0)
    assert target(Rule(1, 0.0, 1.0), 0, device, cloud, (0.0, 0.0)) == 1
    drawn = {target(Rule(seed, 1.0, 0.35), 0, device, cloud, (0.0, 0.0)) for seed in range(200)}
    assert drawn == {1}
    cold = [draw(Rule(seed, 0.05, 1.0), 0, device.ids, device.probabilities) for seed in range(200)]
    assert cold.count(0) == 200
    assert draw(Rule(1, 0.0, 1.0), 0, np.array([3, 9]), np.array([0.5, 0.5])) == 3, "ties go to the lowest id"


VECTORS = {
    "0/0": ["0.378174129135", "0.001660441283", "1.591411435406", "0.507654920281"],
    "max/4095": ["0.692329043735", "0.012270626225", "0.598171472796", "3.187153220689"],
}


@pytest.mark.parametrize("temperature", [5e-324, 2.2250738585072014e-308, 1e-300, 1e-9])
def test_the_lowest_temperature_is_greedy_and_no_error(temperature: float) -> None:
    """Also where a logarithm divided by it is more than a number holds."""
    ids, weights = np.arange(4), np.array([0.2, 0.1, 0.6, 0.1])
    assert {draw(Rule(seed, temperature, 1e-300), 0, ids, weights) for seed in range(20)} == {2}
    assert {draw(Rule(seed, temperature, 1.0), 0, ids, weights) for seed in range(20)} == {2}
