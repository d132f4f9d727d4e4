"""Laws of what is known of server and device: Kaplan and Meier, bounded memory, told quantiles, the line, lengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.policies.profile import KEPT, MAX_QUANTILES, Lengths, ServerProfile
from hocket_daemon.dispatch.policies.ttfts import BEYOND, Ttfts
from hocket_lab.bench.dispatch.samples import ttfts_of

seconds = st.lists(st.floats(0.01, 50), min_size=1, max_size=40)


@given(seconds)
def test_without_censoring_it_is_the_empirical_distribution(samples: list[float]) -> None:
    """For equal weights."""
    values = np.array(samples)
    found = Ttfts.of_censored(values, np.ones(len(values), bool), np.ones(len(values)))
    for t_s in [0.0, *samples]:
        assert found.at(t_s) == pytest.approx(float((values <= t_s).mean()))


def test_kaplan_and_meier_s_own_kind_of_table() -> None:
    """Steps at seen times: 1 − 5/6, then · 3/4 behind a censored one, then · 1/2, and a guess behind the last."""
    times = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    seen = np.array([True, False, True, False, True, False])
    found = Ttfts.of_censored(times, seen, np.ones(6))
    assert found.cdf == pytest.approx([1 / 6, 1 - 5 / 6 * 3 / 4, 1 - 5 / 6 * 3 / 4 / 2, 1.0])
    assert found.times_s == pytest.approx([1, 3, 5, 6 * BEYOND])
    assert found.known == pytest.approx(1 - 5 / 6 * 3 / 4 / 2)


def test_dropping_what_was_cancelled_makes_a_server_look_fast() -> None:
    """Servers of 1 to 10 s, all cancelled at 5 s: the mass beyond stays, but for those who drop it."""
    times = np.arange(1, 11).astype(float)
    seen = times <= 5
    kept = Ttfts.of_censored(np.minimum(times, 5), seen, np.ones(10))
    assert kept.at(5) == pytest.approx(0.5)
    assert ttfts_of(times[seen]).at(5) == 1.0


@given(seconds, st.floats(0, 60))
def test_the_mean_wait_within_a_time_is_that_of_the_samples(samples: list[float], t_s: float) -> None:
    """E[min(S, t)], and how many are left."""
    found = ttfts_of(np.array(samples))
    assert float(found.mean_within(np.array(t_s))) == pytest.approx(np.minimum(samples, t_s).mean())
    assert float(found.left(np.array(t_s))) == pytest.approx((np.array(samples) > t_s).mean())


@given(seconds, st.floats(0.001, 1))
def test_a_quantile_is_the_least_time_that_suffices(samples: list[float], share: float) -> None:
    """F there is at least the share, and less just before."""
    found = ttfts_of(np.array(samples))
    t_s = found.quantile(share)
    assert found.at(t_s) >= share - 1e-9
    assert found.at(np.nextafter(t_s, 0)) < share


def test_a_profile_forgets() -> None:
    """A server that has become slower is known to be, before all its memory is new."""
    profile = ServerProfile()
    for _ in range(KEPT):
        profile.observe(0.5)
    for _ in range(KEPT // 2):
        profile.observe(3.0)
    assert profile.quantile(0.5) == 3.0
    assert profile.cdf(1.0) < 0.3


def test_the_memory_of_a_profile_is_bounded() -> None:
    """Behind so many requests nothing is left of the first ones, nor of what was told."""
    profile = ServerProfile.seeded([9.0])
    for _ in range(10 * KEPT):
        profile.observe(0.5)
    assert profile.observations == 10 * KEPT
    assert profile.quantile(0.999) == 0.5


def test_told_quantiles_are_a_profile_for_the_first_question() -> None:
    """At most 32 of them, ascending, and one who begins with them knows about the same."""
    source = np.random.default_rng(1)
    one = ServerProfile()
    for ttft_s in source.lognormal(0, 0.5, 200).tolist():
        one.observe(ttft_s)
    told = one.quantiles(100)
    assert len(told) == MAX_QUANTILES
    assert told == sorted(told)
    other = ServerProfile.seeded(told)
    for share in (0.1, 0.5, 0.9):
        assert other.quantile(share) == pytest.approx(one.quantile(share), rel=0.2)


def test_who_has_seen_nothing_tells_nothing_and_still_has_a_distribution() -> None:
    """A guess is not passed on."""
    assert ServerProfile().quantiles() == []
    assert ServerProfile().quantile(0.5) > 0


@given(st.floats(0.0001, 0.1), st.floats(0, 2))
def test_a_fitted_line_is_the_one_that_was_measured(k: float, c: float) -> None:
    """Without noise, exactly."""
    device_ttft = DeviceTtft.fit([(length, k * length + c) for length in (16, 64, 256)])
    assert device_ttft.at(100) == pytest.approx(k * 100 + c)
    assert device_ttft.k == pytest.approx(k)


def test_a_line_follows_a_device_that_slows_down() -> None:
    """Within some hundred requests, of different lengths and of equal ones."""
    device_ttft = DeviceTtft.fit([(16, 0.2), (256, 2.6)])
    for place in range(300):
        length = 16 + 8 * (place % 20)
        device_ttft.observe(length, 0.03 * length + 0.1)
    assert device_ttft.at(100) == pytest.approx(3.1, rel=0.02)
    for _ in range(400):
        device_ttft.observe(50, 4.0)
    assert device_ttft.at(50) == pytest.approx(4.0, rel=0.02)


@given(st.lists(st.tuples(st.integers(0, 500), st.floats(0.001, 5)), min_size=1, max_size=30))
def test_no_line_falls_or_begins_below_nothing(points: list[tuple[int, float]]) -> None:
    """Whatever was measured."""
    device_ttft = DeviceTtft()
    for tokens, took_s in points:
        device_ttft.observe(tokens, took_s)
    assert device_ttft.k >= 0
    assert device_ttft.c >= 0


def test_guesses_stand_in_until_enough_prompts_are_known() -> None:
    """Then only what was seen counts, and only the last of it."""
    lengths = Lengths()
    assert lengths.prompts().tolist() == list(Lengths.PROMPTS)
    for place in range(Lengths.KEPT + 10):
        lengths.observe(place, place // 2)
    assert lengths.prompts().tolist() == list(range(10, Lengths.KEPT + 10))
    assert lengths.missing()[-1] == (Lengths.KEPT + 9) // 2


def test_an_answer_is_expected_to_go_on_as_the_longer_ones_did() -> None:
    """Before any are known, by a guess without memory."""
    lengths = Lengths()
    assert lengths.remaining(0) == lengths.remaining(500) == Lengths.ANSWER
    for tokens in [10] * 50 + [100] * 50:
        lengths.answered(tokens)
    assert lengths.remaining(0) == pytest.approx(55)
    assert lengths.remaining(20) == pytest.approx(80)
