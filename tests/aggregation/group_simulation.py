"""A group on a simulated star of links, driven by the code that daemons run, and the reference for its tokens."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import numpy as np
from simulation import VOCABULARY, model, opening

from hocket_bus import messages as wire
from hocket_bus.messages import Begin
from hocket_bus.wire import decode, encode
from hocket_daemon.aggregation.dialogue import Dialogue, Effects
from hocket_daemon.aggregation.exchange.sampler import etas, mixture
from hocket_daemon.aggregation.group.group_member import GroupMember, Patience
from hocket_daemon.aggregation.weights.likelihood_ratio import advantages, steps_of
from hocket_daemon.aggregation.weights.relevance import weighed_by
from hocket_daemon.engine.sampling.distribution import Distribution, truncate
from hocket_daemon.engine.sampling.drawing import Rule, draw

LEADER = ""
MOST_SAY = 0.8
PATIENCE = Patience(0.3, 0.6)


def law(name: str, salt: int, prefix: list[int]) -> Distribution:
    """A party's distribution: all half agree, and in every second session they are rather sure of what they say."""
    if name == LEADER and salt % 2:
        return model("device", salt, prefix)
    common = np.random.default_rng([salt, 7, *prefix]).normal(size=VOCABULARY)
    own = np.random.default_rng([salt, 100 + sum(name.encode()), *prefix]).normal(size=VOCABULARY)
    weights = np.exp((1.5 * common + own) * (1 if salt % 2 else 4))
    return truncate(weights / weights.sum(), 0.98)


def log_h(name: str, begin: Begin, step: int) -> float:
    """Of the asked device more than of any member, and otherwise whenever it is weighed again."""
    salt, prefix = int.from_bytes(begin.session, "big"), weighed_by(step, begin.reweigh_every)
    own = float(np.random.default_rng([salt, 50 + sum(name.encode()), prefix]).normal())
    return own + (2.0 if name == LEADER else 0.0)


def likelihoods(name: str, salt: int) -> np.ndarray:
    return -np.random.default_rng([salt, 60 + sum(name.encode())]).exponential(2.0, size=9)


def reference(begin: Begin, salt: int, roster: list[tuple[str, ...]]) -> list[int]:
    """One process that holds all distributions, relative to who took part in each step."""
    rule = Rule(begin.sampling.seed, begin.sampling.temperature, begin.sampling.top_p)
    ids: list[int] = []
    for step, members in enumerate(roster):
        names = [LEADER, *members]
        more = advantages([steps_of(likelihoods(name, salt)) for name in names]) if members else [0.0]
        most = MOST_SAY if len(members) > 1 else 1.0  # one alone is as the other side of a pair
        shares = etas([log_h(name, begin, step) + by for name, by in zip(names, more, strict=True)], most)
        parts = [(share, law(name, salt, ids)) for name, share in zip(names, shares, strict=True)]
        ids.append(draw(rule, step, *(mixture(parts) if members else (parts[0][1].ids, parts[0][1].probabilities))))
    return ids


@dataclass
class Far:
    """A member at its own machine, and the link to it."""

    name: str
    decode_s: float
    delay_s: float
    dialogue: Dialogue | None = None  # none before an opening came, and behind a restart
    busy: bool = False
    up: bool = True
    life: int = 0
    arrival: dict[str, float] = field(default_factory=lambda: {"there": 0.0, "here": 0.0})


class GroupWorld:
    """The asked device with its members; links have delays, lose what is under way when they break, and heal."""

    def __init__(self, seed: int, members: int, *, breaks: bool = False) -> None:
        rng = self.rng = random.Random(seed)
        self.salt, self.breaks = seed, breaks
        most = 120 if breaks else 30
        begin = opening(seed, rng, "coupled", most_tokens=most, weights="likelihood", relevance_temperature=0.05)
        self.begin = msgspec.structs.replace(begin, reweigh_every=rng.choice([1, 4, 16]))
        self.leader = Dialogue("device", self.begin, judges="leader", most_say=MOST_SAY, vocabulary=VOCABULARY)
        self.leader.add_likelihoods(likelihoods(LEADER, seed))
        self.leader.exchange.window = rng.randint(1, 8)
        self.decode_s, self.busy, self.ids = rng.uniform(0.001, 0.05), False, list[int]()
        names = [f"m{at}" for at in range(members)]
        delay = rng.choice([0.0, 0.01, 0.15])
        self.remote = {name: Far(name, rng.uniform(0.001, 0.05), delay * rng.uniform(0.2, 1.5)) for name in names}
        self.near: dict[str, GroupMember] = {}
        self.killed: set[str] = set()
        self.drafted: set[tuple[str, int, int]] = set()  # of whom, of which step, behind what
        self.unneeded = 0  # drafts of who took part in a step that had not come when it was decided
        self.now, self.events, self.order = 0.0, [], itertools.count()
        for name in names:
            late_s = rng.uniform(0.0, 1.0) if breaks and rng.random() < 0.3 else 0.0  # found later than others
            self.at(late_s, lambda name=name: self.invite(name))
        if breaks:
            for name in names:
                for start in sorted(rng.uniform(0, 1.5) for _ in range(rng.randint(0, 3))):
                    self.at(start, lambda name=name: self.break_link(name))

    def at(self, time_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self.events, (time_s, next(self.order), action))

    @property
    def roster(self) -> list[tuple[str, ...]]:
        """Return the members that took part in each step."""
        return [tuple(trace.others) for trace in self.leader.exchange.traces]

    def run(self) -> None:
        self.work_near()
        while not self.leader.exchange.ended:
            due_s = min((each.due_s for each in self.near.values()), default=np.inf)
            assert self.events or due_s < np.inf, "deadlock: nothing left to happen and the answer is not complete"
            if self.events and self.events[0][0] <= due_s:
                self.now, _, action = heapq.heappop(self.events)
                action()
            else:
                self.now = max(self.now, due_s)
                self.tick()
            assert self.now < 600, "the exchange does not come to an end"

    # --- the asked device, as GroupLeader carries it out

    def invite(self, name: str) -> None:
        self.near[name] = GroupMember(PATIENCE, 2 * self.remote[name].delay_s, self.now)
        self.open(name)
        self.changed()

    def open(self, name: str) -> None:
        behind = self.leader.open(name)
        self.near[name].on_asked()
        begin = msgspec.structs.replace(self.begin, epoch=self.leader.epoch_of(name))
        for message in (begin, *behind):
            self.send(name, "there", message)

    def changed(self) -> None:
        self.take_near(self.leader.set_present(name for name, each in self.near.items() if each.awaited))

    def take_near(self, effects: Effects) -> None:
        self.ids += [each.token for each in effects.confirmed]
        exchange = self.leader.exchange
        for each in effects.confirmed:
            behind = exchange.confirmed.at(each.step)
            there = exchange.traces[each.step].others
            self.unneeded += sum((name, each.step, behind) not in self.drafted for name in there)
        for name, message in effects.send:
            self.send(name, "there", message)
        lacking, step = exchange.lacking(), len(exchange.confirmed)
        for name, each in self.near.items():
            each.on_lacking(self.now, step if name in lacking else None)
        self.work_near()

    def work_near(self) -> None:
        exchange = self.leader.exchange
        step = exchange.next_step()
        if self.busy or step is None:
            return
        self.busy, prefix, ids = True, exchange.drafted.digest, list(exchange.drafted.ids)

        def done() -> None:
            self.busy = False
            drawn = law(LEADER, self.salt, ids)
            self.take_near(self.leader.own(step, prefix, drawn, log_h(LEADER, self.begin, step), self.decode_s))

        self.at(self.now + self.decode_s * self.rng.uniform(0.5, 1.5), done)

    def tick(self) -> None:
        for name, each in self.near.items():
            if each.tick(self.now) == "ask anew":
                self.open(name)
        self.changed()

    def hear(self, name: str, message: wire.Message) -> None:
        """A message of a member's."""
        if isinstance(message, wire.Subscribed):  # stands for the empty box: it takes part, and reads
            self.near[name].on_sign(self.now)
        elif isinstance(message, wire.Ready):
            self.near[name].on_ready()
            self.changed()
        else:
            if isinstance(message, wire.Draft) and self.leader.is_current(name, message):
                self.drafted.add((name, message.step, message.prefix))
            self.take_near(self.leader.receive(message, name))  # type: ignore[arg-type]

    # --- the members, as Follower carries it out

    def receive(self, name: str, message: wire.Message) -> None:
        remote = self.remote[name]
        if isinstance(message, Begin):
            if remote.dialogue is None:
                remote.dialogue = Dialogue("cloud", message, vocabulary=VOCABULARY)
                remote.dialogue.add_likelihoods(likelihoods(name, self.salt))
                remote.dialogue.exchange.window = self.rng.randint(1, 8)
                self.send(name, "here", wire.Subscribed())
                self.at(self.now + self.rng.uniform(0.0, 0.2), lambda life=remote.life: self.read(name, life))
            elif message.epoch >= remote.dialogue.epoch:
                self.ready(name)
        elif remote.dialogue is not None:
            self.take_far(name, remote.dialogue.receive(message))  # type: ignore[arg-type]

    def read(self, name: str, life: int) -> None:
        if self.remote[name].life == life:
            self.ready(name)
            self.work_far(name)

    def ready(self, name: str) -> None:
        dialogue = self.remote[name].dialogue
        assert dialogue is not None
        said = wire.Ready(
            session=self.begin.session,
            epoch=dialogue.epoch,
            documents=2,
            best=0.5,
            scorer="",
            scorers=[],
            retrieval_s=0.0,
            prefill_s=0.0,
        )
        self.send(name, "here", said)

    def take_far(self, name: str, effects: Effects) -> None:
        for _, message in effects.send:
            self.send(name, "here", message)
        self.work_far(name)

    def work_far(self, name: str) -> None:
        remote = self.remote[name]
        dialogue = remote.dialogue
        if dialogue is None or remote.busy or (step := dialogue.exchange.next_step()) is None:
            return
        exchange = dialogue.exchange
        remote.busy, prefix, ids, life = True, exchange.drafted.digest, list(exchange.drafted.ids), remote.life

        def done() -> None:
            if remote.life != life:
                return
            remote.busy = False
            drawn = law(name, self.salt, ids)
            self.take_far(name, dialogue.own(step, prefix, drawn, log_h(name, self.begin, step), remote.decode_s))

        self.at(self.now + remote.decode_s * self.rng.uniform(0.5, 1.5), done)

    # --- the links

    def send(self, name: str, way: str, message: wire.Message) -> None:
        remote = self.remote[name]
        if not remote.up:
            return
        frames, life = encode(message), remote.life
        remote.arrival[way] = max(remote.arrival[way], self.now + remote.delay_s * self.rng.uniform(0.5, 1.5))

        def arrive() -> None:
            if remote.up and remote.life == life:
                (self.receive if way == "there" else self.hear)(name, decode(frames))

        self.at(remote.arrival[way], arrive)

    def break_link(self, name: str) -> None:
        """What is under way is lost; at times the member has been killed, and starts without the session."""
        remote = self.remote[name]
        remote.up = False
        remote.life += 1
        remote.busy = False
        if self.rng.random() < 0.5:
            remote.dialogue = None
            self.killed.add(name)

        def heal() -> None:
            remote.up = True
            remote.arrival = dict.fromkeys(remote.arrival, self.now)
            self.work_far(name)

        self.at(self.now + self.rng.uniform(0.01, 1.5), heal)


def check(seed: int, members: int, *, breaks: bool = False) -> GroupWorld:
    """The answer ends, and its ids are those of one process over the recorded members."""
    world = GroupWorld(seed, members, breaks=breaks)
    world.run()
    exchange = world.leader.exchange
    assert world.ids == exchange.confirmed.ids
    assert world.ids == reference(world.begin, seed, world.roster), f"seed {seed}"
    for each in world.remote.values():  # nobody is ahead of the device's word
        if each.dialogue is not None:
            theirs = each.dialogue.exchange.confirmed.ids
            assert theirs == world.ids[: len(theirs)], f"seed {seed}"
    return world
