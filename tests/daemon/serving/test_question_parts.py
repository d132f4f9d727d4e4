"""Questions of several parts: which are parted, and into what."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_daemon.serving.search.question_parts import MAX_PARTS, parts_of


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What does it cost, and when does the mill open?", ["What does it cost?", "When does the mill open?"]),
        ("what is the rent and who owns the house", ["What is the rent?", "Who owns the house?"]),
        ("What's the rent and when is it due?", ["What's the rent?", "When is it due?"]),
        ("What is the rent? When is it due?", ["What is the rent?", "When is it due?"]),
        ("Did we win, and what was the score?", ["Did we win?", "What was the score?"]),
        ("Who is Ann, who is Ben and who is Carl?", ["Who is Ann, who is Ben?", "Who is Carl?"]),
        ("Was kostet die Fähre und wann öffnet der Turm?", ["Was kostet die Fähre?", "Wann öffnet der Turm?"]),
        ("Wie hoch ist die Miete, und wem gehört das Haus?", ["Wie hoch ist die Miete?", "Wem gehört das Haus?"]),
        ("¿Cuándo sale el tren? ¿Cuánto cuesta?", ["¿Cuándo sale el tren?", "¿Cuánto cuesta?"]),
    ],
)
def test_a_question_of_several_parts_is_parted(question: str, parts: list[str]) -> None:
    """Before a question of its own, or behind a question mark."""
    assert parts_of(question) == parts


@pytest.mark.parametrize(
    "question",
    [
        "How and when did the mill burn?",
        "What colour and what size is the tent?",
        "Welche Farbe und welche Größe hat das Zelt?",
        "When does it open and close?",
        "What is the difference between what I paid and what I owe?",
        "Is it cheaper than what I paid and what do we save?",
        "What happens when the pump stops and when is it serviced?",
        "Wer weiß, wann die Fähre kommt und wann der Turm öffnet?",
        "Tell me who signs and what the budget is",
        "I lost my key. Where is it?",
        "Is it raining? Really?",
        "Where is it?",
        "a? b? c?",
        "What is A? What is B? What is C? What is D? What is E?",
        "",
        "?",
        " What is the rent,   and then? ",
        "What is the rent, and who owns it? " * 40,
        " " * 100_000,
    ],
)
def test_another_one_stays_whole(question: str) -> None:
    """Keep a question whole if a part could not be asked by itself, or if it compares two things."""
    assert parts_of(question) == [question]


@given(st.lists(st.sampled_from(["what is the rent", "when does it open", "and", ",", "?", "who owns it", "red", " "])))
def test_parts_have_the_words_of_the_question_in_their_order(words: list[str]) -> None:
    """But for the "and" between them; and there is always one."""
    question = " ".join(words)
    parts = parts_of(question)
    assert 1 <= len(parts) <= MAX_PARTS
    told = [word for part in parts for word in re.findall(r"\w+", part.lower())]
    left = iter(re.findall(r"\w+", question.lower()))
    skipped = [word for word in left if not (told and told[0] == word and told.pop(0))]
    assert not told
    assert set(skipped) <= {"and"}
