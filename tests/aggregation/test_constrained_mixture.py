"""The law of a token that a grammar constrains: the mixture of both sides, given that the token is allowed."""

from __future__ import annotations

import numpy as np
import pytest
from draws import DRAWS, PLAIN, p_value
from numpy.typing import NDArray

from hocket_daemon.aggregation.exchange.exchange import Exchange
from hocket_daemon.aggregation.exchange.sampler import eta_device
from hocket_daemon.aggregation.exchange.session_terms import Draft, SessionTerms
from hocket_daemon.engine.sampling.drawing import Rule, sample
from hocket_daemon.engine.sampling.heads import Heads, made

VOCABULARY = 50
LOG_H = (0.3, -0.2)


def rows(number: int) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int32]]:
    """Return the distributions of both sides, and the allowed ids, to which the cloud gives little."""
    rng = np.random.default_rng(number)
    sides = [np.exp(2 * rng.standard_normal(VOCABULARY)) for _ in range(2)]
    allowed = np.sort(rng.choice(VOCABULARY, rng.integers(2, 20), replace=False)).astype(np.int32)
    sides[1][allowed] *= 0.05
    device, cloud = (np.asarray(side / side.sum(), np.float32) for side in sides)
    return device, cloud, allowed


def drawn(number: int, draws: int, *, constrained: bool = True) -> list[int]:
    """The first tokens of sessions with different seeds, in which both drafts are of the allowed tokens."""
    device, cloud, allowed = rows(number)
    laws = [made(Heads(row[None]).among(allowed, 1.0), [], 1.0).distribution for row in (device, cloud)]
    tokens = []
    for seed in range(draws):
        rule = Rule(seed, **PLAIN)
        terms = SessionTerms(bytes(16), rule, "coupled", frozenset(), 4, is_constrained=constrained)
        exchange = Exchange("device", terms)
        digest = exchange.drafted.digest
        exchange.add_own(0, digest, laws[0], LOG_H[0], 0.0)
        exchange.add_draft("cloud", Draft(0, digest, sample(rule, 0, laws[1]), laws[1], LOG_H[1], 0.0), 0, digest)
        tokens.append(exchange.advance()[0].token)
    return tokens


def masked(number: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The allowed tokens, and their probabilities in the mixture of the whole rows, given that one of them comes."""
    device, cloud, allowed = rows(number)
    eta = eta_device(*LOG_H)
    mixture = eta * device.astype(np.float64) + (1 - eta) * cloud.astype(np.float64)
    return allowed, mixture[allowed] / mixture[allowed].sum()


@pytest.mark.parametrize("number", range(6))
def test_tokens_follow_the_mixture_given_that_they_are_allowed(number: int) -> None:
    """A side that would rather say something else weighs less, as it would if the mixture were masked."""
    assert p_value(drawn(number, DRAWS), *masked(number)) > 1e-3


def test_sides_that_weigh_as_ever_would_be_noticed() -> None:
    """The test above can fail: without the side's share of the allowed tokens another law is drawn from."""
    assert min(p_value(drawn(number, DRAWS, constrained=False), *masked(number)) for number in range(3)) < 1e-6
