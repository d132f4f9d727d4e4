"""Honest answers of two sides in one process, several at a time: what each side gave at every step, and the tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hocket_bus.messages import DEFAULT_WEIGHTS, Side, Task, Weights
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_lab.bench.parties import parties
from hocket_lab.bench.parties.parties import Parties, Scores

SIDES: tuple[Side, Side] = ("device", "cloud")


@dataclass(frozen=True)
class Asked:
    """A question and what each side has found for it."""

    kind: str
    question: str
    device: tuple[str, ...]
    cloud: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """A step of an answer: both sides' log h and distributions, and the token that results from them by the law."""

    token: int
    log_h: tuple[float | None, float | None]
    device: Distribution
    cloud: Distribution


class TwoSides:
    """Two sides with their models, which may be one, and the scorer of their passages."""

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
        """Take `weights` as `hocket ask --weights` does: it says how passages are weighed."""
        each = [models[side] for side in SIDES] if isinstance(models, Mapping) else [models] * len(SIDES)
        self._parties = Parties(each, scores, max_tokens, weights, settings, task=task)

    def answers(self, asked: Sequence[Asked], rules: Sequence[Rule]) -> list[list[Step]]:
        """Return the steps of each answer; all are decoded in one batch."""
        found = self._parties.answers([(one.question, (one.device, one.cloud)) for one in asked], rules)
        return [[_of_both(step) for step in one] for one in found]


def _of_both(step: parties.Step) -> Step:
    device, cloud = step.drafts
    return Step(step.token, (device.log_h, cloud.log_h), device.distribution, cloud.distribution)
