"""Notes: natural texts with slots, from the tables in notes/, and what can be asked about each.

A block of a table is one template: its text on the first line, then lines `question / question = answer`.
{A:type} names a subject of `subjects.TYPES` for the first time, {A} again, {A~} its short name; {he}, {his}, {him} are
its pronouns, of A only. {x:shape} is a value of `values.SHAPES` or of `SHAPES` below. [a|b] is one or the other.
The subject of a question is the first one its answer names; its value is the slot that only the answer holds.
A fixed tenth of the templates is held out of training.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import values
from phrasings import Fact, Kind
from subjects import TYPES, Subject, subject
from values import Source, is_held_out

TABLES = Path(__file__).parent / "notes"
SLOT = re.compile(r"\{(\w+)(?::(\w+))?(~?)\}")
CHOICE = re.compile(r"\[([^][]*)\]")
START = re.compile(r"(?:^|(?<=[.?!] )|(?<=\n))[a-zà-þ]")
VOWEL = re.compile(r"\b([Aa]) (?=[aeio])")
PRONOUNS = {"he": ("he", "his", "him"), "she": ("she", "her", "her"), "it": ("it", "its", "it")}
SHAPES: dict[str, Callable[[Source], str]] = {
    **values.SHAPES,
    "few": lambda s: str(s.rng.randint(2, 40)),
    "first": values.first_name,
    "direction": lambda s: s.rng.choice(("north", "south", "east", "west")),
    "shopname": TYPES["shop"],
    "hutname": TYPES["hut"],
    "clubname": TYPES["club"],
    "project": TYPES["project"],
}


@dataclass(frozen=True)
class Asking:
    """Questions to one slot with their answer; `about` names the subject's slot, `value` the slot asked for."""

    questions: tuple[str, ...]
    answer: str
    about: str
    value: str


@dataclass(frozen=True)
class Template:
    """A text with slots, the shape or type of each slot, and what is asked about it."""

    text: str
    slots: Mapping[str, str]
    askings: tuple[Asking, ...]
    held_out: bool


@dataclass(frozen=True)
class Note:
    """A filled template and its facts."""

    text: str
    facts: tuple[Fact, ...]


def expanded(pattern: str) -> Iterator[str]:
    """Every way to read the choices of a pattern."""
    fragments = CHOICE.split(pattern)
    yield from (
        "".join(way).replace(" ?", "?")
        for way in product(*(p.split("|") if i % 2 else [p] for i, p in enumerate(fragments)))
    )


def parse(block: str) -> Template:
    """One block of a table."""
    text, *lines = block.strip().split("\n")
    slots = {name: shape for name, shape, _ in SLOT.findall(text) if shape}
    return Template(text, slots, tuple(_asking(line) for line in lines), is_held_out(text))


def _asking(line: str) -> Asking:
    asked, answer = line.split(" = ")
    named = [name for name, _, _ in SLOT.findall(answer)]
    value = next(name for name in named if f"{{{name}}}" not in asked)
    about = next(name for name in named if name.isupper())
    return Asking(tuple(q for part in asked.split(" / ") for q in expanded(part)), answer, about, value)


@cache
def templates() -> tuple[Template, ...]:
    """Every template of every table."""
    blocks = (b for path in sorted(TABLES.glob("*.txt")) for b in path.read_text("utf-8").split("\n\n"))
    return tuple(parse(b) for b in blocks if b.strip())


def drawn(source: Source, template: Template) -> dict[str, str | Subject]:
    """A value or a subject for every slot, no two alike; a count is never one, so that plurals fit."""
    out: dict[str, str | Subject] = {}
    taken = {"1"}
    for name, shape in template.slots.items():
        while True:
            made = subject(source, shape) if name.isupper() else SHAPES[shape](source)
            words = {made.name, made.short} if isinstance(made, Subject) else {made}
            if not words & taken:
                break
        taken |= words
        out[name] = made
    return out


def _written(pattern: str, filled: Mapping[str, str | Subject], keep: Mapping[str, str]) -> str:
    def one(match: re.Match[str]) -> str:
        name, _, short = match.groups()
        if name in keep:
            return keep[name]
        made = filled[name]
        if isinstance(made, str):
            return made
        return made.short if short else made.name

    return SLOT.sub(one, pattern)


def _text(rng: random.Random, template: Template, filled: Mapping[str, str | Subject]) -> str:
    first = filled.get("A")
    forms = PRONOUNS[first.pronoun] if isinstance(first, Subject) else PRONOUNS["it"]
    pattern = CHOICE.sub(lambda m: rng.choice(m[1].split("|")), template.text)
    written = _written(pattern, filled, dict(zip(PRONOUNS["he"], forms, strict=True)))
    return START.sub(lambda m: m[0].upper(), VOWEL.sub(r"\1n ", written))


def _kind(asking: Asking, template: Template, filled: Mapping[str, str | Subject]) -> Kind:
    keep = {asking.about: "{S}", asking.value: "{V}"}
    answer = _written(asking.answer, filled, keep)
    pairs = tuple((_written(q, filled, keep), answer) for q in asking.questions)
    shape, about = template.slots[asking.value], template.slots[asking.about]
    # A kind holds its last question out of training; here whole templates are held out instead, so it stands twice.
    return Kind(answer, (about,), shape, template.held_out, (), (*pairs, pairs[-1]))


def fill(source: Source, template: Template) -> Note:
    """The template with fresh names and values."""
    filled = drawn(source, template)
    return Note(_text(source.rng, template, filled), tuple(_fact(a, template, filled) for a in template.askings))


def _fact(asking: Asking, template: Template, filled: Mapping[str, str | Subject]) -> Fact:
    about, value = filled[asking.about], filled[asking.value]
    assert isinstance(about, Subject)
    assert isinstance(value, str)
    return Fact(_kind(asking, template, filled), about, value)


def note(source: Source, unseen: bool) -> Note:
    """A note of training, or one of a held-out template."""
    return fill(source, source.rng.choice(_pool(unseen)))


@cache
def _pool(unseen: bool) -> tuple[Template, ...]:
    return tuple(t for t in templates() if t.held_out == unseen)
