"""Laws of how far a suggestion is shown: as far as it is likely enough, in whole words, names and numbers as known."""

from __future__ import annotations

import random
from math import prod

import pytest

from hocket_daemon.composition.completion import COPIED, LETTER, Path, as_known
from hocket_daemon.composition.window import Window

WORDS = [
    "The ",
    "fer",
    "ry ",
    "to ",
    "Oak",
    "haven ",
    "leaves ",
    "at ",
    "14",
    ":",
    "05",
    " on ",
    "Mon",
    "days. ",
    "It ",
]


class Texts:
    """Each id is one of WORDS."""

    def text(self, ids: object) -> str:
        return "".join(WORDS[at] for at in ids)  # type: ignore[attr-defined]

    def of(self, token: int) -> str:
        return WORDS[token]


def path(rng: random.Random, typed: str = "") -> Path:
    tokens = tuple(range(len(WORDS)))
    return Path(Window("", typed, []), tokens, tuple(rng.uniform(0.5, 1.0) for _ in tokens))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("typed", ["", "T", "The f", "The ferry", "The ferry to O"])
def test_what_is_shown_is_likely_enough_whole_words_and_never_more_for_a_higher_bound(typed: str, seed: int) -> None:
    """And all of it is shown without a bound."""
    one = path(random.Random(seed), typed)
    texts: Texts = Texts()
    whole, before = one.suggested(texts, 12), None  # type: ignore[arg-type]
    assert whole is not None
    for minimum in (0.0, 0.1, 0.3, 0.6, 0.9, 1.0):
        shown = one.suggested(texts, 12, minimum)  # type: ignore[arg-type]
        assert shown is not None
        assert whole.startswith(shown)
        assert before is None or before.startswith(shown)
        assert not shown or shown == whole or not (shown[-1].isalnum() and whole[len(shown)].isalnum())
        before = shown
        spelled, used = one.spelling(texts), len(typed)  # type: ignore[arg-type]
        needed = [at for at in range(spelled, 12 + spelled) if len(texts.text(range(at))) < used + len(shown)]
        if needed and len(texts.text(range(spelled))) == len(typed):
            assert prod(one.chances[at] for at in needed) >= minimum
    assert one.suggested(texts, 12, 0.0) == whole  # type: ignore[arg-type]


def test_typed_letters_make_what_fits_them_likelier() -> None:
    """By LETTER times each: a word of a chance of a tenth is shown behind two of its letters."""
    texts, tokens = Texts(), (4, 5, 6)
    for typed, chance in (("", 0.1), ("O", LETTER / (LETTER + 9)), ("Oa", LETTER**2 / (LETTER**2 + 9))):
        one = Path(Window("", typed, []), tokens, (0.1, 1.0, 0.0))
        for minimum, is_shown in ((chance - 0.01, True), (chance + 0.01, False)):
            shown = one.suggested(texts, 3, minimum)  # type: ignore[arg-type]
            assert shown == ("Oakhaven"[len(typed) :] if is_shown else "")


@pytest.mark.parametrize(
    ("typed", "rival", "chance"),
    [("", 0.3, 0.6), ("O", 0.3, 0.6 / 0.9), ("Oa", 0.3, 0.6 / 0.9), ("O", 0.0, 1.0), ("Oak", 0.0, 1.0)],
)
def test_a_half_typed_word_is_as_likely_as_it_is_among_those_that_fit(typed: str, rival: float, chance: float) -> None:
    """A rival that does not fit what is typed takes nothing; what is not kept of the others, little."""
    others = tuple((token, each) for token, each in ((1, 0.4 - rival), (5, 0.0), (4, rival)) if each)
    one = Path(Window("", typed, []), (4, 5, 6), (0.6, 1.0, 0.0), rivals=(others, (), ()))
    for minimum, is_shown in ((chance - 0.01, True), (chance + 0.01, False)):
        assert one.suggested(Texts(), 3, minimum) == ("Oakhaven"[len(typed) :] if is_shown else "")  # type: ignore[arg-type]


def test_what_copies_the_sentence_that_is_meant_is_likelier() -> None:
    """By COPIED times, each of its tokens; what was typed before is not judged."""
    texts, tokens = Texts(), (4, 5, 8)
    one = Path(Window("", "Oakhaven 14", []), tokens, (0.001, 0.02, 1.0))
    assert one.copied(len("Oak"), texts) == pytest.approx(COPIED * 0.02 / (COPIED * 0.02 + 0.98))  # type: ignore[arg-type]


def test_a_bound_is_reached_before_the_end_is_known() -> None:
    """So that nothing more need be decoded."""
    one = Path(Window("", "", []), (0, 1), (0.9, 0.01))
    texts = Texts()
    assert one.suggested(texts, 12) is None  # type: ignore[arg-type]
    assert one.suggested(texts, 12, 0.5) == "The"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "suggestion", "shown"),
    [
        ("The ferry to ", "Brightholm costs 18 crowns.", "Brightholm costs 18 crowns."),
        ("The ferry to ", "Brightholm costs 19 crowns.", "Brightholm costs"),
        ("The ferry to ", "Nantwick costs 18 crowns.", ""),
        ("The ferry to Bright", "on costs 18.", ""),
        ("It is late. ", "Yesterday it rained.", "Yesterday it rained."),
        ("", "Yesterday it rained on 3 May.", "Yesterday it rained on"),
        ("and the ", "NASA said so.", ""),
        ("Ask brightholm", " today", " today"),
    ],
)
def test_names_and_numbers_are_shown_as_they_are_known(written: str, suggestion: str, shown: str) -> None:
    """A word that begins a sentence is no name; one that is half typed is looked for whole."""
    assert as_known(suggestion, written, "The ferry to Brightholm costs 18 crowns, said Linnea.") == shown


def test_where_all_nouns_are_written_like_names_numbers_alone_are_to_be_known() -> None:
    assert as_known("Hund ist 7 Jahre alt", "Der ", "", names=False) == "Hund ist"


def test_a_number_of_another_fact_is_not_shown() -> None:
    """Though it is known: what is typed does not support it there."""
    known, asked = "14 crowns 18 crowns", list[tuple[str, str]]()

    def supports(number: str, before: str) -> bool:
        asked.append((number, before))
        return number == "18"

    assert as_known("18 crowns", "It costs ", known, supports=supports) == "18 crowns"
    assert as_known("now 14 crowns", "It costs ", known, supports=supports) == "now"
    assert asked == [("18", "It costs "), ("14", "It costs now ")]
