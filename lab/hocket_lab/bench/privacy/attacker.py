"""`hocket bench attacker`: what somebody learns of a secret who knows all but it, beside what the account has counted.

The attacker knows the model, the documents up to one secret in each, 16 values that it may have, the bounds, and every
word that is told. It asks its own questions, again and again, and computes exactly how likely each value makes what it
has observed, by the device's own law: a word at a time, as the device draws them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import log2
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from hocket_bus.messages import Sampling
from hocket_daemon.aggregation.settings import COUNTED_TEMPERATURE, AggregationSettings
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.runtime.drafts_of import room_of
from hocket_daemon.engine.runtime.sequences import SequenceGroup
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_daemon.engine.sampling.heads import Heads, Probabilities, contrast_of
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_daemon.engine.text.counted_word import CountedWordDraw
from hocket_daemon.engine.text.word_draw import Ids, WordDraw
from hocket_daemon.engine.text.word_tokens import WordTokens
from hocket_daemon.engine.text.words import END, word_of
from hocket_daemon.privacy.disclosure_account import DisclosureAccount, DisclosureBounds
from hocket_daemon.serving.session_account import SessionAccount
from hocket_lab.bench.privacy.canaries import canaries
from hocket_lab.forcing import read_at_once, rows_behind
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.picture import draw
from hocket_lab.reporting.report import Report, Row

VALUES = 16
PRIOR_BITS = log2(VALUES)
SECRET = "letter"  # the document's name; no attacker asks for that
LEARNT = f"bits learnt of {PRIOR_BITS:g}"
PUBLIC = "known noise"
_LEAST = 1e-300


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark."""

    model: Annotated[str, Option("The device's model.")] = BUNDLED
    secrets: Annotated[int, Option("Documents of each kind, with a secret each.", min=1)] = 4
    values: Annotated[int, Option("True values of each secret that are tried.", min=1, max=VALUES)] = 6
    questions: Annotated[int, Option("Questions about each secret.", min=1)] = 6
    words: Annotated[int, Option("Longest answer, in words.", min=1)] = 12
    bits: Annotated[Sequence[float], Option("Bounds for each document; 0: none.", min=0)] = (1.0, 4.0, 10.0, 40.0, 0.0)
    seed: Annotated[int, Option("Chooses secrets and draws.", min=0)] = 0


class Kind(NamedTuple):
    """A kind of secret: a text that has it in place of {}, how to ask for it, and 16 values."""

    name: str
    text: str
    questions: tuple[str, ...]
    values: list[str]


def kinds(random_: random.Random) -> Iterator[Kind]:
    """Return codes of 4, 6 and 8 digits, a name, and a sentence, newly made up."""
    about = ("What is the code of the {}?", "Which digits open the {}?", "Tell me the code of the {}, please.")
    things = ("archive's door", "boat house", "wine cellar", "garden gate", "old safe", "tool shed", "office", "attic")
    for digits in (4, 6, 8):
        thing = random_.choice(things)
        codes = [str(code) for code in random_.sample(range(10 ** (digits - 1), 10**digits), VALUES)]
        yield Kind(f"{digits} digits", f"The code of the {thing} is {{}}. Tell nobody.", _asked(about, thing), codes)
    made_up = canaries(4 * VALUES, random_.randrange(1 << 30))
    names = [one.text.split(" keeps ")[0] for one in made_up if " keeps " in one.text]
    about = ("Who inherits the {}?", "Whose will the {} be?", "Name the heir of the {}.")
    thing = random_.choice(things)
    yield Kind("a name", f"The {thing} goes to {{}} when I die.", _asked(about, thing), names[:VALUES])
    about = ("What does the {} say?", "Quote the {}.", "What is written in the {}?")
    sentences = [one.text for one in made_up[:VALUES]]
    yield Kind("a sentence", "My diary says: {}", _asked(about, "diary"), sentences)


def _asked(questions: Sequence[str], thing: str) -> tuple[str, ...]:
    return tuple(question.format(thing) for question in questions)


class Witness(CountedWordDraw):
    """A draw of a word, or the replay of one that somebody observed, with the logarithm of its probability."""

    replayed: Sequence[int] | None = None  # the tokens that were drawn
    drawn: list[int]
    bits = 0.0  # -log2 of how likely what can be observed of it is

    def _choose(self, ids: Ids, chances: Probabilities) -> int:
        if len(self.ids) == 0:
            self.drawn, self.bits = [], 0.0
        at = super()._choose(ids, chances) if self.replayed is None else self.replayed[len(self.drawn)]
        self.drawn.append(at)
        self.bits -= log2(max(float(chances[at]), _LEAST))
        self._last = float(chances[at])
        return at

    def _note_end(self, rows: Probabilities, at: int, behind: Probabilities, weights: Sequence[float]) -> None:
        """Count the end of the word in place of the token that showed it, which nobody hears."""
        self.bits += log2(max(self._last, _LEAST)) - log2(max(float(behind.sum()), _LEAST))
        super()._note_end(rows, at, behind, weights)


@dataclass
class Trial:
    """A secret of one true value, with a bound: what has been observed, and what each value would have been charged."""

    true: int
    bits: float
    accounts: list[DisclosureAccount] = field(default_factory=list)
    surprise: NDArray[np.float64] = field(default_factory=lambda: np.zeros(VALUES))  # -log2 P(observed | value)

    def __post_init__(self) -> None:
        self.accounts = [DisclosureAccount(None, DisclosureBounds(self.bits)) for _ in range(VALUES)]

    @property
    def learned(self) -> float:
        """The bits by which the true value is likelier than before, by Bayes."""
        likelihoods = np.exp2(self.surprise.min() - self.surprise)
        return PRIOR_BITS + log2(max(float(likelihoods[self.true] / likelihoods.sum()), _LEAST))

    @property
    def charged(self) -> float:
        """The bits in the account of the device."""
        return sum(each.bits for each in self.accounts[self.true].entries())


class Attack:
    """A secret's rows, one for each value and the question's alone, behind any tokens."""

    def __init__(self, model: LanguageModel, kind: Kind, settings: Settings) -> None:
        """Read a kind's documents for each of its questions."""
        self._model, self._kind, self._settings = model, kind, settings
        self._contrast = AggregationSettings().contrast
        assert model.word_tokens is not None
        self._tokens: WordTokens = model.word_tokens

    def ask(self, question: str, trials: Sequence[Trial], uniform: random.Random) -> None:
        """Answer a question in every trial, and let the attacker hear it."""
        texts = [self._kind.text.format(value) for value in self._kind.values]
        room = room_of("word", Sampling(max_tokens=4 * self._settings.words))
        group = read_at_once(self._model, question, texts, task="answer", room=room, alone=True)
        try:
            rows = ValueRows(group)
            for trial in trials:
                self._answer(rows, trial, uniform)
        finally:
            group.close()

    def _answer(self, rows: ValueRows, trial: Trial, uniform: random.Random) -> None:
        sessions = [SessionAccount(account, "attacker") for account in trial.accounts]
        for session in sessions:
            session.read([SECRET])
        numbers = list[int]()
        while len(numbers) < self._settings.words and not (numbers and word_of(numbers[-1]) == END):
            observed = self.word(rows, numbers, trial.true, sessions[trial.true], uniform=uniform)
            for value, session in enumerate(sessions):
                replayed = observed
                if value != trial.true:
                    replayed = self.word(rows, numbers, value, session, uniform=uniform, replayed=observed.drawn)
                trial.surprise[value] += replayed.bits
                session.confirm(len(numbers), own=True)
            numbers.append(observed.word)
        for session in sessions:
            session.close()

    def word(
        self,
        rows: ValueRows,
        numbers: list[int],
        value: int,
        session: SessionAccount,
        *,
        uniform: random.Random,
        replayed: list[int] | None = None,
    ) -> Observed:
        """Draw the word behind `numbers` as the device does if the secret is `value`, or replay one."""
        tokens, before = self._tokens, word_of(numbers[-1]) if numbers else None
        rule = Rule(0, COUNTED_TEMPERATURE, 1.0)
        draw = Witness(tokens, rule, len(numbers), before, session, ends=True, uniform=uniform.random)
        draw.replayed = replayed
        base, found = tokens.tokens(numbers), None
        while found is None:
            ids = [*base, *draw.ids]
            contrast = contrast_of(self._contrast, self._model.eos, 1, len(ids))
            found = draw.add(rows.of(ids, value), [1.0], contrast)
        return Observed(found.distribution.word, draw.drawn, draw.bits)


class Observed(NamedTuple):
    """A word by its number, the tokens by which it was drawn, and -log2 of its probability."""

    word: int
    drawn: list[int]
    bits: float


class ValueRows:
    """The rows of a group, decoded once behind each sequence of tokens."""

    def __init__(self, group: SequenceGroup) -> None:
        self._group = group
        self._found: dict[tuple[int, ...], Probabilities] = {}

    def of(self, ids: list[int], value: int) -> Heads:
        """Return the row of a value, and that of the question alone."""
        key = tuple(ids)
        if key not in self._found:
            self._found[key] = rows_behind(self._group, ids)
        table = self._found[key]
        return Heads(np.stack([table[value], table[-1]]).astype(np.float32))


def consistent(model: LanguageModel, kind: Kind, settings: Settings, true: Sequence[int]) -> list[float]:
    """Return the bits that are learnt where words are drawn by noise that the attacker knows: one may be a proof."""
    texts = [kind.text.format(value) for value in kind.values]
    room = room_of("word", Sampling(max_tokens=4 * settings.words))
    left = {value: set(range(VALUES)) for value in true}
    for number in range(settings.questions):
        question = kind.questions[number % len(kind.questions)]
        group = read_at_once(model, question, texts, task="answer", room=room, alone=True)
        try:
            rows, rule = ValueRows(group), Rule(number, COUNTED_TEMPERATURE, 1.0)
            for value in true:
                _rule_out(model, rows, value, left[value], rule=rule, words=settings.words)
        finally:
            group.close()
    return [log2(VALUES / len(values)) for values in left.values()]


def _rule_out(model: LanguageModel, rows: ValueRows, true: int, left: set[int], *, rule: Rule, words: int) -> None:
    """Strike out the values by which another word would have been drawn."""
    strength, mass = AggregationSettings().contrast, AggregationSettings().wire_mass
    tokens, numbers = model.word_tokens, list[int]()
    assert tokens is not None
    while len(numbers) < words and not (numbers and word_of(numbers[-1]) == END):
        drawn = dict[int, int]()
        for value in sorted(left | {true}):
            before = word_of(numbers[-1]) if numbers else None
            draw, found = WordDraw(tokens, rule, len(numbers), before, mass=mass, ends=True), None
            while found is None:
                ids = [*tokens.tokens(numbers), *draw.ids]
                found = draw.add(rows.of(ids, value), [1.0], contrast_of(strength, model.eos, 1, len(ids)))
            drawn[value] = found.distribution.word
        left -= {value for value, word in drawn.items() if word != drawn[true]}
        numbers.append(drawn[true])


def run(settings: Settings, json_path: Path | None) -> bool:
    """Attack every secret with every bound; tells whether no claim misses."""
    report = Report(asdict(settings), json_path)
    slots = max(VALUES + 1, ModelSettings().slots)
    model = open_model(ModelSettings(name=settings.model, slots=slots, context=1024), "device")
    made = random.Random(settings.seed)
    cases = [(number, kind) for number in range(settings.secrets) for kind in kinds(made)]
    for number, kind in track(cases, "attacked"):
        if report.find(kind=kind.name, secret=number) is None:
            report.extend(list(_attacked(model, kind, number, settings)))
    report.summary = summed(report.rows)
    _claim(report)
    if json_path is not None:
        _draw(json_path.with_suffix(".png"), report.rows)
    return report.finish()


def _attacked(model: LanguageModel, kind: Kind, number: int, settings: Settings) -> Iterator[Row]:
    uniform = random.Random(settings.seed * 1_000 + number)
    true = uniform.sample(range(VALUES), settings.values)
    trials = [Trial(value, bits) for bits in settings.bits for value in true]
    attack = Attack(model, kind, settings)
    for asked in range(settings.questions):
        attack.ask(kind.questions[asked % len(kind.questions)], trials, uniform)
    for trial in trials:
        yield {
            "kind": kind.name,
            "secret": number,
            "way": way_of(trial.bits),
            "bound": trial.bits,
            "learned": round(trial.learned, 4),
            "charged": round(trial.charged, 4),
        }
    for learned in consistent(model, kind, settings, true):
        yield {"kind": kind.name, "secret": number, "way": PUBLIC, "bound": None, "learned": learned, "charged": None}


def way_of(bits: float) -> str:
    """Return the name of a bound."""
    return f"{bits:g} {'bit' if bits == 1 else 'bits'}" if bits else "no bound"


def summed(rows: Sequence[Row]) -> list[Row]:
    """Return the means of every way, with 95 % intervals of what is learnt, the widest bound last."""
    ways: Mapping[str, list[Row]] = {way: [row for row in rows if row["way"] == way] for way in _ways(rows)}
    return [_mean(way, mine) for way, mine in ways.items()]


def _ways(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["way"]) for row in rows))


def _mean(way: str, rows: Sequence[Row]) -> Row:
    learned = [float(row["learned"] or 0.0) for row in rows]
    charged = [float(row["charged"]) for row in rows if row["charged"] is not None]
    half = 1.96 * stdev(learned) / len(learned) ** 0.5 if len(learned) > 1 else float("inf")
    found = sum(each > PRIOR_BITS - 1 for each in learned)
    return {
        "way": way,
        "secrets": len(rows),
        "bits learnt": round(fmean(learned), 3),
        "± 95 %": round(half, 3) if half < float("inf") else None,
        "bits charged": round(fmean(charged), 3) if charged else None,
        "likelier than all others": found,
    }


def _draw(png: Path, rows: Sequence[Row]) -> None:
    """Draw what is learnt of each kind of secret, by what may leave of its document, beside the most that may be."""
    bars = list[Row]()
    for way in _ways(rows):
        mine = [row for row in rows if row["way"] == way]
        most = min([PRIOR_BITS, *(float(row["bound"]) for row in mine if row["bound"])])
        bars.append({"way": way, "of": "at most", LEARNT: most, "low": most, "high": most})
        for kind in dict.fromkeys(str(row["kind"]) for row in mine):
            mean = _mean(kind, [row for row in mine if row["kind"] == kind])
            learned, half = float(mean["bits learnt"] or 0.0), float(mean["± 95 %"] or 0.0)
            bars.append({"way": way, "of": kind, LEARNT: learned, "low": learned - half, "high": learned + half})
    title = "What somebody learns of a secret who knows all else, by the bits of its document that may leave"
    draw(png, bars, "way", LEARNT, "of", title=title, interval=("low", "high"))


def _claim(report: Report) -> None:
    report.claims.clear()
    for row in report.summary:
        if row["bits charged"] is not None:
            learned, charged = float(row["bits learnt"] or 0.0), float(row["bits charged"])
            slack = float(row["± 95 %"] or PRIOR_BITS)
            report.claim(f"{row['way']}: bits learnt", f"<= {charged:g}", learned, learned - slack <= charged)
