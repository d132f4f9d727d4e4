"""Law of what an index holds of a text: names that are kept, and classes of letters, change no word of it."""

import random
import re
import sys
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from questions_in_languages import TEXTS

from hocket_retrieval.text import compounds, lexical, umlauts
from hocket_retrieval.text.languages import STOP_WORDS, stem
from hocket_retrieval.text.lexical import indexed, words
from hocket_retrieval.text.normalization import fold, fold_case

MARKS = "".join(re.escape(chr(c)) for c in range(0x300, 0x1E950) if category(chr(c))[0] == "M")
WORD = rf"(?:[^\W_]|[{MARKS}])+"
WORDS = re.compile(WORD)
NAMES = re.compile(rf"(?:(?<![^\s(\"'])\.)?{WORD}(?:(?:[.&@/:_-]|\+\+?|#){WORD})*(?:#|\+\+?)?")
PAIRED = re.compile(rf"[{lexical._PAIRED}][{lexical._PAIRED}{MARKS}]*")
CLUSTER = re.compile(rf".[{MARKS}]*", re.DOTALL)
LANGUAGES = [*STOP_WORDS, "none that is known"]
SIGNS = ".&@/:_-+#'’\"( \n\t0123456789"
KINDS = "aBzÄßéñøşıİﬁĳВґαΣאבشأتहिन्दीकதமிกขำไ่ລາວបមြ漢字數㈀かなカﾅﾞ한ᄀ국𝐀𑀓𐐨𠀀👍\u0301\u200d\u00ad①½ª"


def made_of_name(name: str, language: str) -> list[str]:
    """The parts of compounds in a name, and its stems with umlauts."""
    found = WORDS.findall(name)
    parts = [part for word in found if not PAIRED.search(word) for part in compounds.parts(word, language)]
    return [*parts, *umlauts.stems(found, language)]


def defined(text: str, language: str) -> tuple[str, str]:
    """The two columns, word by word."""
    folded = fold_case(text)
    found = WORDS.findall(folded)
    plain = [part for word in found for part in words(word)]
    stems = [fold(stem(word, language)) for word in found if not word[0].isdigit() and not PAIRED.search(word)]
    names = [fold(name) for name in NAMES.findall(folded) if not WORDS.fullmatch(name)]
    made_of = [part for name in NAMES.findall(folded) for part in made_of_name(name, language)]
    runs = (CLUSTER.findall(run) for run in PAIRED.findall(fold(text)))
    return " ".join(plain), " ".join([*stems, *names, *made_of, *(run[-1] for run in runs if len(run) > 1)])


@given(st.text(st.sampled_from(KINDS + SIGNS * 2), max_size=60), st.sampled_from(LANGUAGES))
@settings(max_examples=400, deadline=None)
def test_mixed_scripts(text, language):
    """With all the signs of names between them."""
    assert indexed(text, language) == defined(text, language)


@pytest.mark.slow
def test_any_character():
    """Every one that there is, among letters and signs."""
    rng = random.Random(7)
    anything = [chr(code) for code in range(sys.maxunicode + 1) if category(chr(code)) not in ("Cn", "Co", "Cs")]
    rng.shuffle(anything)
    for first in range(0, len(anything), 64):
        some = [*anything[first : first + 64], *rng.choices(SIGNS + "abc", k=64)]
        rng.shuffle(some)
        text, language = "".join(some), rng.choice(LANGUAGES)
        assert indexed(text, language) == defined(text, language)


@pytest.mark.parametrize("language", TEXTS)
def test_prose(language):
    """In its own language, and in another one."""
    for name in (language.lower(), "english"):
        for line in TEXTS[language].strip().splitlines():
            assert indexed(line, name) == defined(line, name)


def test_names_that_are_kept_are_few_and_short(monkeypatch):
    """However many there are; and a word is the same when it comes again, in another language too."""
    monkeypatch.setattr(lexical, "_KEPT", 8)
    lexical._names_of.cache_clear()
    text = " ".join([*(f"running-{number} laufend{number}" for number in range(40)), "x" * 500])
    for language in ("english", "german") * 2:
        assert indexed(text, language) == defined(text, language)
        kept = lexical._names_of(language)
        assert 0 < len(kept) <= 8
        assert max(map(len, kept)) <= 32
    lexical._names_of.cache_clear()
