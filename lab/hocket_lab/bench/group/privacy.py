"""Sentences of a member that a curious leader can rebuild, by the bound of the member's drafts.

The member has read made-up sentences (canaries.py). The leader asks about each and chooses every token of the answer,
since it aggregates alone. It reads every draft whole, in one of two ways:

- likeliest: the token that the draft makes likeliest;
- raised: it has the same model, so it knows what the question alone gives. Of the tokens that the draft raises as far
  as the bound lets it, it takes the likeliest.

It follows what it reads, or (forced) it has the sentence so far from elsewhere and sees whether the draft tells how it
goes on. It never chooses an end of the answer. Both are compared with what the question alone tells it of the
sentences.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import fmean

import numpy as np
from rich.progress import track

from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_daemon.engine.sampling.heads import made
from hocket_daemon.engine.text.tokenizer import Worded
from hocket_lab.bench.group.model import opened
from hocket_lab.bench.parties.parties import Parties, Scores, Step, Texts, Writing
from hocket_lab.bench.privacy import leaks
from hocket_lab.bench.privacy.canaries import Canary, canaries, documents, grams
from hocket_lab.bench.questions.wording import words
from hocket_lab.bench.running.product import DOCUMENTS
from hocket_lab.reporting.report import Report, Row, bootstrap
from hocket_retrieval.collection import Collection
from hocket_tools import console
from hocket_tools.embedding import RememberingEmbedder

LIKELIEST, RAISED, NOTHING = "likeliest", "raised", "question alone"
COLUMNS = ("bits", "reads", "forced", "sentences", "five_words", "low", "high", "whole", "runs", "runs_of_5", "chance")
AT_ONCE = 8
_CONTROL = 1  # added to the seed: sentences that nobody read
_RAISED_TO = 0.9  # of what the bound lets a draft raise a token: counts are rounded
_NO_BITS = 2.0**-30  # such a draft is what the question alone gives
_NO_RULE = Rule(seed=0, temperature=0.0, top_p=1.0)  # the leader chooses

Reader = Callable[[Distribution, Distribution], int]  # of a draft, and of what the question alone gives


@dataclass(frozen=True)
class How:
    """Settings: number of sentences, the member's bounds (0: none), the model, its dtype, and the longest answer."""

    canaries: int
    bits: Sequence[float]
    model: str
    dtype: str
    tokens: int
    seed: int


@dataclass
class Had:
    """The leader's knowledge of one sentence: texts that it has read, and every draft with its guess."""

    answer: list[int] = field(default_factory=list)
    guesses: list[leaks.Guess] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


class Led(Parties):
    """A member whose drafts are within `most_bits` of the question alone, and a leader that chooses every token."""

    def __init__(self, model: LanguageModel, scores: Scores, tokens: int, most_bits: float, reader: Reader) -> None:
        super().__init__([model], scores, tokens, most_bits=most_bits)
        self._reader = reader
        self._forced: dict[str, list[int]] = {}
        self._guesses: dict[str, list[leaks.Guess]] = {}

    def followed(self, asked: Sequence[tuple[str, Texts]]) -> list[Had]:
        """Return what the leader has, by question and the member's passages, if answers follow the leader's reading."""
        answers = [[step.token for step in steps] for steps in self._led(asked, [])]
        texts = [self._models[0].text(ids) for ids in answers]
        return [
            Had(ids, self._guesses[question], [text])
            for (question, _), ids, text in zip(asked, answers, texts, strict=True)
        ]

    def forced(self, asked: Sequence[tuple[str, Texts]], sentences: Sequence[list[int]]) -> list[Had]:
        """Return what the leader would have read, in pieces, of the sentences looked for, if these are the answers."""
        end = min(self._models[0].eos)
        self._led(asked, [[*ids, end] for ids in sentences])
        found = []
        for (question, _), ids in zip(asked, sentences, strict=True):
            guesses = self._guesses[question][: len(ids)]
            right = zip([guess.token == token for guess, token in zip(guesses, ids, strict=True)], ids, strict=True)
            fragments = [[token for _, token in run] for is_right, run in groupby(right, itemgetter(0)) if is_right]
            found.append(Had([], guesses, [self._models[0].text(piece) for piece in fragments]))
        return found

    def _led(self, asked: Sequence[tuple[str, Texts]], forced: Sequence[list[int]]) -> list[list[Step]]:
        self._forced = {question: ids for (question, _), ids in zip(asked, forced, strict=False)}
        self._guesses = {question: [] for question, _ in asked}
        return self.answers([(question, [texts]) for question, texts in asked], [_NO_RULE] * len(asked))

    def _bits(self, party: int) -> float:  # noqa: ARG002 - there is one
        return self._most_bits

    def _step(self, open: list[Writing]) -> None:
        model = self._models[0]
        segments = [one.groups[0].roll_back(one.ids) for one in open]
        rows = model.read(segments) if open[0].ids else [None] * len(open)
        for one, read in zip(open, rows, strict=True):
            heads = one.groups[0].take(one.ids, read)
            draft = self._draft(0, one, one.ids, heads)
            alone = made(heads.at(len(heads) - 1), [], self._settings.wire_mass).distribution
            guess = self._reader(_without(draft.distribution, list(model.eos)), alone)
            self._guesses[one.question].append(leaks.Guess(tuple(one.ids), guess, draft.distribution))
            forced = self._forced.get(one.question)
            one.steps.append(Step(guess if forced is None else forced[len(one.ids)], (draft,)))


def likeliest(draft: Distribution, _: Distribution) -> int:
    """Return the token that a draft makes likeliest."""
    return int(draft.ids[draft.counts.argmax()])


def raised(bits: float) -> Reader:
    """Return a reader of drafts within `bits`: the likeliest token of those raised as far as may be, or else of all."""

    def read(draft: Distribution, alone: Distribution) -> int:
        before = np.array([alone.of(int(token)) for token in draft.ids])
        up = draft.probabilities >= _RAISED_TO * 2.0**bits * before
        counts = np.where(up, draft.counts, 0) if up.any() else draft.counts
        return int(draft.ids[counts.argmax()])

    return read


def measure(report: Report, how: How) -> None:
    """Add a row for each bound and each way of reading, both for answers that follow it and for forced ones."""
    bounds = [(bits, reads) for bits in how.bits for reads in ((LIKELIEST, RAISED) if bits else (LIKELIEST,))]
    wanted: list[tuple[float | None, str]] = [(None, NOTHING), *bounds]
    missing = [key for key in wanted if report.find(bits=key[0], reads=key[1], forced=True) is None]
    if not missing:
        return
    private = canaries(how.canaries, how.seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hocket-group-")))
        collection = stack.enter_context(Collection(folder, RememberingEmbedder()))
        collection.add((name, "", text) for name, text in documents(private).items())
        model = stack.enter_context(opened(how.model, how.dtype, AT_ONCE * (DOCUMENTS + 1)))
        asked = [
            (one.question, [each.text for each in collection.search(one.question, DOCUMENTS).passages])
            for one in private
        ]
        longest = 1 + max(len(_ids(model, one.text)) for one in private)
        for bits, reads in missing:
            reader = raised(bits or 0.0) if reads == RAISED else likeliest
            most_bits = _NO_BITS if bits is None else bits
            for forced in (False, True):
                led = Led(model, collection.weigh, longest if forced else how.tokens, most_bits, reader)
                had = _had(led, model, private, asked, forced=forced)
                report.add({"bits": bits, "reads": reads, "forced": forced, **counted(model, private, had, how)})


def _had(
    led: Led, model: LanguageModel, private: Sequence[Canary], asked: Sequence[tuple[str, Texts]], *, forced: bool
) -> list[Had]:
    found = []
    starts = range(0, len(asked), AT_ONCE)
    for first in track(starts, "reading", console=console.err(), transient=True):
        some = slice(first, first + AT_ONCE)
        if forced:
            found += led.forced(asked[some], [_ids(model, one.text) for one in private[some]])
        else:
            found += led.followed(asked[some])
    return found


def _ids(model: LanguageModel, text: str) -> list[int]:
    """Return the ids of a text as an answer's tokens: after a space."""
    assert isinstance(model, Worded)
    return list(model.tokenizer(f" {text}", add_special_tokens=False)["input_ids"])


def counted(model: LanguageModel, private: Sequence[Canary], had: Sequence[Had], how: How) -> Row:
    """Return the shares of sentences read in five words in a row or whole, and of their own runs of three tokens."""
    spoken = [set().union(*map(grams, one.texts)) for one in had]
    five = [float(not grams(canary.text).isdisjoint(read)) for canary, read in zip(private, spoken, strict=True)]
    whole = [_has_whole(one.texts, canary.text) for canary, one in zip(private, had, strict=True)]
    others = canaries(how.canaries, how.seed + _CONTROL)
    own = leaks.own_runs([_ids(model, one.text) for one in (*private, *others)])
    halves = {True: (own[: len(private)], private), False: (own[len(private) :], others)}

    def runs(likeliest: int, *, real: bool) -> float:
        wanted, sentences = halves[real]
        behind = leaks.continuations(had, [_ids(model, one.question) for one in sentences], likeliest)
        return fmean(leaks.rebuilt(each, behind) for each in wanted)

    low, high = bootstrap(five)
    return {
        "sentences": len(private),
        "five_words": fmean(five),
        "low": low,
        "high": high,
        "whole": fmean(whole),
        "runs": runs(0, real=True),
        "runs_of_5": runs(5, real=True),
        "chance": runs(0, real=False),
    }


def _has_whole(texts: Sequence[str], sentence: str) -> bool:
    return any(f" {' '.join(words(sentence))} " in f" {' '.join(words(text))} " for text in texts)


def claim(report: Report) -> None:
    """Claim that a bound leaves the leader fewer sentences than drafts without one, whichever way it reads them."""
    report.claims.clear()
    for forced in (False, True):
        plain = _most(report, 0.0, forced=forced)
        for bits in sorted({float(row["bits"]) for row in report.rows if row["bits"]}):
            most = _most(report, bits, forced=forced)
            name = f"within {bits:g} bits: sentences with five words in a row" + (", forced" if forced else "")
            shown = " beside ".join(f"{share:.3g} [{low:.3g}, {high:.3g}]" for share, low, high in (most, plain))
            report.claim(name, "fewer than without a bound", shown, _fewer(most, plain))


def _most(report: Report, bits: float, *, forced: bool) -> tuple[float, float, float]:
    """Return the share of sentences with its interval, by the better way of reading; (0, 0, 1) where none was read."""
    rows = [row for row in report.rows if row["bits"] == bits and row["forced"] is forced]
    read = [tuple(float(row[name] or 0.0) for name in ("five_words", "low", "high")) for row in rows]
    share, low, high = max(read, default=(0.0, 0.0, 1.0))
    return share, low, high


def _fewer(most: tuple[float, float, float], plain: tuple[float, float, float]) -> bool | None:
    """Tell whether a bound leaves fewer sentences than none; None where the intervals overlap."""
    if most[0] >= plain[0]:
        return False
    return True if most[2] < plain[1] else None


def _without(distribution: Distribution, ends: Sequence[int]) -> Distribution:
    """Return the distribution without the ids that end an answer, unless it has no others."""
    kept = ~np.isin(distribution.ids, ends)
    return (
        Distribution(distribution.ids[kept], distribution.counts[kept], distribution.kept)
        if kept.any()
        else distribution
    )
