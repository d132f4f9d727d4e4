"""Heads that leave something out: what is made of them is what is made of all, but for the mass that they lack."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from naive_contrast import contrasted as naively
from numpy.typing import NDArray

from hocket_daemon.engine.backends.cut import cut, likeliest, sent
from hocket_daemon.engine.backends.vllm.vllm_rows import likeliest_here
from hocket_daemon.engine.sampling.heads import MASS, MAX_IDS, Contrast, Heads, contrasted, made, stacked, whole
from hocket_daemon.engine.segments import Segment, wanted

VOCABULARY = 9000
WIRE_MASS = 0.98
ROUNDED = 1 / 2047  # of a distribution's integers, in total variation


def said(rng: np.random.Generator, places: int, spread: float) -> NDArray[np.float32]:
    """[places, VOCABULARY]; the wider the logits are spread, the fewer ids hold the mass."""
    logits = spread * rng.standard_normal((places, VOCABULARY))
    return np.asarray(torch.softmax(torch.from_numpy(logits).float(), -1).numpy())


def heads(probabilities: NDArray[np.float32]) -> Heads:
    segment = Segment(list(range(len(probabilities))), [[0]] * len(probabilities))
    (found,) = cut(torch.from_numpy(probabilities), wanted([segment]))
    return found


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0, 6.0])
def test_a_head_has_the_likeliest_ids_and_as_few_as_hold_the_mass(spread: float) -> None:
    rng = np.random.default_rng(1)
    all_of = said(rng, 6, spread)
    found = heads(all_of)
    assert found.ids is not None
    for place, (values, ids) in enumerate(zip(found.probabilities, found.ids, strict=True)):
        taken = ids[values > 0]
        np.testing.assert_array_equal(values[values > 0], all_of[place][taken])
        falling = np.sort(all_of[place])[::-1].astype(np.float64)
        minimum = int(falling.cumsum().searchsorted(MASS)) + 1
        assert len(set(taken.tolist())) == len(taken) == pytest.approx(min(minimum, MAX_IDS), abs=2)
        assert values[values > 0].min() >= np.delete(all_of[place], taken).max()
    np.testing.assert_array_equal(
        found.dense(VOCABULARY) > 0,
        [
            np.isin(np.arange(VOCABULARY), row)
            for row in (ids[values > 0] for values, ids in zip(found.probabilities, found.ids, strict=True))
        ],
    )


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_what_a_side_makes_of_heads_is_off_by_no_more_than_they_lack(spread: float, rows: int) -> None:
    """In total variation, what `kept` says included: it never counts mass that nobody has seen."""
    rng = np.random.default_rng(rows)
    all_of = said(rng, rows, spread)
    weights = [float(each) for each in rng.dirichlet(np.ones(rows))] if rows > 1 else []
    found = heads(all_of)
    lacks = float((1 - found.probabilities.sum(1, dtype=np.float64)) @ np.array(weights or [1.0]))
    exact, ours = made(Heads(all_of), weights, WIRE_MASS), made(found, weights, WIRE_MASS)
    assert exact.distribution.kept - lacks - 1e-5 <= ours.distribution.kept <= exact.distribution.kept + 1e-3
    mixed = np.array(weights or [1.0]) @ all_of
    claimed = ours.distribution.probabilities * ours.distribution.kept
    off = np.abs(mixed[ours.distribution.ids] - claimed)
    assert off.sum() <= lacks + 2 * ROUNDED + 1e-5
    np.testing.assert_allclose(ours.parts.sum(0) / ours.parts.sum(), ours.distribution.probabilities, atol=2 * ROUNDED)
    assert (np.diff(ours.distribution.ids) > 0).all()


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("strength", [0.25, 1.0, 4.0])
def test_a_contrast_is_a_distribution_and_that_of_heads_is_that_of_all(spread: float, strength: float) -> None:
    """Id by id; no row gains or loses mass, none of what a head leaves out is touched, nor what ends an answer."""
    rng = np.random.default_rng(5)
    all_of, ends = said(rng, 4, spread), tuple(int(end) for end in rng.integers(VOCABULARY, size=3))
    all_of[0, ends[0]] = all_of[0].max()  # a likely end
    all_of[0] /= all_of[0].sum()
    contrast = Contrast(strength, ends)
    exact = contrasted(None, all_of[:-1], all_of[-1], contrast)
    for row, before in zip(exact, all_of[:-1], strict=True):
        np.testing.assert_allclose(row, naively(before, all_of[-1], strength, ends), rtol=1e-5, atol=1e-9)
        assert row.sum(dtype=np.float64) == pytest.approx(before.sum(dtype=np.float64), abs=1e-6)
        np.testing.assert_array_equal(row[list(ends)], before[list(ends)])
    found = heads(all_of)
    ids, table = found.aligned()
    assert ids is not None
    ours = contrasted(ids, table[:-1], table[-1], contrast)
    np.testing.assert_allclose(ours[table[:-1] > 0], exact[:, ids][table[:-1] > 0], rtol=1e-4, atol=1e-9)
    assert (ours[table[:-1] == 0] == 0).all()


def test_a_contrast_raises_what_the_passage_says_and_the_question_alone_does_not() -> None:
    """The likelier an id is by the question alone, the more it loses; without strength nothing is changed."""
    rows = np.array([[0.4, 0.3, 0.25, 0.05]], np.float32)
    alone = np.array([0.6, 0.1, 0.25, 0.05], np.float32)
    raised = contrasted(None, rows, alone, Contrast(0.5, ()))[0]
    assert raised.argmax() == 1 != rows[0].argmax()
    assert raised[0] < rows[0, 0]
    assert raised[1] > rows[0, 1]
    np.testing.assert_allclose(contrasted(None, rows, alone, Contrast(0.0, ())), rows, rtol=1e-6)


def test_given_ids_have_the_models_own_probability_wherever_they_stand() -> None:
    """Also those that no head has; and every segment gets its own."""
    rng = np.random.default_rng(3)
    segments = [
        Segment([0], [[5, 6, 7]], given=[[8999, 17]]),
        Segment([1, 2], [[5], [6]]),
        Segment([3, 4], [[5, 6], [7]], every=True),
        Segment([5, 6], [[5, 6], [7]], given=[[], [3]]),
    ]
    asked = wanted(segments)
    all_of = said(rng, len(asked.places), 6.0)
    for sparse, dense in zip(cut(torch.from_numpy(all_of), asked), whole(all_of, asked), strict=True):
        np.testing.assert_array_equal(sparse.given, dense.given)
        kept = sparse.dense(VOCABULARY)
        np.testing.assert_array_equal(kept, np.where(kept > 0, dense.probabilities, 0))
        assert len(sparse) == len(dense)
    assert [len(each.given) for each in whole(all_of, asked)] == [2, 0, 0, 1]


def test_places_that_were_read_apart_are_one_again() -> None:
    rng = np.random.default_rng(4)
    all_of = said(rng, 3, 3.0)
    for found in (heads(all_of), Heads(all_of)):
        again = stacked([found.at(place) for place in range(3)])
        np.testing.assert_array_equal(again.dense(VOCABULARY), found.dense(VOCABULARY))


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("padding", [0, 3])
@pytest.mark.parametrize("vocabulary", [VOCABULARY, MAX_IDS, 700])
def test_a_device_names_the_ids_that_the_processor_would(spread: float, padding: int, vocabulary: int) -> None:
    """Of what vLLM tells of a prompt's tokens the processor makes heads, of what follows a row its sampler does.

    What fills a vocabulary up takes places among those that vLLM tells of, and mass where it is not told of.
    """
    rounded = 1e-3 if padding else 1e-5
    logits = torch.from_numpy(
        spread * np.random.default_rng(5).standard_normal((6, vocabulary + padding)).astype(np.float32)
    )
    (there, _), here = sent(*likeliest(logits[:, :vocabulary].softmax(-1)))(), _of_vllm(logits, vocabulary)
    assert there.ids is not None
    assert here.ids is not None
    assert there.ids.shape == here.ids.shape
    for place in range(6):
        ours, theirs = (found.at(place).dense(vocabulary)[0] for found in (there, here))
        assert np.count_nonzero((ours > 0) != (theirs > 0)) <= 1 + padding  # rounding decides which id crosses the mass
        both = (ours > 0) & (theirs > 0)
        np.testing.assert_allclose(np.log(ours[both]), np.log(theirs[both]), atol=rounded)
        assert ours.sum(dtype=np.float64) == pytest.approx(theirs.sum(dtype=np.float64), abs=10 * rounded)


def _of_vllm(logits: torch.Tensor, vocabulary: int) -> Heads:
    """A column for the token itself, and the likeliest with their log-probabilities."""
    logs, ids = (part.numpy() for part in logits.log_softmax(-1).topk(min(MAX_IDS, logits.shape[1])))
    first = np.zeros((len(logits), 1), np.float32)
    ids = np.hstack([first, ids]).astype(np.int32)
    return likeliest_here(ids, np.hstack([first, logs]), vocabulary)


@pytest.mark.parametrize("spread", [0.1, 1.0, 4.0])
def test_heads_of_the_allowed_ids_have_their_probabilities_and_as_few_as_hold_the_mass(spread: float) -> None:
    """A row is not scaled up: its sum is its share, by which a mixture weighs it."""
    rng = np.random.default_rng(5)
    rows = said(rng, 3, spread)
    allowed = np.sort(rng.choice(VOCABULARY, 400, replace=False)).astype(np.int32)
    found = Heads(rows).among(allowed, WIRE_MASS)
    assert found.ids is not None
    for place, row in enumerate(rows):
        number = np.count_nonzero(found.probabilities[place])
        ids, values = found.ids[place, :number], found.probabilities[place, :number]
        assert (values == row[ids]).all()
        assert (np.diff(ids) > 0).all()
        assert set(ids) <= set(allowed)
        share = row[allowed].sum(dtype=np.float64)
        assert values.sum(dtype=np.float64) >= WIRE_MASS * share - 1e-9
        assert values.sum(dtype=np.float64) - values.min() < WIRE_MASS * share
        assert values.min() >= np.delete(row[allowed], np.isin(allowed, ids)).max(initial=0.0)


def test_an_allowed_id_that_a_model_all_but_excludes_can_be_drawn() -> None:
    """Draw it from a whole row, and from a head that leaves it out: the answer goes on."""
    row = np.zeros((1, 10), np.float32)
    row[0, 3] = 1.0
    left_out = Heads(np.array([[1.0, 0.0]], np.float32), np.array([[3, 0]], np.int32))
    for heads_ in (Heads(row), left_out):
        found = heads_.among(np.array([5, 7], np.int32), WIRE_MASS)
        law = made(found, [], WIRE_MASS).distribution
        assert law.ids.tolist() == [5, 7]
        assert 0 < law.kept < 1e-20
