"""Laws of the training data: nothing of the benchmark or the demo in it, every kind varied, every byte reproducible."""

import random
import re
import sys
from pathlib import Path

import pytest

TRAIN = Path(__file__).resolve().parents[1] / "models" / "train"
sys.path.insert(0, str(TRAIN))

import decontaminate  # noqa: E402
import phrasings  # noqa: E402
import words  # noqa: E402
from passages import Writer  # noqa: E402
from values import Source, is_held_out  # noqa: E402

CAPITALS = ("Boston", "Rivera", "Tanaka", "Okafor", "Schmidt", "Larsen", "Novak", "Moreau")
PLAIN = ("variable", "music", "harvest", "cluster", "marble", "gathered", "repaired", "barrels", "windows")
SENTENCES = ("The house was built on a hill above the town.", "A second edition followed some years later.")


def writer(seed: int, held_out: bool = False) -> Writer:
    """A generator without the open corpora."""
    return Writer(Source(random.Random(seed), CAPITALS, PLAIN, held_out), SENTENCES)


@pytest.fixture(scope="module")
def sample() -> list[str]:
    """Passages, questions and answers of 3,000 generated readings."""
    w = writer(11)
    readings = [w.reading() for _ in range(3000)]
    return [t for r in readings for t in (r.passage, *(x for a in r.asked for x in (a.question, a.answer)))]


def test_no_benchmark_name_is_in_the_training_data(sample):
    """Invented names of benchmark and demo occur neither in the word lists nor in what is generated."""
    names = decontaminate.names(decontaminate.documents())
    assert len(names) > 150
    lists = " ".join((*words.FILLERS, *words.NOUNS, *(w for c in words.CATEGORIES.values() for w in c)))
    found = {w for text in (*sample, lists) for w in re.findall(r"[\w-]+", text)}
    assert not names & found


def test_no_benchmark_template_is_in_the_training_data(sample):
    """No generated sentence or question equals one of benchmark or demo once names and numbers are masked."""
    theirs = decontaminate.templates([*decontaminate.documents(), *decontaminate.questions()])
    assert len(theirs) > 400
    assert not theirs & decontaminate.templates(sample)


def test_a_benchmark_question_would_be_noticed():
    """The filter can fail: it refuses every benchmark question, also with another name in it."""
    assert not any(decontaminate.is_clean(q) for q in decontaminate.questions())
    assert not decontaminate.is_clean("In which town has Oskar Velde settled?")


def test_there_are_many_kinds_with_many_phrasings():
    """At least 40 kinds, each with at least eight ways to state it and eight to ask for it."""
    kinds = phrasings.all_kinds()
    assert len({k.name for k in kinds}) >= 40
    assert all(len(set(k.statements)) >= 8 and len(set(k.questions)) >= 8 for k in kinds)
    assert sum(k.held_out for k in kinds) >= 8


def test_the_same_seed_gives_the_same_readings():
    """Data are reproducible, and another seed gives others."""
    assert [writer(3).reading() for _ in range(20)] != [writer(4).reading() for _ in range(20)]
    one, two = writer(3), writer(3)
    assert [one.reading() for _ in range(50)] == [two.reading() for _ in range(50)]


def test_training_names_and_held_out_names_never_meet():
    """A made-up name belongs to one pool for good."""
    from values import brand, place

    assert not any(is_held_out(brand(writer(5).source)) for _ in range(20))
    held = writer(5, held_out=True).source
    assert all(is_held_out(brand(held)) for _ in range(20))
    assert place(held)


def test_values_marked_present_stand_in_the_passage():
    """What a reading says the passage holds, it holds."""
    w = writer(6)
    for reading in (w.reading() for _ in range(500)):
        for asked in reading.asked:
            assert all(value in asked.answer for value, _ in asked.values)
            assert all(value in reading.passage for value, present in asked.values if present)
