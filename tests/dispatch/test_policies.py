"""Laws of the policies: what they spend of F they were built of, what they wait for, and which one is best."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.policies.policy import NEVER, Greedy, Ints, Policy, Ramp, Threshold, lottery
from hocket_daemon.dispatch.policies.priced import Priced
from hocket_daemon.dispatch.policies.ttfts import Floats, Ttfts
from hocket_lab.bench.dispatch.samples import ttfts_of

ALPHA = 0.05
DEVICE_TTFT = DeviceTtft(0.02, 0.1)
samples = st.lists(st.floats(0.05, 30), min_size=1, max_size=60).map(np.array)
prompts = st.lists(st.integers(1, 400), min_size=1, max_size=60).map(np.array)
budgets = st.floats(0, 1)


def of_device(policy: Policy, ttfts: Ttfts, lengths: Ints) -> tuple[float, float]:
    """Expected share of tokens that the device reads, and E[TTFT]; chances are spread evenly."""
    spent = mean_s = 0.0
    chances = (np.arange(100) + 0.5) / 100
    for length, times in zip(*np.unique(lengths, return_counts=True), strict=True):
        waits = np.array([policy.waits(int(length), chance).device_s for chance in chances.tolist()])
        spent += times * length * float(ttfts.left(waits).mean())
        mean_s += times * float(ttfts.mean_within(waits + DEVICE_TTFT.at(length)).mean())
    return spent / lengths.sum(), mean_s / len(lengths)


def realistic(seed: int) -> tuple[Floats, Ints]:
    """A server with a tail, and prompts, as those of the traces are."""
    source = np.random.default_rng(seed)
    ttft_s = source.lognormal(-0.5, 0.6, 400) * np.where(source.random(400) < 0.05, 10, 1)
    return ttft_s, np.maximum(1, source.lognormal(2.8, 0.7, 400)).astype(int)


@given(prompts)
def test_the_lottery_s_shares_are_those_of_the_tokens(lengths: Ints) -> None:
    """Each length once, ascending."""
    found = lottery(lengths)
    assert found.lengths.tolist() == sorted(set(lengths.tolist()))
    for length, share in zip(found.lengths, found.share, strict=True):
        assert share == pytest.approx(lengths[lengths == length].sum() / lengths.sum())


@settings(max_examples=25, deadline=None)
@given(samples, prompts, budgets)
def test_no_policy_of_the_device_spends_more_than_its_budget(ttft_s: Floats, lengths: Ints, budget: float) -> None:
    """Of the distributions it was built of, whatever they are."""
    ttfts = ttfts_of(ttft_s)
    for policy in (
        Greedy(ttfts, lengths, budget, ALPHA),
        Ramp(ttfts, lengths, DEVICE_TTFT, budget, ALPHA),
        Priced(ttfts, lengths, DEVICE_TTFT, budget),
    ):
        assert of_device(policy, ttfts, lengths)[0] <= budget + 0.011  # chances come in 100 steps


@pytest.mark.parametrize("budget", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_budget_that_saves_time_is_used_up(budget: float, seed: int) -> None:
    """All but what one length's step of F takes."""
    ttft_s, lengths = realistic(seed)
    ttfts = ttfts_of(ttft_s)
    for policy, slack in (
        (Greedy(ttfts, lengths, budget, ALPHA), 0.01),
        (Ramp(ttfts, lengths, DEVICE_TTFT, budget, ALPHA), 0.02),
        (Priced(ttfts, lengths, DEVICE_TTFT, budget), 0.006),
    ):
        assert of_device(policy, ttfts, lengths)[0] == pytest.approx(budget, abs=slack + 0.005)


@given(samples, prompts, st.floats(0, ALPHA))
def test_a_budget_below_the_tail_s_share_is_all_for_the_tail(ttft_s: Floats, lengths: Ints, budget: float) -> None:
    """Algorithm 2, lines 5 to 7: one wait for all lengths."""
    ttfts = ttfts_of(ttft_s)
    policy = Greedy(ttfts, lengths, budget, ALPHA)
    assert {policy.waits(length).device_s for length in lengths.tolist()} == {ttfts.quantile(1 - budget)}


@given(samples, prompts, budgets)
def test_greedy_and_ramp_let_no_prompt_wait_beyond_the_tail(ttft_s: Floats, lengths: Ints, budget: float) -> None:
    """The device is there for whoever would wait longest; longer prompts never wait less."""
    ttfts = ttfts_of(ttft_s)
    tail_s = ttfts.quantile(1 - min(ALPHA, budget))
    for policy in (Greedy(ttfts, lengths, budget, ALPHA), Ramp(ttfts, lengths, DEVICE_TTFT, budget, ALPHA)):
        waits_s = [policy.waits(length).device_s for length in sorted(set(lengths.tolist()))]
        assert waits_s == sorted(waits_s)
        assert waits_s[-1] <= tail_s


def test_algorithm_2_spends_its_budget_only_as_it_is_mended() -> None:
    """One length, F even over 1 to 100: 1 − F(w) is the budget, where F(w) as printed would wait the other way."""
    ttfts = ttfts_of(np.arange(1, 101).astype(float))
    wait_s = Greedy(ttfts, np.array([10, 10]), 0.3, ALPHA).waits(10).device_s
    assert 1 - ttfts.at(wait_s) == pytest.approx(0.3, abs=0.011)


@given(prompts, budgets)
def test_threshold_gives_the_server_the_longest_prompts(lengths: Ints, budget: float) -> None:
    """Eq. 3: those shorter than l_th have at most 1 − b of the tokens, and with l_th itself they have more."""
    policy = Threshold(lengths, budget)
    alone = np.array([policy.waits(length).server_s == NEVER for length in lengths.tolist()])
    assert lengths[alone].sum() <= (1 - budget) * lengths.sum() + 1e-6
    if not alone.all():
        minimum = lengths[~alone].min()
        assert lengths[lengths <= minimum].sum() >= (1 - budget) * lengths.sum() - 1e-6
        assert alone.sum() == (lengths < minimum).sum()
    assert all(policy.waits(length).device_s == 0 for length in lengths.tolist())


def test_no_other_waits_are_better_than_the_priced_ones() -> None:
    """All assignments of waits to three lengths, enumerated: none has less of both, mean and tokens."""
    ttfts = ttfts_of(np.array([0.2, 0.3, 0.5, 0.9, 4.0]))
    lengths = np.array([5, 20, 60])
    tried = [0.0, *ttfts.times_s.tolist()]
    others = [figures(ttfts, lengths, dict(zip(lengths.tolist(), waits, strict=True)).__getitem__)
              for waits in itertools.product(tried, repeat=3)]  # fmt: skip
    for budget in (0.05, 0.2, 0.4, 0.6, 0.9):
        spent, mean_s = of_device(Priced(ttfts, lengths, DEVICE_TTFT, budget), ttfts, lengths)
        assert all(other_s >= mean_s - 1e-3 for other, other_s in others if other <= spent)


def figures(ttfts: Ttfts, lengths: Ints, wait_s: Callable[[int], float]) -> tuple[float, float]:
    """Expected share of the tokens, and E[TTFT], of waits by length."""
    waits_s = np.array([wait_s(length) for length in lengths.tolist()])
    spent = float(lengths @ ttfts.left(waits_s)) / lengths.sum()
    return spent, float(ttfts.mean_within(waits_s + DEVICE_TTFT.k * lengths + DEVICE_TTFT.c).mean())


@pytest.mark.parametrize("budget", [0.1, 0.3, 0.6])
def test_priced_is_not_slower_than_the_paper_s(budget: float) -> None:
    """For what those spend."""
    ttft_s, lengths = realistic(3)
    ttfts = ttfts_of(ttft_s)
    for other in (Greedy(ttfts, lengths, budget, ALPHA), Ramp(ttfts, lengths, DEVICE_TTFT, budget, ALPHA)):
        spent, mean_s = of_device(other, ttfts, lengths)
        assert of_device(Priced(ttfts, lengths, DEVICE_TTFT, spent), ttfts, lengths)[1] <= mean_s + 1e-3


def test_a_smaller_budget_has_a_higher_price() -> None:
    """And none at all buys nearly nothing: like lengths have one price."""
    ttft_s, lengths = realistic(4)
    ttfts = ttfts_of(ttft_s)
    prices = [Priced(ttfts, lengths, DEVICE_TTFT, budget).price for budget in (0.0, 0.1, 0.3, 0.6, 1.0)]
    assert prices == sorted(prices, reverse=True)
    assert prices[-1] == 0.0
    assert of_device(Priced(ttfts, lengths, DEVICE_TTFT, 0.0), ttfts, lengths)[0] < 0.006


def test_many_samples_are_thinned_and_spend_the_same() -> None:
    """The waits that are tried are some of F's steps."""
    source = np.random.default_rng(5)
    ttft_s, lengths = source.lognormal(0, 1, 20_000), source.integers(1, 200, 5_000)
    ttfts = ttfts_of(ttft_s)
    assert of_device(Priced(ttfts, lengths, DEVICE_TTFT, 0.3), ttfts, lengths[:400])[0] == pytest.approx(0.3, abs=0.02)
