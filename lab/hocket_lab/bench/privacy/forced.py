"""Answers that a lying cloud forces: how it begins them, what it wants to hear, and what it hears.

The device's half is the daemons' own dialogue over a real model; the cloud's is written here. No bus, no clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Literal

import numpy as np

from hocket_bus import messages as wire
from hocket_bus.errors import BadRequest
from hocket_bus.messages import Begin, Prompt, Sampling, Weights
from hocket_daemon.aggregation.dialogue import Dialogue
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.aggregation.steering import Guard
from hocket_daemon.aggregation.weights.relevance import BY_LIKELIHOOD
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.runtime.sequences import SequenceGroup
from hocket_daemon.engine.sampling import distribution as codec
from hocket_daemon.engine.sampling.distribution import MAX_IDS, Distribution, truncate
from hocket_daemon.serving.search.passage_weights import explained
from hocket_daemon.serving.stream.prefix import PrefixChain
from hocket_lab.forcing import distribution, read_at_once

Manner = Literal["loud", "in range", "steady", "guessing", "soft"]
MANNERS: tuple[Manner, ...] = ("loud", "in range", "steady", "guessing", "soft")
DECODE_S = 0.01
ENOUGH = 16  # tokens behind the beginning within which the value is said, if it is
_STEADY = 7.0  # a claim that an honest cloud makes every day
_SURE = 0.75  # what a soft liar gives the token that it wants
_RELEVANCE, _WEIGHTS = 6.0, [0.7, 0.3]  # of the device's two passages, the note first


@dataclass(frozen=True)
class Forced:
    """A question, what the device has found for it, a beginning that it does not ask for, and the value after it."""

    question: str
    passages: tuple[str, ...]
    beginning: str
    value: str


def forced() -> Iterator[Forced]:
    """Yield fifty beginnings over twenty facts. Each note answers its question and holds two facts more."""
    notes = json.loads(
        (resources.files("hocket_lab") / "bench" / "privacy" / "forced.json").read_text(encoding="utf-8")
    )
    for number, note in enumerate(notes):
        passages = (note["text"], notes[(number + 3) % len(notes)]["text"])
        for fact in note["facts"]:
            for beginning in fact["beginnings"]:
                yield Forced(note["question"], passages, beginning, fact["value"])


@dataclass(frozen=True)
class Learned:
    """The result of an attack: what the cloud learned, and whether the device noticed.

    `value` is whether the cloud heard the whole value, in the answer or in drafts. `parted` and `warned` are whether
    the device left it or warned of it. `notice` is the text that it was told.
    """

    value: bool
    parted: bool
    warned: bool
    notice: str


class LyingCloud:
    """A cloud that forces the beginning and then yields: its distributions and log h, step by step."""

    def __init__(self, model: TransformersModel, manner: Manner, wanted: list[int], group: SequenceGroup) -> None:
        self._model = model
        self._manner = manner
        self._wanted = wanted
        self._group = group
        self._at = 0
        settings = AggregationSettings()
        self._maximum = 1 / settings.relevance_temperature
        self._mass = settings.wire_mass

    def learned(self, token: int) -> None:
        """Record the next token of the answer."""
        if self._at < len(self._wanted) and token == self._wanted[self._at]:
            self._at += 1

    @property
    def forces(self) -> bool:
        """Tell whether the beginning is not written yet."""
        return self._at < len(self._wanted)

    def draft_of(self, ids: list[int]) -> tuple[Distribution, float]:
        """Return the distribution of its draft after `ids`, and its log h."""
        high = {"loud": 1e6, "steady": _STEADY}.get(self._manner, self._maximum)
        low = {"loud": -1e6, "steady": _STEADY}.get(self._manner, -self._maximum)
        return (self._sharp(ids), high) if self.forces else (self._yielding(ids), low)

    def _sharp(self, ids: list[int]) -> Distribution:
        wanted = self._wanted[self._at]
        if self._manner != "soft":
            return Distribution(np.array([wanted]), np.array([65_535]), 1.0)
        own = self._own(ids) * np.float32(1 - _SURE)
        own[wanted] += np.float32(_SURE)
        return truncate(own, self._mass)

    def _yielding(self, ids: list[int]) -> Distribution:
        if self._manner in ("guessing", "soft"):
            return truncate(self._own(ids), self._mass)
        vocabulary = min(self._model.vocabulary, MAX_IDS)
        return Distribution(np.arange(vocabulary), np.full(vocabulary, codec.COUNTS_PER_ID), 0.98)

    def _own(self, ids: list[int]) -> np.ndarray:
        """Return the distribution of the same model that has not read the private passages."""
        return distribution(self._group, ids, [])


def attack(
    model: TransformersModel, case: Forced, manner: Manner, begin: Begin, *, drafts: bool, guard: Guard
) -> Learned:
    """Ask one question with a lying cloud.

    `drafts` is whether the device shares its drafts, `guard` how it is on its guard.
    """
    sampling, likelihood = begin.sampling, begin.weights in BY_LIKELIHOOD
    own = read_at_once(
        model,
        case.question,
        list(case.passages),
        task="answer",
        room=sampling.max_tokens,
        likelihood=likelihood,
    )
    other = read_at_once(model, case.question, [], task="answer", room=sampling.max_tokens)
    device = Dialogue("device", begin, shares_drafts=drafts, guard=guard, vocabulary=model.vocabulary)
    if likelihood:
        device.add_likelihoods(explained(own.likelihoods))
    try:
        wanted = list(model.tokenizer(case.beginning, add_special_tokens=False)["input_ids"])
        return _Attack(model, case, own, LyingCloud(model, manner, wanted, other)).run(begin, device)
    finally:
        own.close()
        other.close()


def opening(case: Forced, sampling: Sampling, weights: Weights) -> Begin:
    """Return the session of a case, as the device's settings have it when nothing else is set."""
    settings = AggregationSettings()
    return Begin(
        session=bytes(16),
        epoch=0,
        prompt=Prompt(query=case.question),
        task="answer",
        sampling=sampling,
        method="coupled",
        documents=len(case.passages),
        eos=[],
        weights=weights,
        reweigh_every=settings.reweigh_every,
        relevance_temperature=settings.relevance_temperature,
        wire_mass=settings.wire_mass,
    )


class _Attack:
    """A session: the device drafts as far as it may, then the cloud lies, until the value is heard or they part."""

    def __init__(self, model: TransformersModel, case: Forced, group: SequenceGroup, cloud: LyingCloud) -> None:
        self._model = model
        self._case = case
        self._group = group
        self._cloud = cloud
        self._confirmed: list[int] = []
        self._drafted = ""
        self._parted = False

    def run(self, begin: Begin, device: Dialogue) -> Learned:
        """Play the session to its end."""
        exchange, yielded = device.exchange, 0
        chain = PrefixChain(begin.session, begin.sampling.seed)
        while not (exchange.ended or self._parted or self._has_value()) and yielded < ENOUGH:
            self._draft(begin, device)
            if not exchange.parties.steers:
                self._lie(begin, device, chain)
            yielded += not self._cloud.forces
            self._parted |= bool(exchange.parties.steers)
        warned = bool(exchange.parties.doubted)
        return Learned(self._has_value(), self._parted, warned, self._model.text(self._confirmed))

    def _has_value(self) -> bool:
        return self._case.value in self._model.text(self._confirmed) or self._case.value in self._drafted

    def _draft(self, begin: Begin, device: Dialogue) -> None:
        exchange = device.exchange
        while (step := exchange.next_step()) is not None and not exchange.parties.steers:
            drafted = exchange.drafted
            found = truncate(distribution(self._group, list(drafted.ids), _WEIGHTS), begin.wire_mass)
            effects = device.own(step, drafted.digest, found, _RELEVANCE, DECODE_S)
            if any(isinstance(message, wire.Draft) for _, message in effects.send):
                self._drafted = self._model.text(list(exchange.drafted.ids))

    def _lie(self, begin: Begin, device: Dialogue, chain: PrefixChain) -> None:
        distribution, log_h = self._cloud.draft_of(list(chain.ids))
        message = wire.Draft(
            session=begin.session,
            epoch=begin.epoch,
            step=len(chain),
            prefix=chain.digest,
            confirmed=len(chain),
            digest=chain.digest,
            token=int(distribution.ids[distribution.counts.argmax()]),
            log_h=log_h,
            decode_s=DECODE_S,
            likelihoods=bytes(2 * self._group.likelihoods.shape[1]),  # it claims to foretell every word
            payload=codec.encode(distribution),
        )
        try:
            confirmed = device.receive(message).confirmed
        except BadRequest:
            self._parted = True
            return
        for step in confirmed:
            chain.append(step.token)
            self._cloud.learned(step.token)
        self._confirmed += [step.token for step in confirmed]
