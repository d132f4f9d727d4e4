"""The page's words: each has its German, with the same values in it, and no German stands for words that are gone."""

from __future__ import annotations

import re
from pathlib import Path

import hocket_gateway
from hocket_gateway.answers.ways import WAYS

PAGE = Path(str(hocket_gateway.__file__)).parent / "page"
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"^\s*//.*$|^import .*$|(?<=[;{,)]) //.*$", re.MULTILINE)
CALLS = re.compile(r"\b(?:say|count|act|heading)\(")
VALUE = re.compile(r"\{(\w+)\}")


def german() -> dict[str, str]:
    """The table."""
    text = COMMENT.sub("", (PAGE / "german.js").read_text(encoding="utf-8"))
    return dict(re.findall(r'^  "(.+)": "(.+)",$', text, re.MULTILINE))


def literals(text: str) -> set[str]:
    return {found.group(1) for found in LITERAL.finditer(text)}


def written() -> set[str]:
    """Every text in the page's code and its markup."""
    files = (path for path in PAGE.glob("*.js") if path.name != "german.js")
    code = {each for path in files for each in literals(COMMENT.sub("", path.read_text(encoding="utf-8")))}
    markup = (PAGE / "index.html").read_text(encoding="utf-8")
    return code | literals(markup) | set(re.findall(r">([^<>]+)</button>", markup))


def shown() -> set[str]:
    """The texts in calls that translate, those in conditions and of sentences included."""
    found: set[str] = set()
    for path in PAGE.glob("*.js"):
        text = COMMENT.sub("", path.read_text(encoding="utf-8"))
        for call in CALLS.finditer(text):
            found |= literals(text[call.end() : _closing(text, call.end())])
    return {each for each in found if re.search(r"[A-Za-z]{2}.* |^[A-Z][a-z]", each)}


def _closing(text: str, at: int) -> int:
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def test_every_text_that_is_shown_has_its_german() -> None:
    """Found in the calls that translate; tables of texts are found by their sentences."""
    sentences = {each for each in written() if re.match(r"[A-Z{0-9][^`]* [^`]*[a-z.}]$", each)}
    assert len(shown()) > 80
    assert shown() - german().keys() == set()
    assert {way.about for way in WAYS} - german().keys() == set()
    assert sentences - german().keys() == {"[data-does], [aria-label]"} & sentences


def test_the_german_has_the_same_values() -> None:
    """Whatever a sentence is made with stands in both, as often."""
    for english, translated in german().items():
        assert sorted(VALUE.findall(english)) == sorted(VALUE.findall(translated)), english


def test_no_german_is_left_of_words_that_are_gone() -> None:
    """But for what the gateway itself sends: ways, outcomes, classes of bytes and sides."""
    sent = {"added", "replaced", "unchanged", "both", "resampled", "memory", "passages", "history", "search", "prefill"}
    assert german().keys() - written() - sent - {way.about for way in WAYS} == set()
    assert len(german()) > 200


def test_the_markup_is_translated() -> None:
    """Each button, title and label of the page as it comes."""
    markup = (PAGE / "index.html").read_text(encoding="utf-8")
    texts = re.findall(r'(?:title|aria-label)="([^"]+)"|>([^<>\n]+)</button>', markup)
    assert {one or other for one, other in texts} - german().keys() == set()
    assert len(texts) > 8
