"""Laws of questions for a detail that no passage tells of: they are given up, and what one may answer is not.

No test saw that a model gives one number for another, since evidence was how near a passage is to the question, and a
passage of the right firm is near whichever of its details is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources

import pytest
from fakes import part
from two_sides import TEXTS, Sides, ask

from hocket_bus.messages import Passages, Prompt, Turn
from hocket_daemon.serving.search.attributes import ATTRIBUTES, untold, untold_line
from hocket_daemon.serving.search.evidence import UNKNOWN

WORKS = "# Tarn Sailmakers\n\nTarn Sailmakers mended the jib. Call 0551 774 120. They are closed on Mondays in August."
RULES = "Bicycles stand behind the shed. Dogs wait outside. The shed is locked at night."
NOT_TOLD = [
    "What is the fax number of Tarn Sailmakers?",
    "Can you give me the e-mail address of Tarn Sailmakers?",
    "What is the website of Tarn Sailmakers?",
    "Who is the owner of Tarn Sailmakers?",
    "Who is the manager of Tarn Sailmakers?",
    "Who founded Tarn Sailmakers?",
    "When was Tarn Sailmakers founded?",
    "In which year was Tarn Sailmakers established?",
    "When was the shed built?",
    "How many employees does Tarn Sailmakers have?",
    "What is the IBAN of Tarn Sailmakers?",
    "What is the VAT number of Tarn Sailmakers?",
    "Is Tarn Sailmakers on Instagram?",
]
TOLD = [
    ("What is the telephone number of Tarn Sailmakers?", WORKS),
    ("When is Tarn Sailmakers closed?", WORKS),
    ("Who is the owner of the boat?", "The boat was sold last year; now Ines Holm sails it."),
    ("Who owns the shed?", "The shed belongs to the club."),
    ("Who is the owner of the red car?", "We parked our red car there."),
    ("When was the club founded?", "The club has been there for three generations."),
    ("When was the mill built?", "A mill of the 1860s, with two wheels."),
    ("What is the fax number of the town hall?", "Telefax: 0551 99"),
    ("What is the mail address of Jo?", "jo@example.org writes the minutes."),
    ("How much does the ferry cost?", "Children ride for free."),
    ("How much does the ferry cost?", "Twelve crowns each way."),
    ("How old is Grandpa?", "Grandpa: 11 December 1941"),
    ("Who is the manager of the bakery?", "The bakery is run by two sisters."),
    ("Where do I park?", RULES),
]


@pytest.mark.parametrize("question", NOT_TOLD)
def test_a_detail_that_no_passage_tells_is_known_to_be_missing(question: str) -> None:
    """Whatever other numbers, days and names of the question's own the passages have."""
    assert untold(question, [WORKS, RULES])


@pytest.mark.parametrize(("question", "text"), TOLD)
def test_what_a_passage_may_tell_is_asked_of_the_model(question: str, text: str) -> None:
    """In its own words or others, by a name, a year or a number; of what has no word of its own nothing is known."""
    assert untold(question, [RULES, text]) == ""


def test_answerable_questions_of_newcomers_are_not_given_up() -> None:
    """Nor those about invented facts: those of each set over its own notes."""
    asked = 0
    for name in ("newcomer", "invented"):
        data = json.loads(
            (resources.files("hocket_lab") / "bench" / "answers" / f"{name}.json").read_text(encoding="utf-8")
        )
        texts = [each["text"] for side in ("device", "cloud") for each in data[side]]
        questions = [
            each["question"] for each in data["questions"] if each.get("kind") not in ("not read", "not in the note")
        ]
        assert [question for question in questions if untold(question, texts)] == []
        asked += len(questions)
    assert asked > 100
    assert len(ATTRIBUTES) > 10


def found(*texts: str) -> Passages:
    """What a search gives."""
    return part("device", list(texts)).retrieval._found(ask().prompt.query, 4, "probability:1")


def test_what_was_said_before_counts_and_nothing_read_is_another_matter() -> None:
    """A detail that a reader has told is known; without a passage the model's own answer is told to be that."""
    question = "What is the fax number of Tarn Sailmakers?"
    told = [Turn(query="Their fax number is 0551 774 121.", answer="Thank you.")]
    assert untold_line(Prompt(query=question), found(WORKS))
    assert untold_line(Prompt(query=question, turns=told), found(WORKS)) == ""
    assert untold_line(Prompt(query=question), found()) == ""


@pytest.mark.parametrize("unknown", ["say", "mark", "answer"])
def test_such_a_question_ends_as_one_that_nothing_is_about(sides: Callable[..., Sides], unknown: str) -> None:
    """Though its passages are near enough: with a sentence, a notice, or neither, as was asked for."""
    asked = ask(unknown=unknown, alone=True, question="fax kala mira?", max_tokens=80)
    both = sides(asked, device=part("device", TEXTS["device"], seed=1, scorers=["probability:1"]))
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    done, notices = both.reader.done, " ".join(both.reader.notices)
    assert ((done.finish, done.text) == ("unknown", UNKNOWN)) is (unknown == "say")
    assert ("mentions a fax number" in notices) is (unknown != "answer")
