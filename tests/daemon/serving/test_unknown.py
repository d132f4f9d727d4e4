"""Laws of questions that nothing found is about, of small talk, and of words that no passage supports."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from dispatch_sides import CLOCKED, MINIMUM, DispatchSides
from dispatch_sides import ask as dispatched
from fakes import part
from two_sides import TEXTS, Clock, Sides, ask

from hocket_bus.messages import Prompt, Span, Turn
from hocket_daemon.serving.search.evidence import UNKNOWN, is_small_talk, unknown_answer
from hocket_daemon.serving.stream.support import agreed, is_unfounded, unsupported

Made = Callable[..., Sides]
REMOTE, NEAR = ["Zebras graze."], TEXTS["device"]


@pytest.fixture
def dispatching(monkeypatch: pytest.MonkeyPatch) -> Callable[..., DispatchSides]:
    clock = Clock()
    for module in CLOCKED:
        monkeypatch.setattr(module, "time", clock)
    return lambda asked, **options: DispatchSides(asked, clock, **options)


def score(texts: list[str]) -> float:
    """What the fakes find best of them."""
    found = part("device", texts).retrieval._found(ask().prompt.query, 2, "probability:1").passages
    return max(passage.score for passage in found)


def parts(device: list[str], cloud: list[str]) -> dict[str, object]:
    return {
        "device": part("device", device, seed=1, scorers=["probability:1"]),
        "cloud": part("cloud", cloud, seed=2, scorers=["probability:1"]),
    }


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("unknown", ["say", "mark", "answer"])
def test_where_nothing_found_is_about_it_the_reader_has_what_was_asked_for(
    sides: Made, unknown: str, alone: bool, order: int
) -> None:
    """A sentence, or the same tokens as ever with and without a notice; nothing is held behind any of them."""
    both = sides(ask(unknown=unknown, alone=alone, max_tokens=80), order=random.Random(order), **parts(REMOTE, REMOTE))
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    done, notices = both.reader.done, " ".join(both.reader.notices)
    assert ("not in your documents" in notices) is (unknown != "answer")
    assert ("may be invented" in notices) is (unknown == "mark")
    if unknown == "say":
        assert (done.finish, done.text) == ("unknown", UNKNOWN)
        assert done.text == "".join(token.text for token in both.reader.tokens)
        assert not done.sources
    else:
        assert done.finish != "unknown"
        assert done.token_ids == both.expected()


@pytest.mark.parametrize("knows", ["device", "cloud"])
def test_a_side_that_has_something_is_enough(sides: Made, knows: str) -> None:
    """Whichever of the two it is."""
    texts = {side: NEAR if side == knows else REMOTE for side in ("device", "cloud")}
    assert score(REMOTE) < 0.35 <= score(NEAR)
    both = sides(ask(unknown="say"), **parts(texts["device"], texts["cloud"]))
    both.begin()
    both.run_to_the_end()
    assert both.reader.done.token_ids == both.expected()
    assert not both.reader.notices


@pytest.mark.parametrize("first", ["device", "cloud"])
@pytest.mark.parametrize("knows", ["", "device", "cloud"])
def test_a_dispatched_question_is_given_up_where_neither_side_is_known_to_have_anything(
    dispatching: Callable[..., DispatchSides], first: str, knows: str
) -> None:
    """A device that begins does not wait for what the cloud has, and its answer is marked."""
    texts = {side: NEAR if side == knows else REMOTE for side in ("device", "cloud")}
    assert score(REMOTE) < MINIMUM
    both = dispatching(dispatched(max_tokens=80), script=first, **parts(texts["device"], texts["cloud"]))
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    done, given_up = both.reader.done, not knows and first == "cloud"
    assert (done.finish == "unknown", done.text == UNKNOWN) == (given_up, given_up)
    assert any("not in your documents" in notice for notice in both.reader.notices) is (knows != first)


@pytest.mark.parametrize(
    "said", ["Hello!", "hi there", "Thanks a lot, bye.", "Wie geht's?", "¿Qué tal?", "ありがとう。", "你好", "OK"]
)
def test_small_talk_is_about_no_document(said: str) -> None:
    assert is_small_talk(said)


@pytest.mark.parametrize(
    "asked", ["Hello, when is the dentist?", "Help me find the lease", "Who is Ciao Bella's owner?", "", "?", "42"]
)
def test_a_question_is_no_small_talk(asked: str) -> None:
    assert not is_small_talk(asked)


def test_words_are_supported_by_passages_and_by_what_was_said() -> None:
    """By stem, by number whatever parts its thousands; the spans are the text's own."""
    prompt = Prompt(query="Who paid the rent?", turns=[Turn(query="And Anna?", answer="She is in Porto.")])
    text = "Anna paid 1,260 crowns for renting two rooms in Porto and Lisbon on 5 May."
    found = unsupported(text, prompt, ["The rooms were rented for 1260 crowns."])
    assert [text[span.start : span.end] for span in found] == ["two", "Lisbon", "5"]


def test_an_answer_most_of_whose_words_are_its_own_is_unfounded() -> None:
    """Not one of few words: a single name may be a slip."""
    prompt = Prompt(query="Which medicines do I take?")
    for text, expected in (
        ("I am sorry for your loss, and unable to provide medical information.", True),
        ("You take Lisoprin in the morning, and vitamin D on Sundays, with water.", False),
        ("Aspirin twice.", False),
    ):
        found = unsupported(text, prompt, ["Lisoprin 10 mg in the morning, and Vitamin D on Sundays."])
        assert is_unfounded(text, found) is expected


def test_a_word_that_either_side_supports_is_supported() -> None:
    """What the other side has not told is taken for supported: nothing is said of a word without knowing it."""
    own = [Span(start=0, end=3), Span(start=5, end=9)]
    assert agreed(own, None) == own
    assert agreed(own, [own[1], Span(start=11, end=12)]) == [own[1]]
    assert agreed(own, []) == []


def test_what_nothing_is_known_of_is_answered_in_the_language_of_the_question() -> None:
    """In English where the language is not one of these, or nothing tells which it is."""
    asked = {
        "Wie heißt das Boot?": "Das weiß ich nicht.",
        "Comment s'appelle le bateau ?": "Je ne sais pas.",
        "¿Cómo se llama el barco?": "No lo sé.",
        "Come si chiama la barca?": "Non lo so.",
        "Qual é o nome do barco?": "Não sei.",
        "Hoe heet de boot?": "Dat weet ik niet.",
    }
    for query, answer in asked.items():
        assert unknown_answer(query).startswith(answer)
    for query in ("What is the boat called?", "Kestrel?", "Vad heter båten?", ""):
        assert unknown_answer(query) == UNKNOWN
