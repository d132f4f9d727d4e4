"""The law of a drawn word is the law of the side's tokens, cut into words: by enumeration."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2
from toy_words import PIECES, TOKENS, model

from hocket_daemon.engine.sampling.drawing import Rule
from hocket_daemon.engine.sampling.heads import Heads
from hocket_daemon.engine.text import words
from hocket_daemon.engine.text.word_draw import SCALE, Proposal, WordDraw
from hocket_daemon.engine.text.words import number_of, word_of

RUNS = 6_000


def draw(
    before: list[bytes], rule: Rule, kind: type[WordDraw] = WordDraw, *, side: int = 5, ends: bool = True
) -> Proposal:
    """The word after these, by the product's code."""
    ids = TOKENS.tokens([number_of(word) for word in before])
    drawing = kind(TOKENS, rule, len(before), before[-1] if before else None, mass=1.0, ends=ends)
    while True:
        found = drawing.add(Heads(model([*ids, *drawing.ids], side)[None]), [], None)
        if found is not None:
            return found.distribution


def law(before: list[bytes], *, side: int = 5, ends: bool = True) -> dict[bytes, float]:
    """The law of the word after these, enumerated over all sequences of tokens."""
    base = TOKENS.tokens([number_of(word) for word in before])
    found: Counter[bytes] = Counter()

    def spread(ids: list[int], text: bytes, chance: float) -> None:
        if chance < 1e-5:
            return
        chances = model([*base, *ids], side).astype(float)
        if not ends:
            chances[:2] = 0
        allowed = chances if ids else np.where(TOKENS.beginning(before[-1] if before else None), chances, 0)
        for id, value in enumerate(allowed / allowed.sum()):
            if id < 2:
                found[text] += chance * value
                continue
            longer = text + TOKENS.token_bytes[id]
            word = words.first_word(longer)
            if word is None:
                spread([*ids, id], longer, chance * value)
            else:
                found[word] += chance * value

    spread([], b"", 1.0)
    return {word: value for word, value in found.items() if value > 0}


def p_value(counts: Counter[object], law: dict[object, float], runs: int) -> float:
    """Return the p-value of a chi-square test; cells expected less than five times are taken together."""
    often = {key: value for key, value in law.items() if value * runs >= 5}
    rest = max(0.0, 1 - sum(often.values()))
    cells = [(counts[key], value * runs) for key, value in often.items()]
    if rest * runs >= 5:
        cells.append((runs - sum(count for count, _ in cells), rest * runs))
    square = sum((count - expected) ** 2 / expected for count, expected in cells)
    return float(chi2.sf(square, len(cells) - 1))


@pytest.mark.parametrize("before", [[], [b"ab"], [b"a", b" b"], [b"ab\n"]])
def test_a_word_follows_the_law_of_the_tokens(before: list[bytes]) -> None:
    """Whatever its segmentation, and however it ends."""
    counts: Counter[object] = Counter(word_of(draw(before, Rule(seed, 1.0, 1.0)).word) for seed in range(RUNS))
    assert p_value(counts, dict(law(before)), RUNS) > 1e-3


class KeyedByAnswer(WordDraw):
    """Noise of the offset in the answer: the token that ends a word shares it with the first of the next word."""

    answer = b""

    def _noise_of(self) -> int:
        return len(self.answer) + len(self._text)


def _pairs(kind: type[WordDraw]) -> tuple[Counter[object], dict[object, float]]:
    """Counts and chances of two words in a row by two sides, of which the first is one of the likeliest."""
    firsts = {word: chance for word, chance in Counter(law([])).most_common(4) if word}
    counts: Counter[object] = Counter()
    for seed in range(2 * RUNS):
        rule = Rule(seed, 1.0, 1.0)
        KeyedByAnswer.answer = b""
        first = word_of(draw([], rule, kind).word)
        KeyedByAnswer.answer = first
        known = first in firsts
        counts[(first, word_of(draw([first], rule, kind, side=6).word)) if known else b""] += 1
    joint: dict[object, float] = {b"": 1.0 - sum(firsts.values())}
    for first, chance in firsts.items():
        joint |= {(first, second): chance * value for second, value in law([first], side=6).items()}
    return counts, joint


def test_two_words_in_a_row_are_independent_draws() -> None:
    """No noise is used for two words."""
    assert p_value(*_pairs(WordDraw), 2 * RUNS) > 1e-3


def test_noise_by_the_answers_offset_would_be_wrong() -> None:
    """So that the law above can fail."""
    assert p_value(*_pairs(KeyedByAnswer), 2 * RUNS) < 1e-6


def test_the_probability_that_is_told_is_the_greedy_words() -> None:
    """The product of the drawn tokens' probabilities and of that of the word's end."""
    for before in ([], [b"ab"], [b"a", b" b"]):
        proposal = draw(before, Rule(0, 0.0, 1.0))
        base = TOKENS.tokens([number_of(word) for word in before])
        ids, chance, allowed = list[int](), 1.0, TOKENS.beginning(before[-1] if before else None)
        while True:
            chances = np.where(allowed, model([*base, *ids]).astype(float), 0)
            chances[0], chances[1] = chances[0] + chances[1], 0
            best, total = int(chances.argmax()), chances.sum()
            text = b"".join(TOKENS.token_bytes[id] for id in ids)
            word = text if best == 0 else words.first_word(text + TOKENS.token_bytes[best])
            if word is None:
                chance, allowed = chance * chances[best] / total, TOKENS.any
                ids.append(best)
                continue
            if text and word == text:
                chance *= np.where(TOKENS.beginning(word), chances, 0).sum() / total
            else:
                chance *= chances[best] / total
            break
        assert word_of(proposal.word) == word
        assert proposal.count == pytest.approx(chance * SCALE, rel=1e-6)


def test_an_answer_that_may_not_end_does_not() -> None:
    """Its law has no end, and no mass is lost."""
    assert words.END not in law([b"ab"], ends=False)
    for seed in range(300):
        assert word_of(draw([b"ab"], Rule(seed, 1.0, 1.0), ends=False).word) != words.END


def test_a_model_that_names_no_token_that_may_come_proposes_the_end() -> None:
    """Heads leave out what is improbable: with the least probability that can be told."""
    drawing = WordDraw(TOKENS, Rule(1, 0.0, 1.0), 1, b"ab", mass=1.0, ends=True)
    only = Heads(np.array([[1.0]], np.float32), np.array([[2]], np.int32))
    found = drawing.add(only, [], None)
    assert found is not None
    assert found.distribution == Proposal(number_of(words.END), 1)


def test_passages_share_a_word_by_what_each_gives_to_it() -> None:
    """The posterior of the rows after all tokens of the word, by Bayes."""
    rows = np.random.default_rng(3).dirichlet(np.ones(len(PIECES)), size=(6, 2)).astype(np.float32)
    drawing = WordDraw(TOKENS, Rule(9, 0.0, 1.0), 0, None, mass=1.0, ends=True)
    weights, ids, found = [0.3, 0.7], list[int](), None
    for step in rows:
        found = drawing.add(Heads(step), weights, None)
        if found is not None:
            break
    ids = drawing.ids
    expected = np.array(weights)
    for step, id in zip(rows, ids, strict=False):
        expected *= step[:, id] / (np.array(weights) @ step[:, id])
    assert found is not None
    if word_of(found.distribution.word) == b"".join(TOKENS.token_bytes[id] for id in ids):
        np.testing.assert_allclose(found.parts[:, 0], expected / expected.sum(), rtol=1e-4)
