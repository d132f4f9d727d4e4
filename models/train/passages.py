"""Made-up passages and the questions to them: who is mentioned, what is found, what is not."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import notes
from decontaminate import is_clean
from invented import Words, invent, sort_words
from phrasings import Fact, Kind, all_kinds
from subjects import Subject, subject
from values import Source
from words import FILLERS, HEADINGS, OPENERS, TAILS

WORDS = 72  # a retrieval chunk has 64; some are a little longer
INVENTED = 0.5  # share of facts whose kind is invented
QUESTION_WORDS = (
    "What ",
    "Which ",
    "Who",
    "Where ",
    "When ",
    "How ",
    "Whose",
    *("In ", "By ", "From ", "To ", "Of ", "On ", "At ", "Under ", "With ", "For ", "Since ", "Until ", "After "),
)


@dataclass(frozen=True)
class Asked:
    """A question, its answer, the values in it with whether the passage holds each."""

    question: str
    answer: str
    values: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Reading:
    """A passage (perhaps empty) with several questions."""

    passage: str
    asked: tuple[Asked, ...]


@dataclass(frozen=True)
class Level:
    """How hard a reading is: facts in a passage, share of other sentences, share of questions with nothing to find."""

    facts: tuple[int, ...] = (1, 2, 2, 3, 3, 4, 5)
    padding: tuple[float, ...] = (0.0, 0.3, 0.6, 0.8)
    lost: float = 1.0


EASY = Level(facts=(1, 1, 2), padding=(0.0,), lost=0.15)
MIDDLE = Level(facts=(1, 2, 2, 3), padding=(0.0, 0.3), lost=0.5)
FULL = Level()


@dataclass
class Writer:
    """Draws passages, a share of `notes` among them; what is `unseen` is what training never shows."""

    source: Source
    prose: Sequence[str]
    unseen_phrasings: bool = False
    unseen_kinds: bool = False
    unseen_notes: bool = False
    invents: bool = True
    notes: float = 0.0
    level: Level = FULL
    kinds: tuple[Kind, ...] = field(init=False)
    words: Words = field(init=False)

    def __post_init__(self) -> None:
        self.kinds = tuple(k for k in all_kinds() if k.held_out == self.unseen_kinds)
        self.words = sort_words(self.source.plain)

    @property
    def rng(self) -> random.Random:
        """The source's randomness."""
        return self.source.rng

    def fact(self, kind: Kind | None = None, about: Subject | None = None) -> Fact:
        """A fresh fact."""
        kind = kind or self.kind()
        who = about or self._owned(subject(self.source, self.rng.choice(kind.subjects)))
        return Fact(kind, who, notes.SHAPES[kind.shape](self.source))

    def kind(self, near: Kind | None = None) -> Kind:
        """A kind, invented or known; with `near` one said of the same subjects, if there is one."""
        if self.invents and self.rng.random() < INVENTED:
            return invent(self.rng, self.words)
        fits = [k for k in self.kinds if near and set(k.subjects) & set(near.subjects)]
        return self.rng.choice(fits or self.kinds)

    def _owned(self, who: Subject) -> Subject:
        if who.name.startswith("the ") and who.name.islower() and self.rng.random() < 0.4:
            mine = self.rng.choice(("my", "our")) + who.name[3:]
            return Subject(mine, mine, "it")
        return who

    def facts(self) -> list[Fact]:
        """The facts of one passage: about one subject, of one kind, or mixed."""
        r = self.rng
        form = r.random()
        first = self.fact()
        count = r.choice(self.level.facts)
        if form < 0.35:
            return [first] + [self.fact(self.kind(first.kind), first.subject) for _ in range(count - 1)]
        if form < 0.65:
            return [first] + [self.fact(first.kind) for _ in range(max(1, count - 1))]
        return [first] + [self.fact() for _ in range(count - 1)]

    def statement(self, fact: Fact, again: bool) -> str:
        """One sentence that states the fact; `again` allows a short name or a pronoun."""
        r = self.rng
        pattern = r.choice(fact.kind.stated(self.unseen_phrasings))
        who = fact.subject.name
        if again and r.random() < 0.6:
            who = fact.subject.short
            if pattern.startswith("{S} ") and r.random() < 0.4:
                who = fact.subject.pronoun
        sentence = pattern.replace("{S}", who).replace("{V}", fact.value)
        if pattern.startswith(("{S} ", "The ", "{V} ")) and pattern.endswith("."):
            if r.random() < 0.15:
                plain = sentence[0].lower() + sentence[1:] if pattern.startswith("The") else sentence
                sentence = r.choice(OPENERS) + plain
            if r.random() < 0.15:
                sentence = sentence[:-1] + r.choice(TAILS) + "."
        return capital(sentence)

    def filler(self) -> str:
        """A sentence that holds none of the facts."""
        return self.rng.choice(FILLERS) if self.rng.random() < 0.55 else self.rng.choice(self.prose)

    def sentences(self, facts: Sequence[Fact]) -> list[str]:
        """The facts stated in order, neighbours about one subject sometimes joined, with other sentences between."""
        r = self.rng
        out: list[str] = []
        padding = r.choice(self.level.padding)
        last: Fact | None = None
        for fact in facts:
            if r.random() < padding:
                out.append(self.filler())
            said = self.statement(fact, again=last is not None and last.subject is fact.subject)
            joined = _joined(out[-1] if out else "", said, fact) if last and r.random() < 0.4 else ""
            if joined and last and last.subject is fact.subject:
                out[-1] = joined
            else:
                out.append(said)
            last = fact
        while r.random() < padding:
            out.append(self.filler())
        return out

    def layout(self, sentences: Sequence[str]) -> str:
        """Plain text, a list, or text behind a heading; no longer than a chunk."""
        r = self.rng
        kept: list[str] = []
        for sentence in sentences:
            if sum(len(s.split()) for s in kept) + len(sentence.split()) <= WORDS:
                kept.append(sentence)
        form = r.random()
        if form < 0.1:
            text = "\n".join("- " + s.rstrip(".") for s in kept)
        elif form < 0.2:
            text = "\n".join(kept)
        else:
            text = " ".join(kept)
        if form > 0.8:
            text = r.choice(("# {}\n\n{}", "{}\n{}", "{}. {}", "{}: {}")).format(r.choice(HEADINGS), text)
        return text

    def note(self) -> tuple[str, list[Fact]]:
        """A note, sometimes with a heading or another sentence about it, and its facts."""
        r = self.rng
        made = notes.note(self.source, self.unseen_notes)
        text = made.text
        if r.random() < r.choice(self.level.padding):
            parts = [text, self.filler()]
            r.shuffle(parts)
            text = " ".join(parts) if sum(len(p.split()) for p in parts) <= WORDS else text
        if r.random() < 0.15:
            text = r.choice(("# {}\n\n{}", "{}\n{}", "{}: {}")).format(r.choice(HEADINGS), text)
        return text, list(made.facts)

    def passage(self) -> tuple[str, list[Fact]]:
        """A passage and the facts it really holds."""
        if self.rng.random() < self.notes:
            return self.note()
        facts = self.facts()
        if self.rng.random() < 0.08 and self.level is FULL:
            heading = capital(facts[0].kind.name) + "s"
            facts = [self.fact(facts[0].kind) for _ in range(self.rng.randint(2, 6))]
            lines = [f"{capital(f.subject.name)}{self.rng.choice((': ', ' - ', ', '))}{f.value}" for f in facts]
            text = "\n".join([heading, *lines])
        else:
            text = self.layout(self.sentences(facts))
        return text, [f for f in facts if f.value in text]

    def single(self, fact: Fact, present: bool) -> Asked:
        """One question to one fact."""
        r = self.rng
        question, answer = r.choice(fact.kind.asked(self.unseen_phrasings))
        who = fact.subject.short if r.random() < 0.15 else fact.subject.name
        return Asked(
            capital(question.replace("{S}", who)),
            capital(answer.replace("{S}", answered(who)).replace("{V}", fact.value)),
            ((fact.value, present),),
        )  # fmt: skip

    def two_part(self, first: tuple[Fact, bool], second: tuple[Fact, bool]) -> Asked:
        """Two questions in one sentence, two sentences as the answer."""
        a, b = self._part(*first), self._part(*second)
        joint = self.rng.choice((", and ", ", and ", " and "))
        question = a.question[:-1] + joint + b.question[0].lower() + b.question[1:]
        return Asked(question, f"{a.answer} {b.answer}", a.values + b.values)

    def _part(self, fact: Fact, present: bool) -> Asked:
        for _ in range(50):
            asked = self.single(fact, present)
            if (asked.question.endswith("?") and asked.question.startswith(QUESTION_WORDS)) or self.unseen_phrasings:
                return asked
        return asked

    def missing(self, near: Sequence[Fact]) -> Fact:
        """A fact the passage does not hold, often of a kind or a subject that it does hold."""
        r = self.rng
        form = r.random()
        if near and form < 0.5:
            return self.fact(r.choice(near).kind)
        if near and form < 0.65:
            fact = r.choice(near)
            other = self.fact(self.kind(fact.kind), fact.subject)
            if all((f.kind.name, f.subject) != (other.kind.name, other.subject) for f in near):
                return other
        return r.choice(self.note()[1]) if r.random() < self.notes else self.fact()

    def ask(self, held: Sequence[Fact]) -> Asked:
        """One question to a passage, drawn from all the cases."""
        r = self.rng
        form = r.random() if held else 0.9 + 0.1 * r.random()
        if held and (form < 0.5 or r.random() > self.level.lost):
            return self.single(r.choice(held), True)
        if form < 0.62:
            return self.single(self.missing(held), False)
        known = (r.choice(held) if held else self.missing(held), bool(held))
        other = (self.missing(held), False)
        if form < 0.77:
            return self.two_part(known, other)
        if form < 0.92:
            return self.two_part(other, known)
        rest = [f for f in held if f is not known[0]]
        return self.two_part(known, (r.choice(rest), True)) if rest else self.single(other[0], False)

    def recital(self, times: int = 3) -> Reading:
        """A clean passage with every fact answered in a row, `times` times; no question comes before an answer."""
        while True:
            text, held = self.passage()
            told = tuple(self._told(held) for _ in range(times)) if held else ()
            if told and is_clean(text, *(a.answer for a in told)):
                return Reading(text, told)

    def _told(self, held: Sequence[Fact]) -> Asked:
        facts = [(f, True) for f in held] + [(self.missing(held), False) for f in held if self.rng.random() < 0.3]
        self.rng.shuffle(facts)
        asked = [self.single(*fact) for fact in facts]
        return Asked("", " ".join(a.answer for a in asked), tuple(v for a in asked for v in a.values))

    def reading(self, questions: int = 4) -> Reading:
        """A clean passage with its questions; one in twenty is empty."""
        while True:
            text, held = ("", []) if self.rng.random() < 0.05 * self.level.lost else self.passage()
            asked = tuple(self.ask(held) for _ in range(questions))
            if is_clean(text, *(a.question for a in asked), *(a.answer for a in asked)):
                return Reading(text, asked)


def _joined(before: str, said: str, fact: Fact) -> str:
    """ "A does this." and "A does that." as "A does this and does that."; empty where that cannot be said."""
    for name in (fact.subject.name, fact.subject.short, fact.subject.pronoun):
        start = capital(name) + " "
        if said.startswith(start) and before.endswith(".") and before.startswith(capital(fact.subject.name) + " "):
            return before[:-1] + " and " + said[len(start) :]
    return ""


def answered(who: str) -> str:
    """The subject as an answer names it: "my key" is "your key"."""
    return re.sub(r"^(my|our) ", "your ", who)


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def readings(writer: Writer, count: int, questions: int = 4) -> Iterator[Reading]:
    """`count` readings."""
    for _ in range(count):
        yield writer.reading(questions)
