"""Honest answers of two sides in one process, several at a time: what each side gave at every step, and the tokens.

The law is the daemons' own (relevance, truncation, aggregation, sampling); there is no bus, and no step is alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hocket_bus.messages import DEFAULT_WEIGHTS, Side, Task, Weights
from hocket_daemon.aggregation import likelihood_ratio as ratio
from hocket_daemon.aggregation.relevance import BY_LIKELIHOOD, REWEIGHED, compared, query, weighed_by
from hocket_daemon.aggregation.sampler import target
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.runtime.sequences import SequenceGroup
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_daemon.engine.sampling.heads import contrast_of, made
from hocket_daemon.serving.passage_weights import explained, weigh
from hocket_lab.forcing import read_at_once

SIDES: tuple[Side, Side] = ("device", "cloud")
Scores = Callable[[str, Sequence[str]], list[float]]  # how well passages match a text


@dataclass(frozen=True)
class Asked:
    """A question and what each side has found for it."""

    kind: str
    question: str
    device: tuple[str, ...]
    cloud: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """What both sides gave at one step, and the token that the law made of it."""

    token: int
    log_h: tuple[float | None, float | None]
    device: Distribution
    cloud: Distribution


@dataclass
class _Writing:
    """One answer under way."""

    asked: Asked
    rule: Rule
    groups: dict[Side, SequenceGroup]
    likelihood_ratio: float  # to the device
    steps: list[Step] = field(default_factory=list)

    @property
    def ids(self) -> list[int]:
        return [step.token for step in self.steps]


class TwoSides:
    """Both sides' models, which may be one, and the scorer of their passages."""

    def __init__(
        self,
        models: LanguageModel | Mapping[Side, LanguageModel],
        scores: Scores,
        max_tokens: int,
        weights: Weights = DEFAULT_WEIGHTS,
        settings: AggregationSettings | None = None,
        *,
        task: Task = "answer",
    ) -> None:
        """`weights` says how passages are weighed, as `hocket ask --weights` does."""
        self._models = dict(models) if isinstance(models, Mapping) else dict.fromkeys(SIDES, models)
        self._model = self._models["device"]
        self._task = task
        self._scores = scores
        self._max_tokens = max_tokens
        self._weights = weights
        self._settings = settings or AggregationSettings()

    def answers(self, asked: Sequence[Asked], rules: Sequence[Rule]) -> list[list[Step]]:
        """The steps of each answer; all are decoded in one batch."""
        writing = [self._begin(*each) for each in zip(asked, rules, strict=True)]
        while open := [one for one in writing if not self._ended(one.ids)]:
            self._step(open)
        for one in writing:
            for group in one.groups.values():
                group.close()
        return [one.steps for one in writing]

    def _begin(self, asked: Asked, rule: Rule) -> _Writing:
        texts = {"device": asked.device, "cloud": asked.cloud}
        groups = {side: self._read(side, asked.question, list(texts[side])) for side in SIDES}
        return _Writing(asked, rule, groups, self._likelihood_ratio(groups))

    def _likelihood_ratio(self, groups: dict[Side, SequenceGroup]) -> float:
        likelihood = [groups[side].likelihoods for side in SIDES]
        if not all(map(len, likelihood)):
            return 0.0
        return ratio.likelihood_ratio(*(ratio.steps_of(explained(each)) for each in likelihood))

    def _read(self, side: Side, question: str, texts: list[str]) -> SequenceGroup:
        likelihood = self._weights in BY_LIKELIHOOD and bool(texts)
        model, room = self._models[side], self._max_tokens
        alone = bool(self._settings.contrast)
        return read_at_once(model, question, texts, task=self._task, room=room, likelihood=likelihood, alone=alone)

    def _ended(self, ids: list[int]) -> bool:
        return len(ids) >= self._max_tokens or bool(ids and ids[-1] in self._model.eos)

    def _step(self, open: list[_Writing]) -> None:
        found: dict[tuple[int, Side], tuple[Distribution, float | None]] = {}
        for side in SIDES:
            segments = [one.groups[side].roll_back(one.ids) for one in open]
            rows = self._models[side].read(segments) if open[0].ids else [None] * len(open)
            for one, read in zip(open, rows, strict=True):
                taken = one.groups[side].take(one.ids, read)
                weights, log_h = self._weigh(one, side)
                contrast = contrast_of(self._settings.contrast, self._models[side].eos, len(weights), len(one.ids))
                found[id(one), side] = made(taken, weights, self._settings.wire_mass, contrast).distribution, log_h
        for one in open:
            (device, own), (cloud, other) = (found[id(one), side] for side in SIDES)
            own = None if own is None else own + one.likelihood_ratio
            token = target(one.rule, len(one.ids), device, cloud, (own, other))
            one.steps.append(Step(token, (own, other), device, cloud))

    def _weigh(self, one: _Writing, side: Side) -> tuple[list[float], float | None]:
        texts = one.asked.device if side == "device" else one.asked.cloud
        scores = [0.0] * len(texts) if self._weights == "off" or not texts else self._compared(one, texts)
        return weigh(scores, self._settings.relevance_temperature, one.groups[side].likelihoods)

    def _compared(self, one: _Writing, texts: Sequence[str]) -> list[float]:
        question, text = one.asked.question, self._query(one)
        by_question, scores = self._scores(question, texts), self._scores(text, texts)
        return scores if text == question else compared(self._weights, scores, by_question)

    def _query(self, one: _Writing) -> str:
        if self._weights not in REWEIGHED:
            return one.asked.question
        length = weighed_by(len(one.ids), self._settings.reweigh_every)
        return query(one.asked.question, self._model.text(one.ids[:length]))
