"""What is searched for a question of a conversation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.messages import MAX_QUESTION_CHARS, Prompt, Turn
from hocket_daemon.serving.follow_up import MAX_QUESTIONS, refers, search_text

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
def test_a_question_that_refers_is_searched_with_the_one_before(question: str) -> None:
    assert behind(question, "What is for lunch today at school?", LIGHTHOUSE) == f"{LIGHTHOUSE} {question}"


@pytest.mark.parametrize(
    "question",
    [LIGHTHOUSE, "Which dentist treats children in Kirkholm?", "Wann fährt die Fähre nach Helgoland im Winter?"],
)
def test_a_question_that_stands_for_itself_is_searched_alone(question: str) -> None:
    """The conversation may have come to something else."""
    assert behind(question, "Where did Anna park the blue car?") == question


def test_a_chain_of_questions_goes_back_to_what_it_is_about() -> None:
    assert behind("And on Sundays?", LIGHTHOUSE, "When is it open?") == f"{LIGHTHOUSE} When is it open? And on Sundays?"
    assert behind("And then?", LIGHTHOUSE, *["And why?"] * 5) == " ".join(
        [*["And why?"] * (MAX_QUESTIONS - 1), "And then?"]
    )


@given(query=st.text(max_size=200), before=st.lists(st.text(max_size=6_000), max_size=4))
def test_the_question_itself_is_always_searched_and_nothing_of_what_was_answered(query: str, before: list[str]) -> None:
    """At the end, whole, and with at most as much as a question may have."""
    turns = [Turn(query=each, answer="ANSWER") for each in before]
    text = search_text(Prompt(query=query, turns=turns))
    assert text.endswith(query.strip())
    assert len(text) <= MAX_QUESTION_CHARS
    assert search_text(Prompt(query=query)) == query.strip()
    assert "ANSWER" not in text.replace(query, "") or any("ANSWER" in each for each in before)
    assert refers(query) or text == query.strip()
