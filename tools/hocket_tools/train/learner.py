"""Steps of training, and a checkpoint of all that they depend on: weights, optimizer and the number of the step.

Nothing is drawn by chance here, so a run that was killed and goes on ends with the weights of one that was not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW

from .reading import Lesson

WARM_UP = 0.05  # of the steps, in which the rate grows
CHECKPOINT_EVERY = 25  # steps
MAX_GRADIENT = 1.0
BETAS = (0.9, 0.95)


@dataclass(frozen=True)
class Plan:
    """The plan of a run: `steps`, each over the next `batch` lessons; after a warm-up `rate` falls to zero."""

    steps: int
    batch: int
    rate: float

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        warm = (step + 1) / max(1.0, WARM_UP * self.steps)
        return self.rate * min(1.0, warm, (self.steps - step) / self.steps)


class Learner:
    """The state of a run: those weights of `model` that are to change, and the optimizer's."""

    def __init__(self, model: Module, plan: Plan, checkpoint: Path) -> None:
        """Begin a run, or resume the one that an earlier process left in `checkpoint`."""
        self.step = 0
        self._model = model
        self._plan = plan
        self._checkpoint = checkpoint
        self._weights = {name: each for name, each in model.named_parameters() if each.requires_grad}
        self._optimizer = AdamW(self._weights.values(), lr=plan.rate, betas=BETAS, weight_decay=0.0)
        if checkpoint.is_file():
            self._resume()

    def run(self, lessons: Sequence[Lesson], on_step: Callable[[int, float], None]) -> None:
        """Run to the last step; after each, call `on_step` with the steps done and its mean nats per token."""
        batch = self._plan.batch
        while self.step < self._plan.steps:
            nats = self._update(
                [lessons[at % len(lessons)] for at in range(self.step * batch, (self.step + 1) * batch)]
            )
            self.step += 1
            if self.step % CHECKPOINT_EVERY == 0 or self.step == self._plan.steps:
                self._keep()
            on_step(self.step, nats)

    def _update(self, lessons: Sequence[Lesson]) -> float:
        total = 0.0
        for lesson in lessons:
            loss = nats(self._model, lesson) / len(lessons)
            loss.backward()
            total += loss.detach().item()
        clip_grad_norm_(self._weights.values(), MAX_GRADIENT)
        self._optimizer.param_groups[0]["lr"] = self._plan.rate_at(self.step)
        self._optimizer.step()
        self._optimizer.zero_grad()
        return total

    def _resume(self) -> None:
        kept = torch.load(self._checkpoint, weights_only=True)
        self.step = kept["step"]
        self._optimizer.load_state_dict(kept["optimizer"])
        with torch.no_grad():
            for name, weight in self._weights.items():
                weight.copy_(kept["weights"][name])

    def _keep(self) -> None:
        """Write the checkpoint, whole or not at all."""
        partial = self._checkpoint.with_suffix(".partial")
        weights = {name: weight.detach() for name, weight in self._weights.items()}
        torch.save({"step": self.step, "optimizer": self._optimizer.state_dict(), "weights": weights}, partial)
        os.replace(partial, self._checkpoint)


def nats(model: Module, lesson: Lesson) -> Tensor:
    """Return the label's mean nats per token after its prompt."""
    ids = torch.tensor([[*lesson.prompt, *lesson.label]])
    logits = model(input_ids=ids, use_cache=False, logits_to_keep=len(lesson.label) + 1).logits
    return cross_entropy(logits[0, :-1].float(), ids[0, -len(lesson.label) :])
