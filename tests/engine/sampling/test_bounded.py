"""Laws of a bounded row: within b bits of what the question alone gives, and as near to its own as that can be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hocket_daemon.engine.backends.cut import cut
from hocket_daemon.engine.sampling.bounded import Bounded, bounded
from hocket_daemon.engine.sampling.distribution import decode, encode
from hocket_daemon.engine.sampling.heads import Contrast, Heads, contrasted, made, within
from hocket_daemon.engine.segments import Segment, wanted

VOCABULARY, WIRE_MASS = 9000, 0.98
ROUNDED = 1 / 2047  # of a distribution's integers, in total variation
BITS = [0.0, 0.25, 1.0, 4.0, 12.0, 64.0]
EXACT = 1e-12  # of a logarithm of two integers
DOCUMENTS = ["anna.md", "ben.md", "anna.md", "tax.pdf"]
Rows = NDArray[np.float32]


def rows_of(
    seed: int, *, places: int = 5, spread: float = 3.0, vocabulary: int = VOCABULARY, near: float = 0.6
) -> Rows:
    """[places, vocabulary]: the last has read the question alone; the others are like it, the more so with `near`."""
    rng = np.random.default_rng(seed)
    logits = spread * rng.standard_normal((places, vocabulary))
    logits[:-1] = near * logits[-1] + (1 - near) * logits[:-1]
    logits[:-1, rng.integers(vocabulary, size=3)] += 6.0  # what the documents have to say
    return np.asarray(torch.softmax(torch.from_numpy(logits).float(), -1).numpy())


def part_of(rows: Rows) -> Heads:
    (found,) = cut(torch.from_numpy(rows), wanted([Segment(list(range(len(rows))), [[0]] * len(rows))]))
    return found


def weights_of(seed: int, documents: Sequence[str] = DOCUMENTS) -> list[float]:
    return [float(each) for each in np.random.default_rng(seed).dirichlet(np.ones(len(documents)))]


def of(rows: Rows, bits: float, weights: list[float], documents: Sequence[str] = DOCUMENTS) -> Bounded:
    """All that counts is named, so that a change of `bits` changes no ids."""
    return bounded(Heads(rows), weights, documents, wire_mass=1.0, bits=bits)


def own_of(rows: Rows, weights: list[float], found: Bounded) -> NDArray[np.float64]:
    """The side's own law on the ids that are sent."""
    law = (np.array(weights) @ rows[:-1].astype(np.float64))[found.alone.ids]
    return np.asarray(law / law.sum())


def naively(law: NDArray[np.float64], alone: NDArray[np.float64], bits: float) -> NDArray[np.float64]:
    """clip(c law, 2^-bits alone, 2^bits alone) of the sum 1, by halving the logarithm of c."""
    low, high = -200.0, 200.0
    for _ in range(200):
        middle = (low + high) / 2
        clipped = np.clip(2.0**middle * law, alone * 2.0**-bits, alone * 2.0**bits)
        low, high = (middle, high) if math.fsum(clipped) < 1 else (low, middle)
    return np.asarray(clipped)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("named", [Heads, part_of])
@pytest.mark.parametrize("seed", range(4))
def test_no_id_is_further_than_b_bits_from_the_question_alone(seed: int, named: type[Heads], bits: float) -> None:
    """Of the very integers that travel, on the same ids; the sum is the same, and any decoder takes them."""
    found = bounded(named(rows_of(seed)), weights_of(seed), DOCUMENTS, wire_mass=WIRE_MASS, bits=bits)
    sent, alone = found.made.distribution, found.alone
    np.testing.assert_array_equal(sent.ids, alone.ids)
    assert sent.counts.sum() == alone.counts.sum()
    assert np.abs(np.log2(sent.counts / alone.counts)).max() <= bits + EXACT
    assert sent.kept == alone.kept
    again = decode(encode(sent))
    np.testing.assert_array_equal(again.counts, sent.counts)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_sent_is_the_own_law_clipped_and_normalised(seed: int, bits: float) -> None:
    """As another way of solving for c finds it, but for rounding: a count an id, where the bounds leave as many."""
    rows, weights = rows_of(seed, vocabulary=700), weights_of(seed)
    found = of(rows, bits, weights)
    total = found.alone.counts.sum()
    wanted_law = naively(own_of(rows, weights, found), found.alone.probabilities, bits)
    off = np.abs(found.made.distribution.counts - wanted_law * total)
    assert off.sum() / 2 <= ROUNDED * total
    assert bits not in {0.0, 1.0, 4.0, 12.0, 64.0} or off.max() < 1 + 1e-6


def test_counts_stay_as_small_as_any_decoder_takes() -> None:
    """Where the question alone says nothing at all, and a passage one id: no count is above what may travel."""
    alone = np.full(2**15, 2.0**-15, np.float32)
    certain = np.full(2**15, 1e-9, np.float32)
    certain[7] = 1 - certain[1:].sum()
    sent = of(np.array([certain, alone]), 15.0, [1.0], ["one.md"]).made.distribution
    np.testing.assert_array_equal(decode(encode(sent)).counts, sent.counts)
    assert sent.counts.argmax() == 7


def divergence(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float((one * np.log2(one / other)).sum())


@pytest.mark.parametrize("seed", range(6))
def test_no_other_law_within_the_bounds_is_nearer(seed: int) -> None:
    """By KL(q ‖ p): against the question alone, ways toward it, and random laws that are clipped, too."""
    bits, rng = 1.0, np.random.default_rng(seed)
    rows, weights = rows_of(seed, vocabulary=300), weights_of(seed)
    found = of(rows, bits, weights)
    own, alone, sent = own_of(rows, weights, found), found.alone.probabilities, found.made.distribution.probabilities
    others = [
        naively(own * rng.lognormal(0, sigma, len(own)), alone, bits) for sigma in (0.01, 0.3, 3) for _ in range(10)
    ]
    for other in (alone, *(mix * sent + (1 - mix) * alone for mix in (0.5, 0.99)), *others):
        assert divergence(sent, own) <= divergence(other, own) + 1e-4


@pytest.mark.parametrize("seed", range(4))
def test_where_the_bound_does_not_bind_the_own_law_is_sent(seed: int) -> None:
    """But for rounding; at 0 bits it is the question's alone, to the last count."""
    rows, weights = rows_of(seed, vocabulary=300), weights_of(seed)
    own = own_of(rows, weights, of(rows, 0.0, weights))
    needed = float(np.abs(np.log2(own / of(rows, 0.0, weights).alone.probabilities)).max())
    free = of(rows, needed + 0.1, weights)
    assert np.abs(free.made.distribution.probabilities - own).sum() / 2 <= 2 * ROUNDED
    assert np.abs(of(rows, needed / 4, weights).made.distribution.probabilities - own).sum() / 2 > 4 * ROUNDED
    nothing = of(rows, 0.0, weights)
    np.testing.assert_array_equal(nothing.made.distribution.counts, nothing.alone.counts)
    assert set(nothing.most().values()) == {0.0}


@pytest.mark.parametrize("seed", range(4))
def test_a_little_more_bits_changes_little(seed: int) -> None:
    """Continuous in b: in total variation a step of 2^-7 bits moves no more than rounding and a few times that step."""
    rows, weights = rows_of(seed, vocabulary=200), weights_of(seed)
    laws = [of(rows, bits, weights).made.distribution.probabilities for bits in np.arange(0, 6, 2**-7)]
    steps = [float(np.abs(one - other).sum()) / 2 for one, other in itertools.pairwise(laws)]
    assert max(steps) <= 2 * ROUNDED + 2 * (2 ** (2**-7) - 1)
    assert float(np.abs(laws[0] - laws[-1]).sum()) / 2 > 0.1


@pytest.mark.parametrize("bits", [0.5, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_document_is_compared_with_what_is_sent_without_it(seed: int, bits: float) -> None:
    """All its rows left out, and the weights of the others as they are then: what another call makes of them."""
    rows, weights = rows_of(seed, vocabulary=400), weights_of(seed)
    found = of(rows, bits, weights)
    assert list(found.ratios) == ["anna.md", "ben.md", "tax.pdf"]
    for document, ratios in found.ratios.items():
        rest = [at for at, name in enumerate(DOCUMENTS) if name != document]
        part = [weights[at] / sum(weights[each] for each in rest) for at in rest]
        without = of(rows[[*rest, -1]], bits, part, [DOCUMENTS[at] for at in rest]).made.distribution
        other = found.made.distribution.counts / 2**ratios
        assert np.abs(other - without.counts).max() <= 1 + 1e-6
    only = of(rows[[0, -1]], bits, [1.0], ["only.md"])
    np.testing.assert_array_equal(only.ratios["only.md"], np.log2(only.made.distribution.counts / only.alone.counts))
    assert only.most()["only.md"] > bits / 2


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("seed", range(4))
def test_what_a_token_tells_of_a_document_is_bounded(seed: int, bits: float) -> None:
    """Each token by the most, the expected information by the most, the most by 2 b, and ids that nobody names by 0."""
    found = bounded(part_of(rows_of(seed)), weights_of(seed), DOCUMENTS, wire_mass=WIRE_MASS, bits=bits)
    sent, most = found.made.distribution, found.most()
    for document, ratios in found.ratios.items():
        without = sent.probabilities / 2**ratios
        assert without.sum() == pytest.approx(1.0)
        assert -1e-12 <= divergence(sent.probabilities, without) <= most[document] <= 2 * bits + EXACT
        moved = [found.moved(int(token))[document] for token in sent.ids]
        assert max(moved) == most[document]
    unnamed = next(token for token in range(VOCABULARY + 1) if sent.place(token) is None)
    assert set(found.moved(unnamed).values()) == {0.0}


@pytest.mark.parametrize("others", [0.0, 0.7])
@pytest.mark.parametrize("bits", [0.3, 2.0])
def test_the_odds_after_an_answer_have_moved_by_no_more_than_was_charged(bits: float, others: float) -> None:
    """Every answer of four tokens: by what its tokens move, and by n b that anything was read; in a mixture, too."""
    vocabulary, length, weights = 4, 4, weights_of(1)
    steps: dict[tuple[int, ...], Bounded] = {}
    widest = 0.0
    for answer in itertools.product(range(vocabulary), repeat=length):
        read, unread, without, charged = 1.0, 1.0, 1.0, 0.0
        for at, token in enumerate(answer):
            behind = answer[:at]
            if behind not in steps:
                steps[behind] = of(rows_of(hash(behind) % 2**31, vocabulary=vocabulary, near=0.0), bits, weights)
            found = steps[behind]
            rest = others * [0.1, 0.2, 0.3, 0.4][token]  # of members that know nothing of these documents
            read *= (1 - others) * found.made.distribution.of(token) + rest
            unread *= (1 - others) * found.alone.of(token) + rest
            q_without = found.made.distribution.of(token) / 2 ** found.ratios["ben.md"][token]
            without *= (1 - others) * q_without + rest
            charged += found.moved(token)["ben.md"]
        assert abs(math.log2(read / unread)) <= length * bits + 1e-9
        assert abs(math.log2(read / without)) <= charged + 1e-9
        widest = max(widest, abs(math.log2(read / unread)))
    assert widest > length * bits / (2 if not others else 20)  # the bound is no idle one


def test_a_rows_weight_times_its_distance_is_no_bound() -> None:
    """Two documents whose mixture is the question alone: that measure is 0, and leaving one out would be seen."""
    alone = np.full(4, 0.25)
    lean = np.array([0.2, 0.0, 0.0, -0.2])
    rows = np.array([alone + lean, alone - lean, alone], np.float32)
    found = of(rows, 4.0, [0.5, 0.5], ["anna.md", "ben.md"])
    distance = float(np.abs(np.log2(found.made.distribution.counts / found.alone.counts)).max())
    assert 0.5 * distance < 1e-3
    sent = found.made.distribution.probabilities
    assert divergence(sent, sent / 2 ** found.ratios["anna.md"]) > 0.1


def test_who_sees_the_whole_vector_is_not_bounded() -> None:
    """At a twentieth of a bit a token, each of a hundred documents is known by its vector."""
    base = rows_of(100, places=1, vocabulary=300, spread=1.0)
    vectors = set()
    for seed in range(100):
        rows = np.concatenate((rows_of(seed, places=1, vocabulary=300, spread=1.0), base))
        vectors.add(of(rows, 0.05, [1.0], ["one.md"]).made.distribution.counts.tobytes())
    assert len(vectors) == 100


@pytest.mark.parametrize("bits", BITS)
def test_heads_that_leave_ids_out_lose_no_more_than_these_could_have(bits: float) -> None:
    """In total variation against every id named: what is beyond the ids has at most 2^b of what a gives it."""
    rows, weights = rows_of(3), weights_of(3)
    exact = of(rows, bits, weights).made.distribution
    found = bounded(part_of(rows), weights, DOCUMENTS, wire_mass=WIRE_MASS, bits=bits)
    dense = np.zeros(VOCABULARY)
    dense[found.made.distribution.ids] = found.made.distribution.probabilities
    beyond = 1 - float(rows[-1][found.alone.ids].sum())
    assert np.abs(dense - exact.probabilities).sum() / 2 <= min(1.0, 2 * beyond * 2**bits) + 4 * ROUNDED
    lacks = 1 - float(part_of(rows).probabilities[-1].sum())
    assert beyond <= max(1 - WIRE_MASS, lacks) + 1e-6


@pytest.mark.parametrize("named", [Heads, part_of])
def test_contrasted_rows_are_bounded_as_they_are(named: type[Heads]) -> None:
    """As if they had come contrasted."""
    rows, weights = rows_of(5), weights_of(5)
    contrast = Contrast(1.0, (7, 8))
    found = bounded(named(rows), weights, DOCUMENTS, wire_mass=WIRE_MASS, bits=2.0, contrast=contrast)
    ids, table = named(rows).aligned()
    before = np.concatenate((contrasted(ids, table[:-1], table[-1], contrast), table[-1:])).astype(np.float32)
    expected = bounded(compact(ids, before), weights, DOCUMENTS, wire_mass=WIRE_MASS, bits=2.0)
    assert encode(found.made.distribution) == encode(expected.made.distribution)
    plain = bounded(named(rows), weights, DOCUMENTS, wire_mass=WIRE_MASS, bits=2.0)
    assert encode(found.made.distribution) != encode(plain.made.distribution)


def compact(ids: NDArray[np.int32] | None, table: Rows) -> Heads:
    """Heads of a table; what a row leaves out stands last in it."""
    if ids is None:
        return Heads(table)
    order = np.argsort(table == 0, axis=1, kind="stable")
    return Heads(np.take_along_axis(table, order, axis=1), ids[order])


@pytest.mark.parametrize("named", [Heads, part_of])
def test_every_token_that_may_be_drawn_has_a_source(named: type[Heads]) -> None:
    """The rows' parts in it sum to 1, also where no row names it."""
    found = bounded(named(rows_of(6)), weights_of(6), DOCUMENTS, wire_mass=WIRE_MASS, bits=3.0)
    for token in found.made.distribution.ids:
        parts = within(found.made, int(token))
        assert parts is not None
        assert parts.shape == (len(DOCUMENTS),)
        assert parts.sum() == pytest.approx(1.0)


def test_without_passages_it_is_what_the_question_alone_gives() -> None:
    """The same ids and counts as where passages are bounded: that none was found is not seen."""
    rows = rows_of(7)
    nothing = bounded(Heads(rows[-1:]), [], [], wire_mass=WIRE_MASS, bits=2.0)
    bound = bounded(Heads(rows), weights_of(7), DOCUMENTS, wire_mass=WIRE_MASS, bits=2.0)
    assert nothing.most() == {}
    assert encode(nothing.made.distribution) == encode(nothing.alone) == encode(bound.alone)
    assert nothing.made.parts.shape[0] == 1
    plain = made(Heads(rows[-1:]), [], WIRE_MASS).distribution
    assert encode(nothing.made.distribution) == encode(plain)
