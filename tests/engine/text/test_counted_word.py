"""Words disclose no more of a document than they are charged: by enumeration of all ways to draw them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, log2
from typing import NamedTuple

import numpy as np
import pytest
from test_word_draw import p_value
from toy_words import TOKENS, model

from hocket_daemon.engine.sampling.capped import Law, capped, charge
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_daemon.engine.sampling.heads import Contrast, Heads, Probabilities
from hocket_daemon.engine.text.counted_word import CountedWordDraw
from hocket_daemon.engine.text.words import number_of, word_of

WEIGHTS = [0.5, 0.3, 0.2]
DOCUMENTS = np.array(["letter", "list", "letter"])
ALONE, ROWS = 5, (6, 7, 8)  # the models that have read the question, and one passage each
RARE = 2e-6  # what is left out of all ways to draw a word
WARM = Rule(0, 0.7, 1.0)


@dataclass
class Account:
    """An account of one draw, as the product keeps it, with each event that is charged."""

    bits: float
    left: float = 0.0
    events: list[float] = field(default_factory=list)  # log2 of what each is likelier with the letter than without it
    charges: list[float] = field(default_factory=list)
    part: float = 1.0  # of what is due that is charged

    def begin(self, step: int) -> None:
        """Begin anew."""
        self.left, self.events, self.charges = self.bits, [], []

    def capped(self, rows: Law, alone: Law) -> Law:
        """Only the letter is bounded."""
        bounds = [self.left if name == "letter" else inf for name in DOCUMENTS]
        return np.stack([capped(row, alone, bits) for row, bits in zip(rows, bounds, strict=True)])

    def charge(self, step: int, rows: Probabilities, alone: float, weights: Sequence[float]) -> None:
        """Charge the letter."""
        own, weighed = DOCUMENTS == "letter", np.array(weights)
        self.events.append(log2(weighed @ rows) - log2(weighed @ np.where(own, alone, rows)))
        self.charges.append(self.part * charge(rows, alone, weighed, own))
        self.left = max(0.0, self.left - self.charges[-1])


class Scripted(CountedWordDraw):
    """A draw whose tokens are named beforehand; where none is, it stops, and `law` is that of the next one."""

    script: Sequence[int] = ()
    law: Law | None = None
    chance = 1.0

    def _choose(self, ids: object, chances: Probabilities) -> int:
        drawn = len(self.ids)
        if drawn == len(self.script):
            self.law = np.asarray(chances, np.float64)
            raise StopIteration
        self.chance *= float(chances[self.script[drawn]])
        return self.script[drawn]


class Path(NamedTuple):
    """A way to draw a word: its probability, and the bits that it disclosed and was charged."""

    word: bytes
    chance: float
    ratio: float
    charged: float


def heads(before: Sequence[int], drawn: Sequence[int]) -> Heads:
    """The rows' laws of the next token, that of the question alone last."""
    return Heads(np.stack([model([*before, *drawn], side) for side in (*ROWS, ALONE)]))


def paths(before: list[bytes], account: Account, contrast: Contrast | None = None) -> Iterator[Path]:
    """All ways to draw the word behind `before` that are not too rare to matter."""
    base = TOKENS.tokens([number_of(word) for word in before])
    open_ = [(list[int](), 1.0)]
    while open_:
        script, chance = open_.pop()
        drawing = Scripted(TOKENS, WARM, len(before), before[-1] if before else None, account, ends=True)
        drawing.script = script
        found = None
        try:
            while found is None:
                found = drawing.add(heads(base, drawing.ids), WEIGHTS, contrast)
        except StopIteration:
            assert drawing.law is not None
            more = [([*script, at], drawing.chance * float(drawing.law[at])) for at in drawing.law.nonzero()[0]]
            open_ += [each for each in more if each[1] > RARE]
            continue
        word = word_of(found.distribution.word)
        yield Path(word, chance, sum(account.events), sum(account.charges))


def texts(found: Sequence[Path]) -> dict[bytes, tuple[float, float]]:
    """Each word's probability, and the one that it would have without the letter."""
    sums: defaultdict[bytes, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for path in found:
        sums[path.word][0] += path.chance
        sums[path.word][1] += path.chance * 2.0**-path.ratio
    return {word: (each[0], each[1]) for word, each in sums.items()}


@pytest.mark.parametrize(("bits", "before"), [(0.0, [b"ab"]), (0.5, [b"ab\n"]), (3.0, [b"ab"]), (inf, [])])
def test_no_word_is_likelier_than_its_bits_allow(bits: float, before: list[bytes]) -> None:
    """With the letter than without it; and what is compared with is a law, whose probabilities sum to 1."""
    found = list(paths(before, Account(bits), Contrast(0.5, (0, 1))))
    assert sum(path.chance for path in found) == pytest.approx(1.0, abs=5e-3)
    assert 0.95 < sum(without for _, without in texts(found).values()) <= 1 + 1e-9
    for chance, without in texts(found).values():
        assert chance <= 2.0 ** min(bits, 100.0) * without * (1 + 1e-6)
    for path in found:
        assert path.charged <= bits + 1e-9
        assert path.ratio <= path.charged + 1e-9


def test_the_information_is_at_most_the_expected_charge() -> None:
    """The divergence from the law without the letter bounds what anybody learns, and the account bounds that."""
    found = list(paths([b"ab"], Account(inf)))
    divergence = sum(chance * log2(chance / without) for chance, without in texts(found).values())
    account = sum(path.chance * path.charged for path in found)
    assert 0.05 < divergence <= account
    assert account < 3 * divergence  # and says no more than that it has to


def test_half_of_a_charge_would_be_too_little() -> None:
    """So that the law above can fail."""
    found = list(paths([b"ab"], Account(1.0, part=0.5)))
    assert max(chance / without for chance, without in texts(found).values()) > 2.0 * (1 + 1e-6)


@pytest.mark.parametrize("before", [[], [b"ab"]])
def test_words_are_drawn_by_the_law_that_is_charged(before: list[bytes]) -> None:
    """The draws of seeded randomness, against the enumeration."""
    expected = {word: chance for word, (chance, _) in texts(list(paths(before, Account(2.0)))).items()}
    base, uniform, runs = TOKENS.tokens([number_of(word) for word in before]), random.Random(7).random, 2_000
    counts: Counter[object] = Counter()
    for _ in range(runs):
        last = before[-1] if before else None
        drawing = CountedWordDraw(TOKENS, WARM, len(before), last, Account(2.0), ends=True, uniform=uniform)
        found = None
        while found is None:
            found = drawing.add(heads(base, drawing.ids), WEIGHTS, None)
        counts[word_of(found.distribution.word)] += 1
        assert found.parts.sum() == pytest.approx(1.0)
    assert p_value(counts, dict(expected), runs) > 1e-3


def test_a_model_that_names_no_token_that_may_come_proposes_the_end() -> None:
    """The draw ends with the empty word, as it does where nothing is counted."""
    drawing = CountedWordDraw(TOKENS, WARM, 1, b"ab", Account(1.0), ends=True)
    only = Heads(np.ones((4, 1), np.float32), np.full((4, 1), 2, np.int32))
    found = drawing.add(only, WEIGHTS, None)
    assert found is not None
    assert word_of(found.distribution.word) == b""


def test_without_passages_nothing_is_charged() -> None:
    """The question's own row is drawn from."""
    account = Account(0.0)
    drawing = CountedWordDraw(TOKENS, WARM, 0, None, account, ends=True, uniform=random.Random(3).random)
    found = None
    while found is None:
        found = drawing.add(Heads(model(drawing.ids, ALONE)[None]), [], None)
    assert account.charges == []
    assert found.parts.tolist() == [[1.0]]
