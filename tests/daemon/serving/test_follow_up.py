"""What is searched for a question of a conversation."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import MAX_QUESTION_CHARS, Bridge, Passages, Prompt, Search, Turn
from hocket_daemon.serving.search.follow_up import JOINED_CHARS, Found, refers, search_text, search_texts
from hocket_daemon.serving.search.retrieval import NO_PASSAGES, Lookups

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
    assert search_texts(Prompt(query=query, turns=turns))[0] == query.strip()


def test_nothing_is_searched_twice() -> None:
    """A question may be so long that no word of another comes along: whoever waited for two answers would for ever."""
    query = "it " * MAX_QUESTION_CHARS
    texts = search_texts(Prompt(query=query, turns=[Turn(query=LIGHTHOUSE, answer="")]))
    assert texts == [query[:MAX_QUESTION_CHARS]]


def test_the_last_form_joins_the_latest_questions_in_their_order() -> None:
    """As many as embedders read, and never a part of one."""
    prompt = Prompt(query="And it?", turns=[Turn(query=each, answer="Well.") for each in ("Who?", LIGHTHOUSE, "Why?")])
    assert search_texts(prompt)[2] == f"Who? {LIGHTHOUSE} Why? And it?"
    many = [Turn(query=f"{LIGHTHOUSE} {at}", answer="") for at in range(100)]
    joined = search_texts(Prompt(query="And it?", turns=many))[2]
    assert joined.endswith(f"{LIGHTHOUSE} 98 {LIGHTHOUSE} 99 And it?")
    assert joined.startswith("When was")
    assert JOINED_CHARS - len(LIGHTHOUSE) - 4 <= len(joined) <= JOINED_CHARS


class Asked(Lookups):
    """Lookups that keep what is asked, and answer when they are told to."""

    def __init__(self) -> None:
        self.asked: list[Search] = []
        self.done: list[Callable[[Passages | HocketError], None]] = []

    def ask(self, asked: object, done: Callable[..., None]) -> None:
        assert isinstance(asked, Search)
        self.asked.append(asked)
        self.done.append(done)


@pytest.mark.parametrize("form", [0, 1])
def test_all_forms_are_one_search_whose_scores_are_of_the_form_that_it_names(form: int) -> None:
    """What weighs passages afterwards is compared with that form's text, too."""
    lookups, told = Asked(), list[Found | HocketError]()
    prompt = Prompt(query="How high is it?", turns=[Turn(query=LIGHTHOUSE, answer="")])
    bridge = Bridge(text="built Odile Brandt", names=["Odile Brandt"], score=0.5)
    lookups.find(prompt, 3, told.append, scorer="s", within=("letters",), words=64, bridge=bridge)
    (asked,), texts = lookups.asked, search_texts(prompt)
    assert (asked.query, asked.others, asked.bridge) == (texts[0], texts[1:], bridge)
    assert (asked.k, asked.scorer, asked.within, asked.words, asked.steps) == (3, "s", ["letters"], 64, 2)
    assert told == []
    outcome = msgspec.structs.replace(NO_PASSAGES, form=form)
    lookups.done[0](outcome)
    assert told == [Found(texts[form], outcome)]


def test_a_search_that_fails_fails_the_question() -> None:
    """There is nothing else to read."""
    lookups, told = Asked(), list[Found | HocketError]()
    lookups.find(Prompt(query="How high is it?"), 3, told.append, scorer="s", within=("letters",), words=64)
    lookups.done[0](away := Unavailable("away"))
    assert told == [away]
