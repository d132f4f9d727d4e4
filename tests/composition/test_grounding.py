"""Laws of facts that are nearly alike: what was typed decides whose value may come, and where it does not, none may."""

from __future__ import annotations

import random

import pytest

from hocket_daemon.composition.grounding import Grounding, earlier_sentences, rest_of

NAMES = ("Marlin", "Osprey", "Curlew", "Plover", "Teal", "Godwit", "Avocet", "Dunlin")
FORMS = (  # a document's line, what is typed, and what is typed of none of them
    ("The toll at the {} Bridge is {} crowns.", "Crossing the {} Bridge costs ", "Crossing the Heron Bridge costs "),
    ("Smoked {}: {} crowns", "A pound of smoked {} is ", "A pound of smoked salmon is "),
    ("Mill: {}, Built: {}, Number: VS-5972", "The {} mill was built in ", "The Heron mill was built in "),
    ("{} Varga: 0171 555 {}", "You can call {} Varga at ", "You can call Abel Renn at "),
)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("line", "typed", "none"), FORMS)
def test_the_name_that_was_typed_decides(line: str, typed: str, none: str, seed: int) -> None:
    """Its sentence alone is read, its value comes, and no other one's may; without a known name none may."""
    chance = random.Random(seed)
    facts = dict(zip(chance.sample(NAMES, 5), chance.sample(range(1_102, 1_998), 5), strict=True))
    grounding = Grounding([line.format(name, value) for name, value in facts.items()], "english")
    for name, value in facts.items():
        written = typed.format(name)
        assert grounding.narrowed(written) == [line.format(name, value)]
        assert grounding.value(written).endswith(str(value))
        assert [other for other in facts.values() if grounding.has(str(other), written)] == [value]
    assert grounding.value(none) == ""
    assert not any(grounding.has(str(value), none) for value in facts.values())
    assert len(grounding.narrowed(none)) == len(facts)


TOLLS = [f"The toll at the {name} Bridge is {toll} crowns." for name, toll in (("Osprey", 17), ("Teal", 31))]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("The toll at the ", ""),  # of which one?
        ("The toll at the Osprey Bridge is", "17"),
        ("The toll at the Osprey Bridge is 17 crowns, and that at the Teal Bridge ", "31"),  # the first is told
        ("The tolls at the Osprey Bridge and the Teal Bridge are ", ""),
        ("The Osprey Bridge was painted in spring. Its toll is ", "17"),  # it is the last that was spoken of
        ("The Osprey Bridge was painted in spring. The toll at the Heron Bridge is ", ""),
        ("The toll at the Osprey Bridge is low.\nThe toll ", "17"),
        ("The weather is fine. ", ""),
        ("", ""),
    ],
)
def test_what_is_meant_is_in_the_sentence_that_is_typed(written: str, value: str) -> None:
    """Or in those before it, where it has nothing that tells but what all have."""
    assert Grounding(TOLLS, "english").value(written) == value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("The play Herons, written by Simon Stephens, ", ""),  # "which was performed in" comes next
        ("The play Herons, written by Simon Stephens, was performed in ", "2001"),
    ],
)
def test_a_value_comes_when_no_telling_word_is_missing_before_it(written: str, value: str) -> None:
    known = ["He had a role in the play Herons, written by Simon Stephens, which was performed in 2001 in London."]
    assert Grounding(known, "english").value(written) == value


def test_one_sentence_alone_is_of_another_where_its_name_is() -> None:
    """Though nothing else that is known is like it."""
    grounding = Grounding(TOLLS[:1], "english")
    assert not grounding.has("17", "The toll at the Heron Bridge is ")
    assert grounding.has("17", "Dear Ms Varga, the toll at the Osprey Bridge is ")


def test_a_value_may_have_a_number_twice() -> None:
    grounding = Grounding(["The last train leaves at 19:19.", "The last ferry leaves at 14:30."], "english")
    assert grounding.has("19", "The last train leaves at 19:")


def test_several_that_may_be_meant_allow_what_all_have() -> None:
    """Two Vargas in one town share the beginning of their numbers."""
    grounding = Grounding(["Linnea Varga: 0171 555 0143", "Linnea Brandt: 0171 555 0127"], "english")
    assert grounding.has("0171", "You can call Linnea at ")
    assert not grounding.has("0143", "You can call Linnea at 0171 555 ")
    assert grounding.has("0143", "You can call Linnea Varga at 0171 555 ")


@pytest.mark.parametrize(
    ("written", "rest"),
    [
        ("is ", "0171 555 0143"),
        ("is", " 0171 555 0143"),
        ("is:", " 0171 555 0143"),
        ("is 0171", " 555 0143"),
        ("is 0171 555 01", "43"),
        ("is 9", ""),
    ],
)
def test_what_is_typed_of_a_value_is_not_suggested_again(written: str, rest: str) -> None:
    assert rest_of("0171 555 0143", written) == rest


@pytest.mark.parametrize("written", ["is", "is ", "is:", "i", "is 9", ""])
def test_of_no_value_nothing_is_left_to_type(written: str) -> None:
    """Not even a blank, which would end the word that is half typed."""
    assert rest_of("", written) == ""


def test_the_sentence_that_is_typed_is_not_one_before_it() -> None:
    assert earlier_sentences("One. Two\nthree. Fo") == ["One.", "Two", "three."]
    assert earlier_sentences("One. ") == ["One."]
    assert earlier_sentences("") == []
