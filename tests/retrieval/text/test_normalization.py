"""Laws of the one form of text: what is stored is readable and stays, and spellings of one text are compared alike."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_retrieval.text.normalization import fold, normalize


@given(st.text())
def test_both_forms_are_fixed_points(text):
    """A text that is in a form stays as it is."""
    assert normalize(normalize(text)) == normalize(text)
    assert fold(fold(text)) == fold(text)


@given(st.text())
def test_composed_and_decomposed_text_is_one(text):
    """NFC, NFD and what is stored are compared alike."""
    for form in ("NFC", "NFD"):
        assert fold(unicodedata.normalize(form, text)) == fold(text)
    assert fold(normalize(text)) == fold(text)


@given(st.text(st.characters(categories=["Lu", "Ll", "Nd", "Zs"])))
def test_case_tells_nothing_apart(text):
    """Capitals and small letters of every script that has them are compared alike."""
    assert fold(text.upper()) == fold(text.lower()) == fold(text)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("pass\u200bword", "password"),
        ("Donau\u00addampf\u00adschiff", "Donaudampfschiff"),
        ("\ufb01nal o\ufb03ce", "final office"),
        ("nai\u0308ve", "naïve"),
        ("E = mc², 5 µm, Ⅳ", "E = mc², 5 µm, Ⅳ"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("\u202eabc\u202c\u2066d\u2069", "abcd"),
    ],
)
def test_what_is_stored_is_what_is_seen(text, stored):
    """Invisible characters and ligatures go; superscripts, and joiners that a script needs, stay."""
    assert normalize(text) == stored


@pytest.mark.parametrize(
    "spellings",
    [
        ("İstanbul", "istanbul", "ISTANBUL", "İSTANBUL", "ıstanbul"),
        ("Straße", "STRASSE", "strasse"),
        ("ﬁle", "FILE", "file"),
        ("ＡＢＣ１２", "abc12"),
        ("ｶﾞ", "ガ"),
        ("الاجْتِماع", "الاجتماع", "الاجتمـــاع"),
        ("می\u200cخواهم", "میخواهم"),
        ("σοφός", "ΣΟΦΟΣ"),
        ("naïve", "naive"),
        ("co\u00adoperate", "cooperate"),
    ],
)
def test_spellings_of_one_word(spellings):
    """They are compared alike."""
    assert len({fold(each) for each in spellings}) == 1


@given(st.lists(st.text(st.sampled_from("ae\n\r\u0301\u0323\u1100\u1161\ufb01\ufe8d\u200b\U0001f600")), max_size=9))
def test_what_is_stored_is_in_one_form_across_its_lines(texts):
    """Whatever stands at their ends; and no line comes or goes."""
    text = "\n".join(texts)
    assert unicodedata.is_normalized("NFC", normalize(text))
    assert normalize(text).count("\n") == text.count("\n")
    assert normalize(text) == "\n".join(map(normalize, texts))
