"""The distribution codec: inverse, exact, bounded, and nothing but BadMessage on any bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generated import changed_everywhere
from hocket_bus.errors import BadMessage
from hocket_daemon.engine.sampling.distribution import MAX_IDS, VOCABULARY_LIMIT, decode, encode, truncate


def same(a: object, b: object) -> bool:
    return np.array_equal(a.ids, b.ids) and np.array_equal(a.counts, b.counts) and a.kept == b.kept  # type: ignore[attr-defined]


@given(st.integers(0, 2**32), st.integers(1, 5000), st.floats(0.05, 1.0), st.floats(0.1, 6.0))
def test_decoding_inverts_encoding(salt: int, size: int, mass: float, spread: float) -> None:
    """Ids, integers and kept mass come back to the bit."""
    weights = np.exp(np.random.default_rng(salt).normal(size=size) * spread)
    sent = truncate(weights / weights.sum(), mass)
    assert same(decode(encode(sent)), sent)


def test_every_id_below_two_to_the_18_survives() -> None:
    """Alone and as a neighbour of the first and the last."""
    probabilities = np.zeros(VOCABULARY_LIMIT)
    for block in range(0, VOCABULARY_LIMIT, 4096):
        probabilities[:] = 0
        probabilities[block : block + 4096] = 1 / 4096
        sent = truncate(probabilities, 1.0)
        assert np.array_equal(decode(encode(sent)).ids, np.arange(block, block + 4096))
    for token in (0, 1, 65_535, 65_536, 62_768, 151_935, VOCABULARY_LIMIT - 1):
        probabilities[:] = 0
        probabilities[token] = 1
        assert decode(encode(truncate(probabilities, 0.98))).ids.tolist() == [token]


@given(st.integers(0, 2**32), st.floats(0.1, 0.999))
def test_the_head_is_the_smallest_set_with_the_mass_and_holds_the_crossing_token(salt: int, mass: float) -> None:
    """Without its least likely id it would fall short; no id outside is likelier than one inside."""
    weights = np.exp(np.random.default_rng(salt).normal(size=500) * 3)
    p = weights / weights.sum()
    head = truncate(p, mass)
    assert p[head.ids].sum() >= mass - 1e-12
    assert p[head.ids].sum() - p[head.ids].min() < mass + 1e-12
    outside = np.setdiff1d(np.arange(500), head.ids)
    assert outside.size == 0 or p[outside].max() <= p[head.ids].min()
    assert abs(head.kept - p[head.ids].sum()) < 1e-6


@given(st.integers(0, 2**32), st.integers(1, 20_000), st.floats(0.05, 1.0), st.floats(0.0, 8.0))
def test_integers_change_little(salt: int, size: int, mass: float, spread: float) -> None:
    """By less than 1/2047 in total variation; few ids fill two bytes, many have about 2,048 each in the mean."""
    weights = np.exp(np.random.default_rng(salt).normal(size=size) * spread)
    p = weights / weights.sum()
    head = truncate(p, mass)
    assert np.abs(head.probabilities - p[head.ids] / p[head.ids].sum()).sum() / 2 < 1 / 2047
    assert head.counts.max() == 65_535 or head.counts.sum() >= 2_047 * len(head.ids)


def test_ids_of_vanishing_probability_keep_the_bound() -> None:
    """They count 1 each, which is the most that rounding can add."""
    p = np.full(30_000, 1e-12)
    p[7] = 1 - 1e-12 * 29_999
    head = truncate(p, 1.0)
    assert len(head.ids) > 29_990, "rounding of the sum may leave a few out"
    assert head.counts.min() == 1
    assert np.abs(head.probabilities - p[head.ids] / p[head.ids].sum()).sum() / 2 < 1 / 2047
    assert same(decode(encode(head)), head)


def test_four_ids_weigh_no_more_than_their_bytes() -> None:
    """Seven bytes of header, and two bytes each for steps and integers."""
    p = np.zeros(50_272)
    p[[300, 9_000, 9_001, 50_271]] = (0.5, 0.3, 0.15, 0.05)
    assert len(encode(truncate(p, 1.0))) == 7 + 4 * (2 + 2)


def test_ties_go_to_the_lowest_ids() -> None:
    """Of equal probabilities the first ones are kept, whatever stands between them."""
    p = np.array([0.1, 0.3, 0.1, 0.1, 0.3, 0.1])
    assert truncate(p, 0.75).ids.tolist() == [0, 1, 2, 4]


def test_a_flat_distribution_is_cut_at_the_limit() -> None:
    """At most 32,768 ids travel, the lowest first."""
    flat = np.full(100_000, 1e-5)
    head = truncate(flat, 0.98)
    assert len(head.ids) == MAX_IDS
    assert head.ids[0] == 0
    assert len(encode(head)) < 1 << 19


@given(st.binary(max_size=400))
def test_any_bytes_are_a_distribution_or_a_bad_message(data: bytes) -> None:
    """Nothing else is ever raised."""
    try:
        got = decode(data)
    except BadMessage:
        return
    assert got.counts.min() >= 1


@pytest.mark.parametrize("size", [1, 40, 300])
def test_a_change_anywhere_never_breaks_the_law(size: int) -> None:
    """Any byte changed, added, taken out or the last: refused, or something well-formed."""
    weights = np.exp(np.random.default_rng(size).normal(size=size))
    for frames in changed_everywhere([encode(truncate(weights / weights.sum(), 0.9))]):
        try:
            got = decode(b"".join(frames))
        except BadMessage:
            continue
        assert np.all(np.diff(got.ids) > 0)
        assert got.ids[-1] < VOCABULARY_LIMIT
        assert abs(got.probabilities.sum() - 1) < 1e-9
