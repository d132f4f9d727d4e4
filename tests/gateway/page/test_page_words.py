"""The page's words: each has its German, with the same values in it, and no German stands for words that are gone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import hocket_daemon
import hocket_gateway
from hocket_daemon.serving.search.attributes import ATTRIBUTES
from hocket_gateway.answers.ways import WAYS

PAGE = Path(str(hocket_gateway.__file__)).parent / "page"
DAEMON = Path(str(hocket_daemon.__file__)).parent
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"^\s*//.*$|^import .*$|(?<=[;{,)]) //.*$", re.MULTILINE)
CALLS = re.compile(r"\b(?:say|count|act|heading)\(")
LINE = re.compile(r"^  \[/\^(.+)\$/, ", re.MULTILINE)  # a daemon's line, as a pattern
VALUES = re.compile(r"\(\?.+?\)(?!\))\??|\.\+|[:;,] ")  # between the parts of such a line
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
    sent |= {way.about for way in WAYS} | {each.name for each in ATTRIBUTES}
    assert german().keys() - written() - sent == set()
    assert len(german()) > 200


def test_the_page_knows_the_lines_of_the_daemons() -> None:
    """Each part of a line that the page says in its own words stands in a daemon's code."""
    code = "\n".join(strings_of(DAEMON))
    parts = {part for line in LINE.findall((PAGE / "notices.js").read_text("utf-8")) for part in VALUES.split(line)}
    told = {part.replace("\\", "").strip(" :;,.()") for part in parts}
    assert {part for part in told if part not in code} == set()
    assert len(told) > 60


def strings_of(package: Path) -> Iterator[str]:
    """Every text in a package's code, those between the values of a formatted one apart."""
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_every_detail_that_a_question_asks_for_has_its_german() -> None:
    assert {each.name for each in ATTRIBUTES} - german().keys() == set()


def test_the_markup_is_translated() -> None:
    """Each button, title and label of the page as it comes."""
    markup = (PAGE / "index.html").read_text(encoding="utf-8")
    texts = re.findall(r'(?:title|aria-label)="([^"]+)"|>([^<>\n]+)</button>', markup)
    assert {one or other for one, other in texts} - german().keys() == set()
    assert len(texts) > 8
