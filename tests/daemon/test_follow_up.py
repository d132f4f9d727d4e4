"""What is searched for a question of a conversation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.messages import MAX_QUESTION_CHARS, Prompt, Turn
from hocket_daemon.serving.follow_up import refers, search_text

LIGHTHOUSE = "When was the lighthouse of Brightholm built?"


def behind(query: str, *questions: str) -> str:
    return search_text(Prompt(query=query, turns=[Turn(query=each, answer="Well.") for each in questions]))


@pytest.mark.parametrize(
    "question",
    [
        "And when does the ferry leave?",
        "How high is it?",
        "Why?",
        "What about Sundays?",
        "Who keeps the keys there?",
        "Wie hoch ist er?",
        "Und wann schließt die Bibliothek?",
        "Combien coûte-t-elle en hiver?",
        "¿Y cuánto cuesta esa?",
        "Is there another one near the harbour?",
    ],
)
def test_a_question_that_refers_is_searched_with_what_those_before_are_about(question: str) -> None:
    """The latest first, and no word twice; the question itself counts twice."""
    twice = f"{question} {question} "
    assert behind(question, "What is for lunch today?", LIGHTHOUSE).startswith(f"{twice}lighthouse brightholm")
    assert behind(question, "What is for lunch today?", "Why Brightholm?").startswith(f"{twice}brightholm lunch")


@pytest.mark.parametrize(
    "question",
    [
        LIGHTHOUSE + " Who paid?",
        "Which dentist treats small children in Kirkholm?",
        "Wann fährt die Fähre Meta nach Helgoland im Winter?",
    ],
)
def test_a_question_that_stands_for_itself_is_searched_alone(question: str) -> None:
    """The conversation may have come to something else."""
    assert behind(question, "Where did Anna park the blue car?") == question


def test_where_the_latest_says_little_those_before_it_are_searched_too() -> None:
    """Nothing else says what "why" is about."""
    assert behind("Why?", "And who paid for the tower?", LIGHTHOUSE, "When?") == "Why? Why? lighthouse brightholm"


def test_only_so_many_words_come_along_and_none_that_was_said() -> None:
    """One more where a pronoun stands for some of them."""
    before = (LIGHTHOUSE, "Who was the keeper, smith, baker, miller and teacher there?")
    for question, words in (("How high is the lighthouse?", "keeper smith"), ("Who painted it?", "keeper smith baker")):
        assert behind(question, *before) == f"{question} {question} {words}"


@given(query=st.text(max_size=200), before=st.lists(st.text(max_size=6_000), max_size=4))
def test_the_question_itself_is_always_searched_and_nothing_of_what_was_answered(query: str, before: list[str]) -> None:
    """At the beginning, whole, and with at most as much as a question may have."""
    turns = [Turn(query=each, answer="ANSWER") for each in before]
    text = search_text(Prompt(query=query, turns=turns))
    assert text.startswith(query.strip())
    assert len(text) <= MAX_QUESTION_CHARS
    assert text == search_text(Prompt(query=query, turns=[Turn(query=each, answer="") for each in before]))
    assert search_text(Prompt(query=query)) == query.strip()
    assert refers(query) or text == query.strip()
