"""Laws of extraction, of spellings, and of what may leave."""

import pytest

from hocket_retrieval.graph.leaving import may_leave, shareable
from hocket_retrieval.graph.resolve import Keys, key_of
from hocket_retrieval.graph.tables import NamedEntity
from hocket_retrieval.text.phrases import MAX_MENTIONS, is_name, mentions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Yesterday Ada Merrow visited the old harbour.", ["Ada Merrow", "harbour"]),
        ("The Bank of Fendwick closed.", ["Bank of Fendwick"]),
        ("She wants to renew the library card.", ["library card"]),
        ("It was, of course, not that.", ["course"]),
        ("We met in the U.S. on Monday.", ["U.S", "Monday"]),
        ("", []),
    ],
)
def test_names_and_noun_phrases_are_found(text, found):
    """Capitals make names, small words and verbs end phrases, and what opens a sentence is no name for that."""
    assert mentions(text) == found


def test_a_chunk_has_few_mentions_and_names_come_first():
    """Of too many the names stay, however late they come."""
    terms = " and ".join(f"the {letter}eather {letter}ook" for letter in "bcdfghjklmnp")
    found = mentions(f"{terms} of Ada Merrow")
    assert len(found) == MAX_MENTIONS
    assert (found[0], is_name(found[0]), is_name(found[1])) == ("Ada Merrow", True, False)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("library card", "library cards", True),
        ("Rye-Bread Bakery", "Rye Bread Bakery", True),
        ("IBM", "ibm", False),
        ("Fendwick Harbour", "Fendwik Harbour", True),
        ("Fendwick Harbour", "Fendwick Harbours", True),
        ("North Carolina", "South Carolina", False),
        ("Austria", "Australia", False),
        ("patient", "patent", False),
        ("Kubernetes", "Kubernettes", True),
    ],
)
def test_spellings_of_one_entity_are_joined(one, other, same):
    """Case apart from names, marks, number, and one wrong letter of a long word in a name."""
    keys = Keys()
    keys.add(key_of(one), 7)
    assert (keys.find(key_of(other)) == 7) == same
    keys.discard(key_of(one))
    assert keys.find(key_of(other)) is None


@pytest.mark.parametrize(
    "text",
    [
        "ada@merrow.example",
        "Call 020 7946 0958",
        "DE89370400440532013000",
        "Account 12345678",
        "B-MW 1234",
        "KA 51 MH 1234",
        "ABC 2012",
        "http://merrow.example",
        "One Name of Five Words",
    ],
)
def test_numbers_that_belong_to_somebody_do_not_leave(text):
    """Addresses, phones, accounts and plates; nor what is as long as a quote."""
    assert not may_leave(text)


@pytest.mark.parametrize("text", ["Ada Merrow", "library card", "Windows 11", "Summer of 1998"])
def test_names_leave(text):
    """Also with a year or a small number."""
    assert may_leave(text)


def test_what_few_documents_hold_does_not_leave():
    """The number of documents decides, not that of chunks."""
    said = [NamedEntity(1, "Ada Merrow", 1, 9), NamedEntity(2, "Tomas Quill", 2, 2)]
    assert [each.text for each in shareable(said, 2)] == ["Tomas Quill"]
