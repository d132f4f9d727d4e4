"""Honest answers of any number of parties in one process, several at a time: what each gave at every step.

The law is the daemons' own (relevance, truncation, aggregation, sampling); there is no bus, no step is alone, and every
party takes part in every step. The asked party comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hocket_bus.messages import DEFAULT_WEIGHTS, Task, Weights
from hocket_daemon.aggregation.exchange.sampler import etas, mixture
from hocket_daemon.aggregation.settings import AggregationSettings, GroupSettings
from hocket_daemon.aggregation.weights import likelihood_ratio as ratio
from hocket_daemon.aggregation.weights.relevance import BY_LIKELIHOOD, REWEIGHED, compared, query, weighed_by
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.runtime.sequences import SequenceGroup
from hocket_daemon.engine.sampling.bounded import bounded
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_daemon.engine.sampling.drawing import Rule, draw
from hocket_daemon.engine.sampling.heads import Heads, contrast_of, made
from hocket_daemon.serving.search.passage_weights import LEAST, explained, weigh
from hocket_lab.forcing import read_at_once

Scores = Callable[[str, Sequence[str]], list[float]]  # how well passages match a text
Texts = Sequence[str]


@dataclass(frozen=True)
class Draft:
    """A party's distribution at a step, and its log h, which includes what its passages explain beyond the others'."""

    distribution: Distribution
    log_h: float | None


@dataclass(frozen=True)
class Step:
    """A step of an answer: each party's draft, and the token that results from them by the law."""

    token: int
    drafts: tuple[Draft, ...]


@dataclass
class Writing:
    """An answer being generated."""

    question: str
    texts: Sequence[Texts]
    rule: Rule
    groups: list[SequenceGroup]
    more: list[float]  # nats that each party's passages weigh more since they explain the question better
    steps: list[Step] = field(default_factory=list)

    @property
    def ids(self) -> list[int]:
        """The answer's tokens so far."""
        return [step.token for step in self.steps]

    def close(self) -> None:
        """Free the sequences of all parties."""
        for group in self.groups:
            group.close()


class Parties:
    """Parties with a model each, which may be the same, and the scorer of their passages."""

    def __init__(
        self,
        models: Sequence[LanguageModel],
        scores: Scores,
        max_tokens: int,
        weights: Weights = DEFAULT_WEIGHTS,
        settings: AggregationSettings | None = None,
        *,
        task: Task = "answer",
        most_bits: float = 0.0,
    ) -> None:
        """Take `weights` as `hocket ask --weights` does.

        `most_bits` bounds the drafts of all parties but the first; 0 means that it does not.
        """
        self._models = models
        self._scores = scores
        self._max_tokens = max_tokens
        self._weights = weights
        self._settings = settings or AggregationSettings()
        self._task = task
        self._most_bits = most_bits
        self._most_say = GroupSettings().most_say if len(models) > 2 else 1.0

    def answers(self, asked: Sequence[tuple[str, Sequence[Texts]]], rules: Sequence[Rule]) -> list[list[Step]]:
        """Return the steps of each answer to (question, each party's passages); all are decoded in one batch."""
        writing = [self.begin(*each, rule) for each, rule in zip(asked, rules, strict=True)]
        while open := [one for one in writing if not self._ended(one.ids)]:
            self._step(open)
        for one in writing:
            one.close()
        return [one.steps for one in writing]

    def begin(self, question: str, texts: Sequence[Texts], rule: Rule) -> Writing:
        """Read a question, each party after its own passages; the result must be closed."""
        groups = [self._read(party, question, list(own)) for party, own in enumerate(texts)]
        return Writing(question, texts, rule, groups, self._advantages(groups))

    def _advantages(self, groups: Sequence[SequenceGroup]) -> list[float]:
        likelihoods = [group.likelihoods for group in groups]
        if not all(map(len, likelihoods)):
            return [0.0] * len(groups)
        return ratio.advantages([ratio.steps_of(explained(each)) for each in likelihoods])

    def _read(self, party: int, question: str, texts: list[str]) -> SequenceGroup:
        likelihood = self._weights in BY_LIKELIHOOD and bool(texts)
        alone = bool(self._settings.contrast) or self._bits(party) > 0
        model, room = self._models[party], self._max_tokens
        return read_at_once(model, question, texts, task=self._task, room=room, likelihood=likelihood, alone=alone)

    def _bits(self, party: int) -> float:
        return self._most_bits if party else 0.0

    def _ended(self, ids: list[int]) -> bool:
        return len(ids) >= self._max_tokens or bool(ids and ids[-1] in self._models[0].eos)

    def _step(self, open: list[Writing]) -> None:
        drafts = [self.drafts([(one, party, one.ids) for one in open]) for party in range(len(self._models))]
        for one, own in zip(open, zip(*drafts, strict=True), strict=True):
            shares = etas([draft.log_h for draft in own], self._most_say)
            mixed = mixture([(eta, draft.distribution) for eta, draft in zip(shares, own, strict=True)])
            one.steps.append(Step(draw(one.rule, len(one.ids), *mixed), own))

    def drafts(self, places: Sequence[tuple[Writing, int, list[int]]]) -> list[Draft]:
        """Return drafts of parties of one model after any tokens, in one batch; each party of an answer occurs once."""
        segments = [one.groups[party].roll_back(ids) for one, party, ids in places]
        some = [segment for segment in segments if segment.rows]
        rows = iter(self._models[places[0][1]].read(some) if some else [])
        read = [next(rows) if segment.rows else None for segment in segments]
        return [
            self._draft(party, one, ids, one.groups[party].take(ids, heads))
            for (one, party, ids), heads in zip(places, read, strict=True)
        ]

    def _draft(self, party: int, one: Writing, ids: list[int], heads: Heads) -> Draft:
        weights, log_h = self._weigh(party, one, ids)
        settings, bits = self._settings, self._bits(party)
        contrast = contrast_of(settings.contrast, self._models[party].eos, len(weights), len(ids))
        if bits:
            names = [""] * len(weights)
            found = bounded(heads, weights, names, wire_mass=settings.wire_mass, bits=bits, contrast=contrast).made
        else:
            found = made(heads, weights, settings.wire_mass, contrast)
        return Draft(found.distribution, None if log_h is None else log_h + one.more[party])

    def _weigh(self, party: int, one: Writing, ids: list[int]) -> tuple[list[float], float | None]:
        texts = one.texts[party]
        scores = [0.0] * len(texts) if self._weights == "off" or not texts else self._compared(one, texts, ids)
        least = 0.0 if self._bits(party) else LEAST
        return weigh(scores, self._settings.relevance_temperature, one.groups[party].likelihoods, least=least)

    def _compared(self, one: Writing, texts: Texts, ids: list[int]) -> list[float]:
        text = self._query(one, ids)
        by_question, scores = self._scores(one.question, texts), self._scores(text, texts)
        return scores if text == one.question else compared(self._weights, scores, by_question)

    def _query(self, one: Writing, ids: list[int]) -> str:
        if self._weights not in REWEIGHED:
            return one.question
        length = weighed_by(len(ids), self._settings.reweigh_every)
        return query(one.question, self._models[0].text(ids[:length]))
