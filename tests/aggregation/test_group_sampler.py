"""The sampler's laws with any number of parties: targets follow Σ η p, shares are softmax(log h), two are as ever."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from draws import PLAIN, p_value, random_distribution
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hocket_daemon.aggregation.exchange.exchange import Exchange
from hocket_daemon.aggregation.exchange.parties import LEADER, Parties
from hocket_daemon.aggregation.exchange.sampler import MIN_OF_DEVICE, eta_device, etas, foregone, mix, mixture
from hocket_daemon.aggregation.exchange.session_terms import Draft, SessionTerms
from hocket_daemon.aggregation.weights.likelihood_ratio import advantages, likelihood_ratio
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_daemon.engine.sampling.drawing import Rule, draw

DRAWS = 2_000
GREEDY = Rule(seed=0, temperature=0.0, top_p=1.0)
STEP = 2**-24
LOGS = st.one_of(st.none(), st.floats(-40, 40))


def parties(rng: np.random.Generator, number: int, kind: str) -> tuple[list[Distribution], list[float | None]]:
    """Distributions and log h of so many: overlapping, disjoint, and with shares of 0 and 1."""
    ids = np.sort(rng.choice(3000, size=24, replace=False))
    shift = 3001 if kind == "disjoint" else 0
    laws = [random_distribution(rng, ids + at * shift, 1.5) for at in range(number)]
    logs: list[float | None] = [float(each) for each in rng.normal(size=number)]
    if kind == "eta 0":
        logs[0] = None
    elif kind == "eta 1":
        logs[1:] = [None] * (number - 1)
    return laws, logs


@pytest.mark.parametrize("number", range(2, 9))
def test_targets_follow_the_mixture_of_all(number: int) -> None:
    """Chi-square against Σ η p, for overlapping and disjoint supports and shares of 0 and 1."""
    rng = np.random.default_rng(number)
    found = []
    for kind in ("shared", "disjoint", "eta 0", "eta 1"):
        laws, logs = parties(rng, number, kind)
        weights = np.exp([-math.inf if log is None else log for log in logs])
        expected: dict[int, float] = {}
        for weight, law in zip(weights / weights.sum(), laws, strict=True):  # the plain sum, one id after the other
            for token, p in zip(law.ids.tolist(), law.probabilities.tolist(), strict=True):
                expected[token] = expected.get(token, 0.0) + weight * p
        ids, mixed = mixture(list(zip(etas(logs), laws, strict=True)))
        drawn = [draw(Rule(int(rng.integers(2**62)), **PLAIN), at % 8, ids, mixed) for at in range(DRAWS)]
        possible = sorted(token for token, p in expected.items() if p > 1e-9)
        found.append(p_value(drawn, np.array(possible), np.array([expected[token] for token in possible])))
    assert min(found) > 0.01 / 28, found


def test_a_mixture_without_one_party_would_be_noticed() -> None:
    """The law above can fail."""
    rng = np.random.default_rng(1)
    laws, logs = parties(rng, 4, "shared")
    whole = mixture(list(zip(etas(logs), laws, strict=True)))
    ids, part = mixture(list(zip(etas(logs[:3]), laws[:3], strict=True)))
    drawn = [draw(Rule(int(rng.integers(2**62)), **PLAIN), 0, ids, part) for _ in range(DRAWS)]
    assert p_value(drawn, *whole) < 1e-4


@given(st.lists(LOGS, min_size=1, max_size=9), st.floats(0.2, 1.0))
def test_shares_are_a_softmax_that_sums_to_one_exactly(logs: list[float | None], most: float) -> None:
    """In multiples of 2^-24; the asked device has its least, nobody else more than its most."""
    shares = etas(logs, most)
    assert sum(shares) == 1.0
    assert all((share / STEP).is_integer() for share in shares)
    assert all(0.0 <= share <= most for share in shares[1:])
    if all(log is None for log in logs):
        assert shares[0] == 1.0
        return
    if logs[0] is not None and any(log is not None for log in logs[1:]):
        assert shares[0] >= MIN_OF_DEVICE
    if most == 1.0:
        weights = np.exp([-math.inf if log is None else log for log in logs])
        plain = weights / weights.sum()
        if logs[0] is None or plain[0] >= MIN_OF_DEVICE:
            assert shares == pytest.approx(plain, abs=9 * STEP)
    for log, share in zip(logs[1:], shares[1:], strict=True):
        assert log is not None or share == 0.0


def by_two(log_h_device: float, log_h_cloud: float) -> float:
    """The share of the device as it was written for two sides."""
    gap = max(-700.0, min(700.0, log_h_cloud - log_h_device))
    return max(MIN_OF_DEVICE, round(2**24 / (1.0 + math.exp(gap))) / 2**24)


@given(st.floats(-400, 400), st.floats(-400, 400))
def test_two_parties_have_the_shares_of_two_sides_to_the_last_bit(a: float, b: float) -> None:
    """So that a group of two has the tokens of a pair."""
    assert etas([a, b]) == [by_two(a, b), 1.0 - by_two(a, b)]
    assert eta_device(a, b) == by_two(a, b)


@given(st.integers(0, 2**32), st.floats(0, 1))
def test_the_mixture_of_two_is_that_of_two_sides_to_the_last_bit(salt: int, eta: float) -> None:
    """Written as a table of both."""
    rng = np.random.default_rng(salt)
    ids = np.sort(rng.choice(200, size=40, replace=False))
    one, other = random_distribution(rng, ids[:30], 1.0), random_distribution(rng, ids[10:], 1.0)
    table = {token: eta * p for token, p in zip(one.ids.tolist(), one.probabilities.tolist(), strict=True)}
    for token, p in zip(other.ids.tolist(), other.probabilities.tolist(), strict=True):
        table[token] = table[token] + (1.0 - eta) * p if token in table else (1.0 - eta) * p
    found, shares = mix(one, other, eta)
    assert dict(zip(found.tolist(), shares.tolist(), strict=True)) == table


def test_parties_that_explain_the_question_weigh_more_and_equal_ones_alike() -> None:
    """Of three, against expectation maximisation written with numpy; of two it is the ratio of two sides."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        logs = [rng.integers(0, 12_000, size=14).tolist() for _ in range(3)]
        likely = np.exp(-np.array(logs) / 2_000)
        parts = np.full(3, 1 / 3)
        for _ in range(30):
            responsible = parts[:, None] * likely
            parts = (responsible / responsible.sum(axis=0)).mean(axis=1)
        assert advantages(logs) == pytest.approx(np.log(parts + 0.02) - math.log(parts[-1] + 0.02), abs=1e-9)
        assert advantages(logs[:2]) == [likelihood_ratio(*logs[:2]), 0.0]
    assert advantages([[7, 9]] * 4) == pytest.approx([0.0] * 4)
    assert advantages([[1, 2], [1], [3, 4]]) == [0.0] * 3


def test_acceptance_falls_as_shares_are_split() -> None:
    """A party's draft is the target the more often, the larger its share: what shared noise gives, no threshold."""
    rng = np.random.default_rng(9)
    rates = []
    for number in (2, 4, 8):
        accepted = []
        for _ in range(300):
            laws, _ = parties(rng, number, "shared")
            rule = Rule(int(rng.integers(2**62)), **PLAIN)
            target = draw(rule, 0, *mixture([(1 / number, law) for law in laws]))
            accepted += [draw(rule, 0, law.ids, law.probabilities) == target for law in laws]
        rates.append(np.mean(accepted))
    assert rates == sorted(rates, reverse=True)
    assert stats.binomtest(int(rates[0] * 600), 600, rates[2]).pvalue < 1e-3


def test_members_are_compared_by_the_question_where_the_asked_device_has_no_passage() -> None:
    """Its log h is None, and it has told nothing: the others weigh as among themselves."""
    rng = np.random.default_rng(3)
    terms = SessionTerms(bytes(16), Rule(1, **PLAIN), "coupled", frozenset(), 4, judges="leader")
    told = {"ben": [40, 90, 20], "carl": [4000, 9000, 7000]}
    parties = Parties(LEADER, terms, told)
    law = random_distribution(rng, np.arange(9), 1.0)
    for name, likelihoods in told.items():
        parties.add_likelihoods(name, likelihoods)
        parties.add_draft(name, Draft(0, 7, 0, law, 1.0, 0.0), 0)
    shares = {part.name: part.eta for part in parties.weighed(Draft(0, 7, 0, law, None, 0.0))}
    more = advantages(list(told.values()))
    assert [shares[name] for name in (LEADER, "ben", "carl")] == etas([None, 1.0 + more[0], 1.0 + more[1]])
    assert shares["ben"] > 10 * shares["carl"]


def certain(token: int) -> Distribution:
    return Distribution(np.array([token]), np.array([1]), 1.0)


@pytest.mark.parametrize("kind", ["shared", "disjoint", "eta 1"])
def test_what_is_foregone_is_the_token_whatever_the_others_say(kind: str) -> None:
    """Also where they are sure of the likeliest other token, or of one that nobody else has; else it hangs on them."""
    rng, decided, hangs = np.random.default_rng(5), 0, 0
    for at in range(400):
        number = int(rng.integers(2, 7))
        laws, logs = parties(rng, number, kind)
        if at % 2:
            laws[0] = certain(int(laws[0].ids[0]))
        shares, known = etas(logs), int(rng.integers(1, number))
        ids, masses = mixture(list(zip(shares[:known], laws[:known], strict=True)))
        token = foregone(GREEDY, ids, masses, sum(shares[known:]))
        second = int(ids[np.argsort(-masses)[min(1, len(ids) - 1)]])
        drawn = set()
        for said in (*laws[known:], certain(second), certain(9_999_999), certain(int(ids[masses.argmax()]))):
            whole = mixture([*zip(shares[:known], laws[:known], strict=True), *((eta, said) for eta in shares[known:])])
            drawn.add(draw(GREEDY, 0, *whole))
        assert token is None or drawn == {token}
        decided, hangs = decided + (token is not None), hangs + (len(drawn) > 1)
    assert decided >= 40
    assert hangs >= 40 or kind == "eta 1"


def test_what_is_drawn_hangs_on_every_share() -> None:
    """At a temperature anything may win the race."""
    law = certain(7)
    assert foregone(GREEDY, law.ids, 0.9 * law.probabilities, 0.1) == 7
    assert foregone(Rule(seed=0, temperature=0.7, top_p=1.0), law.ids, 0.9 * law.probabilities, 0.1) is None


class Voted:
    """A session of the asked device and one member, of which nobody knows but by drafts."""

    def __init__(self, *, log_h: float, reweigh_every: int | None = None, **terms: object) -> None:
        given = {"session": b"s" * 16, "rule": GREEDY, "method": "coupled", "eos": frozenset(), "max_tokens": 40}
        given |= {"judges": "leader", "most_say": 0.8, "reweigh_every": reweigh_every, "shares_drafts": False}
        self.exchange = Exchange("device", SessionTerms(**given | terms))  # type: ignore[arg-type]
        self.exchange.parties.set_present({"ben"})
        self._log_h = log_h

    def own(self, token: int) -> list[int]:
        exchange = self.exchange
        exchange.add_own(len(exchange.drafted), exchange.drafted.digest, certain(token), 0.0, 0.01)
        return [each.token for each in exchange.advance()]

    def bens(self, token: int) -> list[int]:
        """His draft of the next step."""
        exchange = self.exchange
        draft = Draft(len(exchange.confirmed), exchange.confirmed.digest, token, certain(token), self._log_h, 0.01)
        exchange.add_draft("ben", draft, 0, 0)
        return [each.token for each in exchange.advance()]


def test_a_draft_that_cannot_change_the_token_is_not_waited_for() -> None:
    """Once it is known how little its member has to say; he has part in the step, and none that is known."""
    voted = Voted(log_h=-2.0)
    assert voted.own(5) == []
    assert voted.bens(6) == [5]
    assert [voted.own(token) for token in (7, 8)] == [[7], [8]]
    assert [set(trace.others) for trace in voted.exchange.traces] == [{"ben"}] * 3
    assert [trace.others["ben"] for trace in voted.exchange.traces[1:]] == [0.0, 0.0]
    assert [trace.part for trace in voted.exchange.traces[1:]] == [1.0, 1.0]
    assert voted.exchange.lacking() == set()
    assert voted.bens(9) == []
    assert voted.own(9) == [9]
    assert voted.exchange.traces[3].drafted == {LEADER, "ben"}


@pytest.mark.parametrize(
    "terms",
    [{"log_h": 0.5}, {"log_h": -2.0, "logprobs": 2}, {"log_h": -2.0, "rule": Rule(seed=1, temperature=0.7, top_p=1.0)}],
)
def test_any_other_draft_is_waited_for(terms: dict[str, Any]) -> None:
    """Of a member who has much to say, of a token that is drawn, and where all that was likely is asked for."""
    voted = Voted(**terms)
    voted.own(5)
    assert len(voted.bens(5)) == 1
    assert voted.own(7) == []
    assert voted.exchange.lacking() == {"ben"}
    assert len(voted.bens(7)) == 1


def test_who_is_weighed_again_is_waited_for() -> None:
    """At the first step whose weights nobody knows, and where he begins anew."""
    voted = Voted(log_h=-2.0, reweigh_every=3)
    assert voted.own(5) == []
    assert voted.bens(5) == [5]
    assert [voted.own(token) for token in range(6, 12)] == [[6], [7], [8], [9], [10], []]  # 0 to 5 by the question
    assert voted.bens(11) == [11]
    assert voted.own(12) == [12]
    voted.exchange.parties.forget("ben")
    assert voted.own(13) == []
