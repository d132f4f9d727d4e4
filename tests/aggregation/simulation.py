"""Two sides on a simulated link, driven by the code that the daemons run, and the reference for their tokens."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import msgspec
import numpy as np

from hocket_bus import messages as wire
from hocket_bus.messages import Begin, Prompt, Sampling
from hocket_bus.wire import decode, encode
from hocket_daemon.aggregation.dialogue import Dialogue, Effects
from hocket_daemon.aggregation.dialogues import dialogue_type
from hocket_daemon.aggregation.exchange import word_messages
from hocket_daemon.aggregation.exchange.sampler import device_part, eta_device, target
from hocket_daemon.aggregation.exchange.session_terms import Law
from hocket_daemon.aggregation.paper import independent
from hocket_daemon.aggregation.paper.aggregator import AggregatorExchange
from hocket_daemon.engine.sampling import distribution as codec
from hocket_daemon.engine.sampling.distribution import Distribution, truncate
from hocket_daemon.engine.sampling.drawing import Rule, coin, sample
from hocket_daemon.engine.text.word_draw import SCALE, Proposal
from hocket_daemon.engine.text.words import END, number_of, word_of
from hocket_lab.rehearsal.aggregating import Aggregating, scheduler

VOCABULARY = 40
LOG_H = {"device": 0.3, "cloud": 0.1}


def model(side: str, salt: int, prefix: list[int]) -> Distribution:
    """A stand-in language model: a distribution that depends on every token before it; the sides half agree."""
    common = np.random.default_rng([salt, 7, *prefix]).normal(size=VOCABULARY)
    own = np.random.default_rng([salt, 1 if side == "device" else 2, *prefix]).normal(size=VOCABULARY)
    logits = 1.5 * common + own
    weights = np.exp(logits - logits.max())
    return truncate(weights / weights.sum(), 0.98)


def word(side: str, salt: int, prefix: list[int], begin: Begin) -> Proposal:
    """A stand-in for a side that draws words: by the noise that both have, from what `model` gives to each of them."""
    rule = Rule(begin.sampling.seed, begin.sampling.temperature, begin.sampling.top_p)
    law = model(side, salt, prefix)
    token = sample(rule, len(prefix), law)
    return Proposal(number_of(_words(begin)[token]), max(1, round(law.of(token) * SCALE)))


def _words(begin: Begin) -> list[bytes]:
    """A word for each token of the vocabulary, of which one may be the end."""
    words = [b" w%d" % token for token in range(VOCABULARY)]
    return [END if token in begin.eos else each for token, each in enumerate(words)]


def law_of(side: str, salt: int, prefix: list[int], begin: Begin) -> Law:
    """Return a side's law of the next step: a distribution, or the word that it draws."""
    return word(side, salt, prefix, begin) if begin.unit == "word" else model(side, salt, prefix)


def opening(
    seed: int,
    rng: random.Random,
    method: str,
    *,
    most_tokens: int,
    weights: str = "static",
    relevance_temperature: float = 1.0,
    unit: str = "token",
) -> Begin:
    """Of a session that is drawn: short or long, greedy or warm, with an end of its own or none."""
    return Begin(
        session=seed.to_bytes(16, "big"),
        epoch=0,
        prompt=Prompt(query=""),
        task="answer",
        documents=2,
        eos=[3] if rng.random() < 0.5 else [],
        sampling=Sampling(
            seed=rng.getrandbits(64),
            temperature=rng.choice([0.0, 0.7, 1.0]),
            top_p=rng.choice([0.9, 1.0]),
            max_tokens=rng.randint(5, most_tokens),
        ),
        method=method,
        weights=weights,
        reweigh_every=1,
        relevance_temperature=relevance_temperature,
        wire_mass=0.98,
        unit=unit,
    )


def reference(begin: Begin, salt: int, solo: frozenset[int]) -> list[int]:
    """The synchronous loop: one token after another, both distributions in hand; solo steps from the device alone."""
    rule = Rule(begin.sampling.seed, begin.sampling.temperature, begin.sampling.top_p)
    ids: list[int] = []
    if begin.unit == "word":
        return _reference_words(begin, salt, solo)
    while len(ids) < begin.sampling.max_tokens and not (ids and ids[-1] in begin.eos):
        device = model("device", salt, ids)
        cloud, log_h = model("cloud", salt, ids), (LOG_H["device"], LOG_H["cloud"])
        ids.append(token_of(begin.method, rule, len(ids), device, cloud, log_h, alone=len(ids) in solo))
    return ids


def _reference_words(begin: Begin, salt: int, solo: frozenset[int]) -> list[int]:
    words: list[int] = []
    while len(words) < begin.sampling.max_tokens and not (words and word_of(words[-1]) == END):
        device, cloud = (word(side, salt, words, begin) for side in ("device", "cloud"))
        words.append(device.word if len(words) in solo else word_of_both(begin, len(words), device, cloud))
    return words


def word_of_both(begin: Begin, step: int, device: Proposal, cloud: Proposal) -> int:
    """The word of one step: the coin's, or the likelier; in fractions, which round nothing."""
    eta = Fraction(eta_device(LOG_H["device"], LOG_H["cloud"]))
    if begin.sampling.temperature > 0:
        return device.word if coin(begin.sampling.seed, step, 1 << 24) < eta * (1 << 24) else cloud.word
    shares = eta * device.count, (1 - eta) * cloud.count
    return device.word if device.word == cloud.word or shares[0] >= shares[1] else cloud.word


def token_of(
    aggregation: str,
    rule: Rule,
    step: int,
    device: Distribution,
    cloud: Distribution,
    log_h: tuple[float | None, float | None],
    *,
    alone: bool,
) -> int:
    """The token of one step: the device's own draft where it was alone."""
    if aggregation != "independent":
        return sample(rule, step, device) if alone else target(rule, step, device, cloud, log_h)
    x_device = independent.draft(rule, "device", step, device)
    if alone:
        return x_device
    laws = independent.laws(rule, device, cloud, log_h)
    return independent.aggregate(rule, step, laws, x_device, independent.draft(rule, "cloud", step, cloud))


@dataclass
class Node:
    dialogue: Dialogue
    decode_s: Callable[[], float]
    busy: bool = False
    ids: list[int] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)


class Coin:
    """In the place of the scheduler: either side aggregates next, whatever the costs."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.switches = rng, 0

    def observe(self, side: str, c_dec: float, alpha: float) -> None:
        pass

    def next_side(self, side: str, *, ahead: bool = True) -> str:
        chosen = self.rng.choice(["device", "cloud"])
        self.switches += chosen != side
        return chosen


class World:
    """Two sides, a first-in-first-out link with random delays that can break, and a clock."""

    def __init__(
        self,
        seed: int,
        aggregation: str,
        *,
        breaks: bool,
        near_ties: bool,
        aggregating: Aggregating = "scheduler",
        shares_drafts: bool = True,
        unit: str = "token",
    ) -> None:
        rng = random.Random(seed)
        self.rng, self.salt, self.near_ties, self.breaks = rng, seed, near_ties, breaks
        self.begin = opening(seed, rng, aggregation, most_tokens=40, unit=unit)
        speed = {side: rng.uniform(0.001, 0.05) for side in ("device", "cloud")}
        shares = {"device": shares_drafts, "cloud": True}
        self.nodes = {
            side: Node(
                dialogue_type(self.begin)(
                    side, self.begin, partial(scheduler, aggregating), shares_drafts=shares[side]
                ),
                lambda s=side: speed[s] * rng.uniform(0.5, 1.5),
            )
            for side in shares
        }
        self.sent: dict[str, Counter[type]] = {side: Counter() for side in shares}
        if aggregation in ("coupled", "independent"):
            for node in self.nodes.values():
                node.dialogue.exchange.window = rng.randint(1, 8)
        self.delay = rng.choice([0.0, 0.01, 0.15])
        self.arrival = {"device": 0.0, "cloud": 0.0}
        self.now, self.events, self.order = 0.0, [], itertools.count()
        self.link_up, self.link_id = True, 0
        self.schedule(random.Random(~seed))
        if breaks:
            for start in sorted(rng.uniform(0, 1.5) for _ in range(rng.randint(1, 3))):
                self.at(start, self.break_link)

    def schedule(self, rng: random.Random) -> None:
        """Independent: the scheduler or a coin moves the aggregating side, and the device is impatient at times."""
        for node in self.nodes.values():
            if isinstance(node.dialogue.exchange, AggregatorExchange):
                node.dialogue.exchange.scheduler.rtt_s = 2 * self.delay
                if self.salt % 4:
                    node.dialogue.exchange.scheduler = Coin(rng)
        if self.begin.method == "independent" and self.breaks:
            for _ in range(rng.randint(0, 2)):
                self.at(rng.uniform(0, 1.5), lambda: self.lose_patience(rng.uniform(0.0, 0.5)))

    def at(self, time_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self.events, (time_s, next(self.order), action))

    def run(self) -> None:
        for side in self.nodes:
            self.work(side)
        device = self.nodes["device"].dialogue.exchange
        while self.events and not device.ended:
            self.now, _, action = heapq.heappop(self.events)
            assert self.now < 300, "the exchange does not come to an end"
            action()
        assert device.ended, "deadlock: nothing left to happen and the answer is not complete"

    def work(self, side: str) -> None:
        node = self.nodes[side]
        exchange = node.dialogue.exchange
        step = exchange.next_step()
        if node.busy or step is None:
            return
        node.busy = True
        prefix, ids = exchange.drafted.digest, list(exchange.drafted.ids)

        decode_s = node.decode_s()

        def done() -> None:
            node.busy = False
            turn = node.dialogue.own(step, prefix, law_of(side, self.salt, ids, self.begin), LOG_H[side], decode_s)
            self.take(side, turn or Effects())

        self.at(self.now + decode_s, done)

    def take(self, side: str, turn: Effects) -> None:
        node = self.nodes[side]
        node.ids += [confirmed.token for confirmed in turn.confirmed]
        node.sources += [confirmed.source for confirmed in turn.confirmed]
        for _, message in turn.send:
            self.send(side, message)
        self.work(side)

    def send(self, side: str, message: wire.Message) -> None:
        other = "cloud" if side == "device" else "device"
        self.sent[side][type(message)] += 1
        if not self.link_up:
            return
        if self.near_ties and side == "device" and isinstance(message, wire.Draft) and self.rng.random() < 0.05:
            message = self.forge_near_tie(message)
        frames, link_id = encode(message), self.link_id
        self.arrival[other] = max(self.arrival[other], self.now + self.delay * self.rng.uniform(0.5, 1.5))

        def arrive() -> None:
            if self.link_up and self.link_id == link_id:
                self.take(other, self.nodes[other].dialogue.receive(decode(frames)))

        self.at(self.arrival[other], arrive)

    def forge_near_tie(self, message: wire.Draft) -> wire.Draft:
        """The cloud sees other numbers than the device sent: stands for a last bit that differs between processors."""
        if self.begin.unit == "word":
            forged = replace(word_messages.decode(message.payload), count=self.rng.randint(1, SCALE))
            return msgspec.structs.replace(message, payload=word_messages.encode(forged))
        seen = codec.decode(message.payload)
        shuffled = np.random.default_rng(message.step).permutation(seen.counts)
        return msgspec.structs.replace(message, payload=codec.encode(replace(seen, counts=shuffled)))

    def break_link(self) -> None:
        self.link_up = False
        self.link_id += 1
        liveness = self.rng.uniform(0.05, 0.3)
        back = self.now + self.rng.uniform(0.01, 0.6)
        self.at(self.now + liveness, lambda: self.link_up or self.take("device", self.alone()))
        self.at(back, self.heal)

    def lose_patience(self, retry_s: float) -> None:
        """The cloud is late: the device goes on alone without a break, and greets the cloud again later."""
        if self.link_up and self.nodes["device"].dialogue.exchange.awaits_peer():
            self.take("device", self.alone())
            self.at(self.now + retry_s, lambda: self.link_up and self.take("device", self.rejoin()))

    def rejoin(self) -> Effects:
        return self.nodes["device"].dialogue.rejoin()

    def alone(self) -> Effects:
        return self.nodes["device"].dialogue.go_alone()

    def heal(self) -> None:
        self.link_up = True
        self.arrival = dict.fromkeys(self.arrival, self.now)
        self.take("device", self.rejoin())


def check(
    seed: int, aggregation: str, *, breaks: bool, near_ties: bool, shares_drafts: bool = True, unit: str = "token"
) -> World:
    world = World(seed, aggregation, breaks=breaks, near_ties=near_ties, shares_drafts=shares_drafts, unit=unit)
    world.run()
    device = world.nodes["device"]
    solo = frozenset(step for step, source in enumerate(device.sources) if source == "solo")
    assert device.ids == reference(world.begin, world.salt, solo), f"seed {seed}"
    assert device.ids == device.dialogue.exchange.confirmed.ids
    found = [trace.part for trace in device.dialogue.exchange.traces]
    assert found == (parts_of_words if unit == "word" else parts)(world, device.ids, solo), f"seed {seed}"
    return world


def parts(world: World, ids: list[int], solo: frozenset[int]) -> list[float]:
    """The device's part in the probability of each of these tokens."""
    eta, found = eta_device(LOG_H["device"], LOG_H["cloud"]), []
    for step, token in enumerate(ids):
        device, cloud = (model(side, world.salt, ids[:step]) for side in ("device", "cloud"))
        found.append(1.0 if step in solo else device_part(device, cloud, eta, token))
    return found


def parts_of_words(world: World, words: list[int], solo: frozenset[int]) -> list[float]:
    """The device's part in each of these words: the coin's, or by the shares of who proposed it."""
    eta, found = eta_device(LOG_H["device"], LOG_H["cloud"]), []
    for step, number in enumerate(words):
        device, cloud = (word(side, world.salt, words[:step], world.begin) for side in ("device", "cloud"))
        if step in solo:
            found.append(1.0)
        elif world.begin.sampling.temperature > 0:
            found.append(float(coin(world.begin.sampling.seed, step, 1 << 24) < eta * (1 << 24)))
        else:
            had = eta * device.of(number), (1.0 - eta) * cloud.of(number)
            found.append(had[0] / (had[0] + had[1]))
    return found
