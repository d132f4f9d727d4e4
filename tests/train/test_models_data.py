"""Laws of the training data: nothing of the benchmark or the demo in it, every kind varied, every byte reproducible."""

import random
import re
import sys
from pathlib import Path

import pytest

TRAIN = Path(__file__).resolve().parents[2] / "models" / "train"
sys.path.insert(0, str(TRAIN))

import decontaminate  # noqa: E402
import notes  # noqa: E402
import phrasings  # noqa: E402
import words  # noqa: E402
from passages import Writer  # noqa: E402
from values import Source, is_held_out  # noqa: E402

CAPITALS = ("Boston", "Rivera", "Tanaka", "Okafor", "Schmidt", "Larsen", "Novak", "Moreau")
PLAIN = ("variable", "music", "harvest", "cluster", "marble", "gathered", "repaired", "barrels", "windows")
SENTENCES = ("The house was built on a hill above the town.", "A second edition followed some years later.")


def writer(seed: int, held_out: bool = False, share: float = 0.4) -> Writer:
    """A generator without the open corpora; `share` of its passages are notes."""
    return Writer(Source(random.Random(seed), CAPITALS, PLAIN, held_out), SENTENCES, notes=share)


def filled_notes(seed: int) -> list[notes.Note]:
    """Every template, filled three times."""
    source = writer(seed).source
    return [notes.fill(source, t) for t in notes.templates() for _ in range(3)]


@pytest.fixture(scope="module")
def sample() -> list[str]:
    """Passages, questions and answers of 3,000 generated readings."""
    w = writer(11)
    readings = [w.reading() for _ in range(3000)]
    return [t for r in readings for t in (r.passage, *(x for a in r.asked for x in (a.question, a.answer)))]


@pytest.mark.slow
def test_no_benchmark_name_is_in_the_training_data(sample):
    """Invented names of benchmark and demo occur neither in the word lists nor in what is generated."""
    names = decontaminate.names(decontaminate.documents())
    assert len(names) > 150
    lists = " ".join((*words.FILLERS, *words.NOUNS, *(w for c in words.CATEGORIES.values() for w in c)))
    found = {w for text in (*sample, lists) for w in re.findall(r"[\w-]+", text)}
    assert not names & found


@pytest.mark.slow
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


def test_there_are_many_notes_and_a_tenth_is_held_out():
    """At least 240 templates, all different, with several questions each; the held-out ones are some but few."""
    made = notes.templates()
    assert len({t.text for t in made}) == len(made) >= 240
    assert all(len(t.askings) >= 2 for t in made)
    assert 0.04 < sum(t.held_out for t in made) / len(made) < 0.16


def test_notes_are_whole_sentences_without_leftover_marks():
    """No brace, bracket, bar or doubled space is left, and every sentence begins with a capital or a figure."""
    for note in filled_notes(7):
        asked = [text for f in note.facts for pair in f.kind.questions for text in pair]
        rest = [x.replace("{S}", "Ida").replace("{V}", "this") for x in asked]
        assert not [x for x in (note.text, *rest) if re.search(r"[{}\[\]|]|  | [.,;:?]", x)]
        assert not re.search(r"(^|[.?!] )[a-z]", note.text), note.text


def test_every_value_of_a_note_stands_in_it():
    """Each slot that is asked for was written into the text, and no two slots of a note have one value."""
    for note in filled_notes(8):
        assert all(f.value in note.text for f in note.facts), note.text
    for template in notes.templates():
        made = [v for v in notes.drawn(writer(8).source, template).values() if isinstance(v, str)]
        assert len(set(made)) == len(made)


def stems(text: str) -> set[str]:
    """The first three letters of every word, which inflection rarely changes."""
    return {w[:3] for w in re.findall(r"\w+", text.lower())}


def test_the_answer_to_a_note_restates_its_question():
    """Every question names its subject and shares two words with its answer, which holds the value once."""
    for fact in (f for note in filled_notes(9) for f in note.facts):
        for question, answer in fact.kind.questions:
            assert "{S}" in question
            assert question.endswith("?")
            assert "{V}" not in question
            assert answer.count("{V}") == 1
            assert len(stems(question) & stems(answer.replace("{V}", ""))) >= 2, (question, answer)


def test_held_out_templates_are_never_drawn_for_training():
    """Training and evaluation draw from disjoint notes, also where a question has nothing to find."""
    w, other = writer(10, share=1.0), Writer(writer(10).source, SENTENCES, unseen_notes=True, notes=1.0)
    seen = [f for _ in range(600) for f in w.note()[1]] + [w.missing(()) for _ in range(600)]
    unseen = [f for _ in range(600) for f in other.note()[1]]
    assert all(f.kind.held_out for f in unseen)
    assert not any(f.kind.held_out for f in seen)


def test_notes_work_in_every_case():
    """Found, missing and two-part questions and recitals come from notes, too, with their values marked rightly."""
    w = writer(12, share=1.0)
    asked = [(r.passage, a) for r in (w.reading() for _ in range(300)) for a in r.asked]
    asked += [(r.passage, a) for r in (w.recital() for _ in range(100)) for a in r.asked]
    assert {tuple(found for _, found in a.values) for _, a in asked} >= {
        (True,),
        (False,),
        (True, False),
        (False, True),
    }
    assert all(value in passage for passage, a in asked for value, present in a.values if present)
    assert all(value in a.answer for _, a in asked for value, _ in a.values)
