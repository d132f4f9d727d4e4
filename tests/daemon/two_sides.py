"""A leader and a follower joined by fake peers, driven step by step in any order; and the reference."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import numpy as np
from fake_model import FakeModel
from fakes import ID, FakePeer, Part, Reader, part, relevance
from numpy.typing import NDArray
from simulation import token_of

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import AggregationOptions, Ask, Begin, Dispatch, Draft, End, Message, Prompt, Sampling
from hocket_bus.wire import decode, encode
from hocket_daemon.aggregation import drafter, follower, leader
from hocket_daemon.aggregation.follower import Follower
from hocket_daemon.aggregation.leader import Leader
from hocket_daemon.aggregation.mode import AggregationMode
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.aggregation.weights import likelihood_ratio as ratio
from hocket_daemon.aggregation.weights.relevance import compared, query, weighed_by
from hocket_daemon.engine.runtime.likelihood import NO_LIKELIHOODS
from hocket_daemon.engine.sampling.distribution import Distribution, truncate
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_daemon.engine.sampling.heads import mix
from hocket_daemon.engine.text.tokenizer import Layout
from hocket_daemon.serving.search.passage_weights import explained, weigh
from hocket_daemon.serving.stream import reply

SETTINGS = AggregationSettings(  # untrained models are steered by anything
    connect_wait_s=2.0,
    peer_wait_s=10.0,
    rejoin_wait_s=1.0,
    relevance_temperature=0.1,
    reweigh_every=3,
    trust_cloud=True,
    contrast=0.0,
    min_evidence=0.42,
)
BY_LIKELIHOOD = ("likelihood", "static likelihood")  # the latter is dispatch's
QUESTION = "Who sang first?"
TEXTS = {"device": ["Ada sang at noon.", "Bo sang at dawn."], "cloud": ["Cy never sang.", "Di sang before Bo."]}
DOWN = Unavailable("the cloud fell silent")
CLOCKED = (drafter, follower, leader, reply)  # whoever reads the time


@dataclass
class Clock:
    """In the place of the module `time`."""

    now: float = 100.0

    def monotonic(self) -> float:
        return self.now


def ask(
    method: str = "coupled", weights: str = "dynamic", *, max_tokens: int = 10, seed: int = 5, **other: object
) -> Ask:
    """A question; `other` are fields of the Ask, or of its options."""
    flags = {name: other.pop(name) for name in ("alone", "require_cloud") if name in other}
    other.setdefault("unknown", "answer")  # untrained models say nothing that a passage has
    options = AggregationOptions(method=method, weights=weights, **flags)  # type: ignore[arg-type]
    sampling = Sampling(temperature=1.0, top_p=0.95, seed=seed, max_tokens=max_tokens)
    prompt = Prompt(query=other.pop("question", QUESTION), turns=other.pop("turns", []))  # type: ignore[arg-type]
    return Ask(request=ID, topic=ID, prompt=prompt, options=options, sampling=sampling, **other)  # type: ignore[arg-type]


@dataclass
class Sides:
    """Both sides of one question; everything that happens takes a millisecond."""

    asked: Ask
    clock: Clock
    device: Part = field(default_factory=lambda: part("device", TEXTS["device"], seed=1))
    cloud: Part = field(default_factory=lambda: part("cloud", TEXTS["cloud"], seed=2))
    up: bool = True
    frozen: bool = False  # the cloud does nothing at all
    slow: bool = False  # its model computes nothing for now
    refusal: HocketError | None = None  # why the cloud takes nothing
    forge: Callable[[Message], Message] = lambda message: message  # what becomes of messages to the device
    order: random.Random = field(default_factory=lambda: random.Random(0))

    def __post_init__(self) -> None:
        self.reader = Reader()
        self.to_cloud, self.to_device = FakePeer(up=self.up), FakePeer("the device")
        self.said: list[Message] = []  # what reached the cloud
        self.followers: list[Follower] = []
        self.modes = [AggregationMode(side.services, SETTINGS) for side in (self.device, self.cloud)]

    def begin(self) -> Leader:
        self.leader = self.modes[0].begin(
            self.asked, self.reader.reply(self.asked, self.device.services), self.to_cloud
        )
        return self.leader

    # --- what can happen

    def step(self) -> bool:
        """One thing that can happen now; False where there is none."""
        chores = self.device.chores() + ([] if self.frozen or self.slow else self.cloud.chores())
        chores += [self._to_cloud] * bool(self.to_cloud.sent) + [self._to_device] * bool(self.to_device.sent)
        if chores:
            self.clock.now += 0.001
            self.order.choice(chores)()
        return bool(chores)

    def run(self, steps: int = 10_000) -> None:
        """So many steps, or until the answer is there."""
        for _ in range(steps):
            if self.leader.closed or not self.step():
                return

    def wait(self) -> None:
        """Nothing happens until the next time comes at which a side acts by itself."""
        sessions = [self.leader, *(each for each in self.followers if not (each.closed or self.frozen))]
        first = min(sessions, key=lambda each: each.due_s())
        self.clock.now = max(self.clock.now, first.due_s())
        first.tick(self.clock.now)

    def run_to_the_end(self) -> None:
        while not self.leader.closed:
            self.run()
            if not self.leader.closed:
                self.wait()

    def break_link(self, reason: HocketError = DOWN) -> None:
        self.to_cloud.up = False
        self._lose()
        self.leader.on_peer(False, reason)
        self._lose()

    def heal_link(self) -> None:
        self._lose()
        self.to_cloud.up = True
        self.leader.on_peer(True, None)

    def restart_cloud(self) -> None:
        """It has forgotten every session."""
        for each in self.followers:
            each.close()

    def _lose(self) -> None:
        self.to_cloud.sent.clear()
        self.to_device.sent.clear()

    def _to_cloud(self) -> None:
        message = decode(encode(self.to_cloud.sent.pop(0)))
        if not self.to_cloud.up:
            return
        self.said.append(message)
        session = message.session  # type: ignore[attr-defined]
        known = next((each for each in self.followers if each.id == session and not each.closed), None)
        if isinstance(message, Begin | Dispatch):
            self._open(message, known)
        elif known is not None and isinstance(message, End):
            known.end(message)
        elif known is not None:
            known.receive(message)

    def _open(self, begin: Begin | Dispatch, known: Follower | None) -> None:
        if known is not None:
            known.reopen(begin, self.to_device)
        elif self.refusal is not None:
            self.to_device.send(self.modes[1].refusal(begin, self.refusal))
        else:
            self.followers.append(self.modes[1].accept(begin, self.to_device))

    def _to_device(self) -> None:
        message = self.forge(decode(encode(self.to_device.sent.pop(0))))
        if message.session == self.leader.id and not self.leader.closed:  # type: ignore[attr-defined]
            self.leader.receive(message)

    # --- what holds at the end

    def check_closed(self) -> None:
        """Every session that reached the cloud was told its end once, last; all rows are free on both sides."""
        self.frozen = self.slow = False
        while self.step():
            pass
        assert self.leader.closed
        assert self.reader.end is self.reader.events[-1]
        for session in {message.session for message in self.said}:  # type: ignore[attr-defined]
            kinds = [type(message) for message in self.said if message.session == session]  # type: ignore[attr-defined]
            assert kinds.count(End) == (kinds[-1] is End), "End is the last word, and comes once"
        if self.to_cloud.up and self.to_cloud.forbids is None:
            assert all(each.closed for each in self.followers)
        self.restart_cloud()
        self.device.check_free()
        self.cloud.check_free()

    def expected(self) -> list[int]:
        """The reference, alone where the answer says so."""
        outcome = self.reader.done.outcome
        assert outcome is not None
        return reference(self.asked, [self.device, self.cloud], frozenset(outcome.solo_steps))


def reference(asked: Ask, sides: list[Part], solo: frozenset[int]) -> list[int]:
    """The synchronous loop: a token at a time, all rows of both models in hand."""
    options, sampling = asked.options, asked.sampling
    assert options is not None
    rule, ids = Rule(sampling.seed, sampling.temperature, sampling.top_p), list[int]()
    while len(ids) < sampling.max_tokens and not (ids and ids[-1] in sides[0].model.eos and not asked.ignore_eos):
        (device, h_device), (cloud, h_cloud) = (distribution(side, asked, options.weights, ids) for side in sides)
        h_device = leaning(h_device, sides, asked)
        alone = len(ids) in solo
        ids.append(token_of(options.method, rule, len(ids), device, cloud, (h_device, h_cloud), alone=alone))
    return ids


def distribution(side: Part, asked: Ask, weights: str, ids: list[int]) -> tuple[Distribution, float | None]:
    """A side's distribution behind `ids`, as its documents are weighed there, and its log h."""
    rows, shares, log_h = weighed_rows(side, asked, weights, ids)
    return truncate(mix(rows, shares), SETTINGS.wire_mass), log_h


def weighed_rows(
    side: Part, asked: Ask, weights: str, ids: list[int]
) -> tuple[NDArray[np.float32], list[float], float | None]:
    """The distributions of a side's rows behind `ids`, the rows' weights, and the side's log h."""
    model, texts, told = side.model, side.retrieval.read(asked.documents), side.retrieval.texts[: asked.documents]
    at = weighed_by(len(ids), SETTINGS.reweigh_every) if weights in ("dynamic", "likelihood") else 0
    text = query(asked.prompt.query, model.text(ids[:at]))
    scores = [0.0 if weights == "off" else relevance(text, each) for each in told]
    if text != asked.prompt.query:
        scores = compared(weights, scores, [relevance(asked.prompt.query, each) for each in told])
    layout = model.layout(asked.task)
    shares, log_h = weigh(
        scores, SETTINGS.relevance_temperature, heard(side, asked) if weights in BY_LIKELIHOOD else NO_LIKELIHOODS
    )
    behind = layout.question(asked.prompt) + ids
    rows = np.stack([model.distribution(layout.document(each) + behind) for each in texts or [""]])
    return rows, shares, log_h


def leaning(log_h: float | None, sides: list[Part], asked: Ask) -> float | None:
    """The device's log h, and what its passages explain of the question beyond the cloud's, where that is weighed."""
    assert asked.options is not None
    explains = [heard(side, asked) for side in sides] if asked.options.weights == "likelihood" else [NO_LIKELIHOODS]
    if log_h is None or not all(map(len, explains)):
        return log_h
    return log_h + ratio.likelihood_ratio(*(ratio.steps_of(explained(each)) for each in explains))


def heard(side: Part, asked: Ask) -> NDArray[np.float64]:
    """The logs of the question's tokens behind each of a side's documents."""
    layout, texts = side.model.layout(asked.task), side.retrieval.read(asked.documents)
    return np.array([surprise(side.model, layout, each, asked.prompt.query) for each in texts])


def surprise(model: FakeModel, layout: Layout, text: str, question: str) -> list[float]:
    """The logs of the question's tokens behind a document and what the layout has between them."""
    row = [*layout.document(text), *layout.encode(layout.between, "", "")]
    logs = []
    for token in layout.encode("", question, ""):
        logs.append(math.log(model.distribution(row)[token]))
        row.append(token)
    return logs


def strange(message: Message) -> Message:
    """A draft of a token that no side's model has."""
    return msgspec.structs.replace(message, token=5_000) if isinstance(message, Draft) else message
