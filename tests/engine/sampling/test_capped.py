"""A capped law is the nearest one within its bound, and a charge is at least what a draw discloses."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from hocket_daemon.engine.sampling.capped import capped, charge, tempered

Law = NDArray[np.float64]
BITS = (0.0, 0.1, 1.0, 3.0, 20.0, np.inf)


def laws(random: Generator) -> tuple[Law, Law]:
    """A sharp law and a broad one, of a number of tokens that differs."""
    size = int(random.integers(2, 40))
    return random.dirichlet(np.full(size, 0.1)) + 1e-15, random.dirichlet(np.full(size, 0.8)) + 1e-15


def divergence(law: Law, other: Law) -> float:
    """KL(law ‖ other) in bits."""
    there = law > 0
    return float((law[there] * np.log2(law[there] / other[there])).sum())


@pytest.mark.parametrize("bits", BITS)
def test_a_capped_law_is_within_its_bound_and_sums_to_one(bits: float) -> None:
    """Nothing is changed where the law is within the bound."""
    random = np.random.default_rng(1)
    for _ in range(300):
        law, alone = laws(random)
        found = capped(law, alone, bits)
        assert found.sum() == pytest.approx(law.sum(), abs=1e-9)
        assert (found <= alone * 2.0 ** min(bits, 500.0) * (1 + 1e-9)).all()
        if (law <= alone * 2.0 ** min(bits, 500.0)).all():
            assert (found == law).all()


def test_no_law_within_the_bound_is_nearer() -> None:
    """By KL divergence, against others within it: mixtures with the law alone, and exchanges of mass."""
    random = np.random.default_rng(2)
    for _ in range(100):
        law, alone = laws(random)
        most = alone * 2.0
        found = capped(law, alone, 1.0)
        least = divergence(found, law)
        for _ in range(30):
            other = random.dirichlet(np.full(len(law), 0.5))
            step = min([1.0, *((most - found)[other > found] / (other - found)[other > found])]) * random.random()
            assert divergence(found + step * (other - found), law) >= least - 1e-9


def test_without_bits_the_law_is_that_of_the_question_alone() -> None:
    """A document that may say nothing says nothing."""
    random = np.random.default_rng(3)
    for _ in range(50):
        law, alone = laws(random)
        assert capped(law, alone / alone.sum(), 0.0) == pytest.approx(alone / alone.sum(), abs=1e-9)


def test_a_charge_is_the_log_ratio_and_never_above_the_bound() -> None:
    """For every token, and every document of several, some of which have two rows."""
    random = np.random.default_rng(4)
    names = np.array(["a", "b", "a", "c"])
    for _ in range(200):
        size, bits = int(random.integers(2, 20)), {"a": 2.0, "b": 0.5, "c": 9.0}
        alone = random.dirichlet(np.full(size, 0.7))
        rows = np.stack([capped(random.dirichlet(np.full(size, 0.1)), alone, bits[name]) for name in names])
        weights = random.dirichlet(np.ones(len(names)))
        for name, most in bits.items():
            without = weights @ np.where((names == name)[:, None], alone, rows)
            for at in range(size):
                ratio = float(np.log2((weights @ rows)[at] / without[at]))
                assert charge(rows[:, at], float(alone[at]), weights, names == name) >= ratio - 1e-12
                assert charge(rows[:, at], float(alone[at]), weights, names == name) <= most + 1e-9


def test_a_temperature_sharpens_a_law_or_flattens_it() -> None:
    """p^(1/t), normalised, and 1 leaves it as it is."""
    law = np.array([0.5, 0.3, 0.2])
    assert tempered(law, 1.0) == pytest.approx(law)
    assert tempered(law, 0.5) == pytest.approx(law**2 / (law**2).sum())
