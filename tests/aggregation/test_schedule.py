"""The scheduler's laws: Eq. 8 is the difference of Eq. 7, Eq. 5 is the share of drafts that survive."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.messages import Side
from hocket_daemon.aggregation.exchange.schedule import (
    DEFAULT_SIDE,
    Scheduler,
    acceptance,
    latency,
    latency_difference,
    other,
)

seconds = st.floats(0.0, 2.0)
share = st.floats(0.0, 1.0)


def z_difference(c_dec_l: float, c_dec_r: float, rtt: float, alpha_l: float, alpha_r: float) -> float:
    return latency(c_dec_l, c_dec_r, rtt, alpha_r) - latency(c_dec_r, c_dec_l, rtt, alpha_l)


@pytest.mark.parametrize("region", [1, 2, 3, 4])
@given(c=seconds, rtt=seconds, within=share, alpha_l=share, alpha_r=share)
def test_eq_8_is_the_difference_of_eq_7_in_every_region(
    region: int, c: float, rtt: float, within: float, alpha_l: float, alpha_r: float
) -> None:
    """ΔZ = Z^l − Z^r with c_dec^l drawn from each of the paper's four regions around c_dec^r."""
    c_dec_r = c + rtt  # room for region 1
    c_dec_l = {1: c * within, 2: c + within * rtt, 3: c_dec_r + within * rtt, 4: c_dec_r + rtt + within}[region]
    got = latency_difference(c_dec_l, c_dec_r, rtt, alpha_l, alpha_r)
    assert got == pytest.approx(z_difference(c_dec_l, c_dec_r, rtt, alpha_l, alpha_r), abs=1e-9)


@given(seconds, seconds, seconds, share, share)
def test_the_difference_changes_its_sign_with_the_sides(
    c_dec_l: float, c_dec_r: float, rtt: float, alpha_l: float, alpha_r: float
) -> None:
    """Whoever asks, the same side wins."""
    forth = latency_difference(c_dec_l, c_dec_r, rtt, alpha_l, alpha_r)
    back = latency_difference(c_dec_r, c_dec_l, rtt, alpha_r, alpha_l)
    assert forth == pytest.approx(-back, abs=1e-9)


@given(st.integers(0, 2**32), share)
def test_acceptance_is_eq_5_as_printed(salt: int, eta_l: float) -> None:
    """γ^l (1 − η^r δ) + γ^r Σ p^l p_t with δ = 1 − Σ min(p^l, p^r) and γ = ½."""
    p_l, p_r = np.random.default_rng(salt).dirichlet(np.full(30, 0.3), size=2)
    p_t = eta_l * p_l + (1 - eta_l) * p_r
    delta = 1 - np.minimum(p_l, p_r).sum()
    assert acceptance(p_l, p_t) == pytest.approx(0.5 * (1 - (1 - eta_l) * delta) + 0.5 * (p_l @ p_t), abs=1e-9)


def lockstep(device: float, cloud: float, one_way: float, next_side: Callable[[Side], Side], steps: int = 60) -> float:
    """Seconds that `steps` tokens take where every step waits for the target: who judges, begins the next one first."""
    begun, c_dec, judge, now = {"device": 0.0, "cloud": 0.0}, {"device": device, "cloud": cloud}, DEFAULT_SIDE, 0.0
    for _ in range(steps):
        there = other(judge)
        now = max(begun[judge] + c_dec[judge], begun[there] + c_dec[there] + one_way)
        begun = {judge: now, there: now + one_way}
        judge = next_side(judge)
    return now


def in_turn(device: float, cloud: float, one_way: float) -> float:
    """The same where the scheduler decides."""
    scheduler = Scheduler(rtt_s=2 * one_way)
    scheduler.observe("device", device, 0.5)
    scheduler.observe("cloud", cloud, 0.5)
    return lockstep(device, cloud, one_way, lambda side: scheduler.next_side(side, ahead=False))


@given(seconds, seconds, st.floats(0.0, 0.5))
def test_without_drafts_ahead_no_fixed_side_is_faster(device: float, cloud: float, one_way: float) -> None:
    """Up to the one switch that it may take to begin with."""
    for fixed in get_args(Side):
        alone = lockstep(device, cloud, one_way, lambda _, fixed=fixed: fixed)
        assert in_turn(device, cloud, one_way) <= alone + 2 * one_way + 1e-9


def test_without_drafts_ahead_equal_sides_judge_in_turn() -> None:
    """Then a token waits for one message, and for two, but the first, where one side judges all."""
    assert in_turn(0.025, 0.025, 0.002) == pytest.approx(60 * 0.027)
    assert lockstep(0.025, 0.025, 0.002, lambda side: side) == pytest.approx(60 * 0.029 - 0.002)


def test_the_bottleneck_aggregates() -> None:
    """Where one side's decoding covers a whole round trip, aggregation moves to that side and stays there."""
    scheduler = Scheduler(rtt_s=0.1)
    assert scheduler.next_side("device") == "device", "nothing is known yet"
    scheduler.observe("device", 0.02, 0.5)
    scheduler.observe("cloud", 0.30, 0.5)
    assert scheduler.next_side("device") == "cloud"
    assert scheduler.next_side("cloud") == "cloud"
    for _ in range(100):
        scheduler.observe("device", 0.50, 0.5)
        scheduler.observe("cloud", 0.02, 0.5)
    assert scheduler.next_side("cloud") == "device"


def test_the_side_whose_drafts_fail_aggregates() -> None:
    """Equal decode times: drafts that are rejected had better not have to cross the link first."""
    scheduler = Scheduler(rtt_s=0.1)
    scheduler.observe("device", 0.05, 0.9)
    scheduler.observe("cloud", 0.05, 0.6)
    assert scheduler.next_side("device") == "cloud"


def test_without_a_delay_nobody_switches() -> None:
    """At a round trip of zero both sides are as good, and the present one stays."""
    scheduler = Scheduler(rtt_s=0.0)
    scheduler.observe("device", 0.05, 0.9)
    scheduler.observe("cloud", 0.07, 0.1)
    assert (scheduler.next_side("device"), scheduler.next_side("cloud")) == ("device", "cloud")
