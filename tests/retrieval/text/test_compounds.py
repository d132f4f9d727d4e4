"""Laws of compounds: one is found by each word that it is made of, in languages that write them as one word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_retrieval.searching.relevance import Telling
from hocket_retrieval.text import compounds
from hocket_retrieval.text.lexical import indexed, missing_words, query_terms
from hocket_retrieval.text.normalization import fold, fold_case

MADE_OF = {  # a compound, and words that it is made of as a question has them
    "german": {
        "Kaltmiete": ["Miete"], "Kündigungsfrist": ["Frist", "Kündigung"], "Zahnarzttermin": ["Termin", "Zahnarzt"],
        "Kuchenbuffet": ["Kuchen"], "Pflaumenkuchen": ["Kuchen", "Pflaumen"], "Frischhefe": ["Hefe"],
        "Klassenlehrerin": ["Lehrerin", "Klassen"], "Bootshausschlüssel": ["Schlüssel", "Bootshaus"],
        "Waschküchennutzung": ["waschen", "Nutzung"], "Treppenhausreinigung": ["Treppe", "Reinigung"],
        "Straßenfest": ["Straße"], "Heuernte": ["Ernte"],
    },
    "dutch": {"huurcontract": ["contract"], "tandartsafspraak": ["tandarts", "afspraak"]},
    "swedish": {"hyreskontrakt": ["kontrakt"], "tandläkartid": ["tandläkare"]},
    "norwegian": {"husleiekontrakt": ["kontrakt", "husleie"]},
    "danish": {"lejekontrakt": ["kontrakt"], "fødselsdagskage": ["fødselsdag"]},
    "finnish": {"vuokrasopimus": ["vuokra", "sopimus"]},
}  # fmt: skip
ALL = [(language, whole, part) for language, made in MADE_OF.items() for whole, parts in made.items() for part in parts]
OTHERS = [("german", "Mietvertrag", "Frist"), ("german", "Traum", "Raum"), ("german", "Tag", "Mittagessen")]
SMALL_WORDS = {  # that tell a text's language
    "german": "der die das und", "dutch": "het een van voor", "swedish": "och att det som är", "danish": "af hvad nu",
    "norwegian": "hva fra nå av", "finnish": "ja että mikä missä",
}  # fmt: skip


def has(text: str, question: str, language: str) -> bool:
    """Tell whether the index of a text holds a form that the question asks for."""
    small = SMALL_WORDS[language]
    forms = set(query_terms(f"{question} {small}").forms)
    return not forms.isdisjoint(indexed(f"{text} {small}", language).forms.split())


@pytest.mark.parametrize(("language", "whole", "part"), ALL)
def test_a_compound_is_found_by_each_of_its_words(language: str, whole: str, part: str) -> None:
    """In the index, and where a passage is weighed and an answer is compared with what was read."""
    assert has(whole, part, language)
    assert compounds.held([fold_case(part)], language, [fold(whole)])
    told = Telling({fold(part): 1.0}, language=language)
    assert told.shares(f"Neu: {whole}.", "") == (1.0, 0.0)
    assert missing_words(part, [f"{SMALL_WORDS[language]} {whole}"]) == []


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Kündigung", "Kuendigung"),
        ("Kuendigung", "Kündigung"),
        ("Kuendigungsfrist", "Kündigung"),
        ("Kündigungsfrist", "Kuendigung"),
        ("Mueller", "Müller"),
        ("Schoenfeld", "Schönfeld"),
    ],
)
def test_german_is_found_with_umlauts_and_without(written: str, asked: str) -> None:
    """In a compound, too."""
    told = Telling({fold(asked): 1.0}, language="german")
    assert told.shares(f"Neu: {written}.", "") == (1.0, 0.0)
    assert has(written, asked, "german")


@pytest.mark.parametrize(("language", "whole", "other"), OTHERS)
def test_no_other_word_finds_it(language: str, whole: str, other: str) -> None:
    """Nor one that begins too near to its start."""
    assert not has(whole, other, language)
    assert not compounds.held([fold_case(other)], language, [fold(whole)])


def test_a_language_that_writes_its_words_apart_is_searched_as_before() -> None:
    """Its index is no larger."""
    assert indexed("The lighthouse keeper", "english").forms.split() == ["the", "lighthous", "keeper"]
    assert query_terms("Where is the lighthouse?").forms == ["lighthous"]
    assert Telling({"house": 1.0}, language="english").shares("The lighthouse", "") == (0.0, 0.0)


@given(word=st.text(max_size=60), language=st.sampled_from(sorted(compounds.LANGUAGES)))
def test_parts_are_few_and_are_cut_at_no_space(word: str, language: str) -> None:
    """At most two for each letter and spelling, of words that are not too long; they are no words of a text."""
    found = list(compounds.parts(fold_case(word), language))
    assert len(found) <= 2 * 2 * 40
    assert all("-" in part and not part.isspace() and len(part.split()) == 1 for part in found)
    assert len(list(compounds.asked(fold_case(word), language))) <= 4
