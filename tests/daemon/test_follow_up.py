"""What is searched for a question of a conversation."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import MAX_QUESTION_CHARS, Passage, Passages, Prompt, Turn
from hocket_daemon.serving.follow_up import AS_NEAR, NEAR, Found, chosen, refers, search_text, search_texts
from hocket_daemon.serving.retrieval import NO_PASSAGES, Lookups

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


def passages(*scores: float, document: str = "d", seconds: float = 0.0, matched: float = 0.0) -> Passages:
    found = [Passage(document=document, title="", ordinal=0, text="t", score=score) for score in scores]
    return msgspec.structs.replace(NO_PASSAGES, passages=found, seconds=seconds, matched=matched)


@given(alone=st.lists(st.floats(-1, 1)), together=st.lists(st.floats(-1, 1)))
def test_what_a_question_finds_by_itself_is_read_where_it_is_near_and_about_as_near(
    alone: list[float], together: list[float]
) -> None:
    """Whatever is found: of one search nothing is chosen."""
    one, both = passages(*alone).passages, passages(*together).passages
    best, other = max(alone, default=-1.0), max(together, default=-1.0)
    assert chosen([one, both]) == (0 if best >= NEAR and best >= AS_NEAR * other else 1)
    assert chosen([one]) == 0


class Slow(Lookups):
    """Lookups that answer when they are told to."""

    def __init__(self) -> None:
        self.asked: dict[str, Callable[[Passages | HocketError], None]] = {}

    def search(
        self, query: str, k: int, scorer: str, done: Callable[..., None], within: object = (), *, words: int = 0
    ) -> None:
        assert (k, scorer, within, words) == (3, "s", ("letters",), 64)
        self.asked[query] = done


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("failing", [None, 0, 1])
def test_both_searches_end_in_one_outcome(order: tuple[int, int], failing: int | None) -> None:
    """In whichever order they come; where one fails the question does."""
    slow, told = Slow(), list[Found | HocketError]()
    prompt = Prompt(query="How high is it?", turns=[Turn(query=LIGHTHOUSE, answer="")])
    slow.find(prompt, 3, told.append, scorer="s", within=("letters",), words=64)
    assert list(slow.asked) == search_texts(prompt)
    outcomes: list[Passages | HocketError] = [passages(0.2, seconds=1.0), passages(0.5, seconds=2.0)]
    if failing is not None:
        outcomes[failing] = Unavailable("away")
    for number, place in enumerate(order):
        assert len(told) == 0, number
        list(slow.asked.values())[place](outcomes[place])
    both = Found(search_texts(prompt)[1], passages(0.5, seconds=3.0))
    assert told == [both if failing is None else outcomes[failing]]


@pytest.mark.parametrize(("document", "matched"), [("d", 0.8), ("another", 0.3)])
@pytest.mark.parametrize("near", [0.2, 0.9])
def test_the_first_passages_own_words_are_evidence_whichever_search_found_them(
    document: str, matched: float, near: float
) -> None:
    """Words of earlier questions make it no less; those of another passage tell nothing of it."""
    slow, told = Slow(), list[Found | HocketError]()
    prompt = Prompt(query="How high is it?", turns=[Turn(query=LIGHTHOUSE, answer="")])
    slow.find(prompt, 3, told.append, scorer="s", within=("letters",), words=64)
    more, less = passages(near, document=document, matched=0.8), passages(0.5, matched=0.3)
    for done, outcome in zip(slow.asked.values(), (more, less), strict=True):
        done(outcome)
    (found,) = told
    assert isinstance(found, Found)
    assert found.passages.matched == (matched if near < NEAR else 0.8)
