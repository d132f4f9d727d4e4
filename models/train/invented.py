"""Kinds of facts whose nouns and verbs are any words of real text.

The tables of `kinds.py` can be learned by heart; these cannot, so a model must match the question's own words with the
passage's, which is what questions of kinds it never saw ask of it.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from phrasings import Kind, count_kind, maker_kind, noun_kind, verb_kind
from subjects import TYPES
from values import SHAPES

PREPOSITIONS = ("", "", "", " in", " at", " with", " for", " from", " on", " to", " under", " about", " of")
AUXILIARIES = ("has", "has", "had", "was", "is")
ADVERBS = {"place": "where", "spot": "where", "clock": "when", "date": "when", "moment": "when", "person": "who"}
NUMBERS = ("small", "number", "decimal", "ext")


@dataclass(frozen=True)
class Words:
    """Words of real text sorted by their endings, which is near enough to parts of speech."""

    nouns: tuple[str, ...]
    plurals: tuple[str, ...]
    participles: tuple[str, ...]


def sort_words(plain: Sequence[str]) -> Words:
    """Participles by -ed, plurals by -s, and what has no telling ending as nouns."""
    return Words(
        tuple(w for w in plain if not w.endswith(("ed", "ing", "ly", "s", "er", "est"))),
        tuple(w for w in plain if w.endswith("s") and not w.endswith(("ss", "us", "is"))),
        tuple(w for w in plain if w.endswith("ed") and len(w) > 4),
    )


def invent(rng: random.Random, words: Words) -> Kind:
    """One kind in one of the four tables' forms."""
    subjects = ",".join({"person", *rng.sample(sorted(TYPES), 3)})
    return rng.choice((_noun, _verb, _verb, _count, _maker))(rng, words, subjects)


def _noun(rng: random.Random, words: Words, subjects: str) -> Kind:
    noun = rng.choice(words.nouns)
    if rng.random() < 0.4:
        noun = f"{rng.choice(words.nouns)} {noun}"
    return noun_kind(False, [subjects, noun, rng.choice(sorted(SHAPES))])


def _verb(rng: random.Random, words: Words, subjects: str) -> Kind:
    """ "S has VERBED in V", often with the category beside the value: "in the NOUN V"."""
    base = rng.choice(words.participles) + rng.choice(PREPOSITIONS)
    auxiliary, shape, category = rng.choice(AUXILIARIES), rng.choice(sorted(SHAPES)), rng.choice(words.nouns)
    article = "the " if shape == "spot" else ""
    kind = verb_kind(
        False, [subjects, auxiliary, base, f"{auxiliary} {base}", article + shape, ADVERBS.get(shape, "-"), category]
    )
    named = tuple(s.replace(f"{article}{{V}}", f"the {category} {{V}}") for s in kind.statements[:-1])
    return replace(kind, statements=(*kind.statements[:-1], *named, kind.statements[-1]))


def _count(rng: random.Random, words: Words, subjects: str) -> Kind:
    unit, shape = rng.choice(words.plurals), rng.choice(NUMBERS)
    auxiliary, verb = rng.choice(AUXILIARIES), rng.choice(words.participles)
    return count_kind(False, [subjects, auxiliary, verb, f"{auxiliary} {verb}", shape, unit, "-"])


def _maker(rng: random.Random, words: Words, subjects: str) -> Kind:
    verb, doer = rng.choice(words.participles), rng.choice(words.nouns)
    return maker_kind(False, [subjects, verb, verb, doer])
