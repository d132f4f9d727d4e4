"""From the tables of kinds to sentence patterns: how a fact is stated, asked for and answered.

Patterns hold {S} subject as stated, {V} value with its unit. In questions and answers {S} is the subject as asked.
The answer is a function of the question alone (it repeats the question's own words), so that two models that see
different passages still agree on everything but the value. The last pattern of each list is held out of training.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from kinds import COUNTS, MAKERS, NOUNS, VERBS
from subjects import Subject

PREPOSITIONS = {"in", "from", "as", "of", "to", "for", "at", "on", "under", "with", "about", "by", "platform"}
INDIRECT = (
    "Do you know {}?", "Can you tell me {}?", "Tell me {}.", "I would like to know {}.", "Could you look up {}?",
    "Remind me {}.", "I forgot {}.", "Does anybody know {}?", "Please find out {}.", "I wonder {}.",
)  # fmt: skip
NOUN_STATEMENTS = (
    "The {N} of {S} is {V}.", "{S}'s {N} is {V}.", "{V} is the {N} of {S}.", "{S} has the {N} {V}.",
    "{S}: {N} {V}.", "{N} of {S}: {V}.", "For {S} the {N} is {V}.", "The {N} for {S} is {V}.",
    "{S} has {V} as {N}.", "When it comes to {S}, the {N} is {V}.", "{S}, {N} {V}.", "We have {V} as the {N} of {S}.",
    "The {N} of {S} has changed to {V}.", "{S} (the {N} is {V}).", "{S} gave {V} as {N}.",
    "{N} {V}: this belongs to {S}.", "{S}, whose {N} is {V}, was mentioned again.",
    "The {N} that goes with {S} is {V}.",
)  # fmt: skip
NOUN_QUESTIONS = (
    "What is the {N} of {S}?", "What is {S}'s {N}?", "What {N} does {S} have?", "Which {N} does {S} have?",
    "Which {N} belongs to {S}?", "Can you tell me the {N} of {S}?", "Do you know {S}'s {N}?",
    "I need the {N} of {S}.", "What is the {N} for {S}?", "What is given as the {N} of {S}?", "Which {N} has {S}?",
    "Please give me the {N} of {S}.", "Could you look up the {N} of {S}?", "Remind me of the {N} of {S}.",
    "Which is the {N} of {S}?", "What do the notes say about the {N} of {S}?", "Have you got the {N} of {S}?",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """One kind of fact with all its patterns; `questions` pairs a question with its answer."""

    name: str
    subjects: tuple[str, ...]
    shape: str
    held_out: bool
    statements: tuple[str, ...]
    questions: tuple[tuple[str, str], ...]

    def stated(self, unseen: bool) -> tuple[str, ...]:
        """Statement patterns of training, or the held-out one."""
        return self.statements[-1:] if unseen else self.statements[:-1]

    def asked(self, unseen: bool) -> tuple[tuple[str, str], ...]:
        """Question patterns of training, or the held-out one."""
        return self.questions[-1:] if unseen else self.questions[:-1]


@dataclass(frozen=True)
class Fact:
    """One kind of fact about one subject, with its value."""

    kind: Kind
    subject: Subject
    value: str


def _rows(table: str) -> Iterator[tuple[bool, list[str]]]:
    for line in table.strip().splitlines():
        cells = [cell.strip() for cell in line.lstrip("*").split(";")]
        yield line.startswith("*"), cells


def _with_unit(patterns: tuple[str, ...], unit: str) -> tuple[str, ...]:
    return tuple(p.replace("{V}", f"{{V}} {unit}") for p in patterns) if unit else patterns


def noun_kind(held: bool, cells: list[str]) -> Kind:
    """A row of NOUNS."""
    nouns = cells[1].split(", ")
    unit = cells[3] if len(cells) > 3 else ""
    questions = list(NOUN_QUESTIONS)
    if cells[2] == "person":
        questions[2:4] = ["Who is the {N} of {S}?", "Who is {S}'s {N}?", "What is the name of the {N} of {S}?"]
    elif cells[2] in {"date", "moment", "clock"}:
        questions[2:3] = ["When is the {N} of {S}?"]
    elif unit:
        questions[2:2] = [f"How many {unit} is the {{N}} of {{S}}?"]
    answer = _with_unit(("The {N} of {S} is {V}.",), unit)[0]
    stated = _with_unit(NOUN_STATEMENTS, unit)
    return Kind(
        nouns[0], tuple(cells[0].split(",")), cells[2], held,
        tuple(p.replace("{N}", n) for p in stated for n in nouns),
        tuple((q.replace("{N}", n), answer.replace("{N}", n)) for q in questions for n in nouns),
    )  # fmt: skip


def _split_preposition(base: str) -> tuple[str, str]:
    words = base.split()
    if words and words[-1] in PREPOSITIONS and words[-1] != "platform":
        return " ".join(words[:-1]), words[-1]
    return base, ""


def _verb_statements(stated: list[str], adverb: str) -> tuple[str, ...]:
    forms: list[str] = []
    for verb in stated:
        forms += [f"{{S}} {verb} {{V}}."] * 3
        forms += [f"{{S}}: {verb} {{V}}.", f"{{S}}, as we know, {verb} {{V}}.", f"{{V}} is what {{S}} {verb}."]
        forms += [f"{{S}} still {verb} {{V}}." if not adverb else f"{{S}} {verb} {{V}} and nowhere else."]
        forms += [f"Now {{S}} {verb} {{V}}."]
    return (*forms, f"As for {{S}}, the truth is simple: {stated[0]} {{V}}.")


def _direct(aux: str, base: str, stated: str, adverb: str, categories: list[str]) -> list[str]:
    stem, preposition = _split_preposition(base)
    words = [adverb.capitalize()] if adverb in {"where", "when"} else []
    asked = [f"{w} {aux} {{S}} {stem}?" for w in words]
    if adverb == "when" and "time" in categories:
        asked += [f"{w} {aux} {{S}} {stem}?" for w in ("At what time", "What time", "How late")]
    if adverb == "-":
        asked += [f"What {aux} {{S}} {base}?", f"What is it that {{S}} {stated}?", f"{{S}} {stated} what?"]
    if adverb == "who":
        asked += [f"Who {aux} {{S}} {base}?", f"Whom {aux} {{S}} {base}?", f"{{S}} {stated} whom?"]
    for c in categories:
        asked += [f"Which {c} {aux} {{S}} {base}?", f"What {c} {aux} {{S}} {base}?", f"What is the {c} {{S}} {stated}?"]
        if preposition:
            asked += [f"{preposition.capitalize()} {w} {c} {aux} {{S}} {stem}?" for w in ("which", "what")]
    return [q.replace(" ?", "?") for q in asked]


def _indirect(stated: str, adverb: str, categories: list[str]) -> list[str]:
    stem, preposition = _split_preposition(stated)
    clauses = [f"{adverb} {{S}} {stem}"] if adverb in {"where", "when"} else [f"what {{S}} {stated}"]
    if adverb == "who":
        clauses = [f"who {{S}} {stated}"]
    for c in categories:
        clauses.append(f"{preposition} which {c} {{S}} {stem}" if preposition else f"which {c} {{S}} {stated}")
    return [form.format(clause) for form in INDIRECT for clause in clauses]


def verb_kind(held: bool, cells: list[str]) -> Kind:
    """A row of VERBS."""
    subjects, aux, base, stated, shape, adverb, cats = cells
    categories = [] if cats == "-" else cats.split(", ")
    forms = stated.split(", ")
    article = "the " if shape.startswith("the ") else ""
    answer = f"{{S}} {forms[0]} {article}{{V}}."
    asked = _direct(aux, base, forms[0], adverb, categories) * 2 + _indirect(forms[0], adverb, categories)
    statements = tuple(p.replace("{V}", article + "{V}") for p in _verb_statements(forms, adverb.strip("-")))
    last = f"What can be said about {adverb.replace('-', 'what')} {{S}} {forms[0]}?"
    return Kind(
        f"{forms[0]} {shape}", tuple(subjects.split(",")), shape.removeprefix("the "), held, statements,
        (*((q, answer) for q in asked), (last, answer)),
    )  # fmt: skip


def _plain(unit: str) -> str:
    """ "metres high" measures metres."""
    return unit.split(maxsplit=1)[0] if unit.endswith((" high", " deep", " long", " old")) else unit


def count_kind(held: bool, cells: list[str]) -> Kind:
    """A row of COUNTS."""
    subjects, aux, base, stated, shape, unit, how = cells[:7]
    measure = cells[7] if len(cells) > 7 and cells[7] != "-" else ""
    forms = stated.split(", ")
    answer = f"{{S}} {forms[0]} {{V}} {unit}."
    asked = [f"How many {unit} {aux} {{S}} {base}?".replace(" ?", "?")] * 3
    if how != "-":
        asked += [f"{how.capitalize()} {aux} {{S}} {base}?".replace(" ?", "?")] * 3
        asked += [form.format(f"{how} {{S}} {forms[0]}") for form in INDIRECT]
    asked += [form.format(f"how many {unit} {{S}} {forms[0]}") for form in INDIRECT]
    pairs = [(q, answer) for q in asked]
    if measure:
        named = f"The {measure} of {{S}} is {{V}} {_plain(unit)}."
        pairs += [(q.replace("{N}", measure), named) for q in NOUN_QUESTIONS[:-1]]
    shapes = ("{S} % {V}", "{S} % about {V}", "{S}: {V}", "{S} % exactly {V}", "Now {S} % {V}")
    statements = [f"{p.replace('%', verb)} {unit}." for verb in forms for p in shapes]
    if measure:
        statements += list(_with_unit(tuple(p.replace("{N}", measure) for p in NOUN_STATEMENTS[:12]), _plain(unit)))
    return Kind(
        f"{forms[0]} {unit}", tuple(subjects.split(",")), shape, held,
        (*statements, f"Count {{V}} {unit} for {{S}}."),
        (*pairs, (f"What is the number of {unit} that {{S}} {forms[0]}?", answer)),
    )  # fmt: skip


def maker_kind(held: bool, cells: list[str]) -> Kind:
    """A row of MAKERS."""
    subjects, participle, past, noun = cells
    aux = "is" if past.endswith("s") else "was"
    answer = f"{{S}} {aux} {participle} by {{V}}."
    named = f"The {noun} of {{S}} is {{V}}."
    asked = [f"Who {past} {{S}}?"] * 4 + [
        f"By whom {aux} {{S}} {participle}?", f"Who {aux} {{S}} {participle} by?", f"Which person {past} {{S}}?",
        f"What is the name of the person who {past} {{S}}?", f"Who was it that {past} {{S}}?",
        *(form.format(f"who {past} {{S}}") for form in INDIRECT),
    ]  # fmt: skip
    nouns = [f"Who is the {noun} of {{S}}?"] * 2 + [q.replace("{N}", noun) for q in NOUN_QUESTIONS[:8]]
    statements = (
        f"{{S}} {aux} {participle} by {{V}}.", f"{{V}} {past} {{S}}.", f"It was {{V}} who {past} {{S}}.",
        f"{{S}}, {participle} by {{V}}, is still talked about.", f"The one who {past} {{S}} is {{V}}.",
        f"{{S}} ({participle} by {{V}}) was mentioned too.", f"{{V}} is the {noun} of {{S}}.",
        f"The {noun} of {{S}} is {{V}}.", f"{{S}}: {participle} by {{V}}.", f"We owe {{S}} to {{V}}, the {noun}.",
    )  # fmt: skip
    last = f"Whose work is it that {{S}} {aux} {participle}?"
    return Kind(
        f"{participle} by", tuple(subjects.split(",")), "person", held, statements,
        (*((q, answer) for q in asked), *((q, named) for q in nouns), (last, answer)),
    )  # fmt: skip


@cache
def all_kinds() -> tuple[Kind, ...]:
    """Every kind of every table."""
    tables = ((NOUNS, noun_kind), (VERBS, verb_kind), (COUNTS, count_kind), (MAKERS, maker_kind))
    return tuple(make(held, cells) for table, make in tables for held, cells in _rows(table))
