"""A group, or two sides, each party on a machine of its own: the daemons' own state machines in virtual time.

Every step takes as long as is set, a message a one-way delay with jitter, in order; searching, reading, aggregating and
relaying take no time. A party's distribution after a prefix is looked up. Where it is not known the run stops until it
has been added, so that a model is asked for all that is being drafted at once.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from statistics import fmean
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket_bus import messages as wire
from hocket_bus.messages import Begin, Side
from hocket_daemon.aggregation.dialogue import Dialogue, Effects, PeerMessage
from hocket_daemon.aggregation.exchange.parties import LEADER
from hocket_daemon.aggregation.exchange.session_terms import Confirmed
from hocket_daemon.aggregation.group.group_member import GroupMember, Patience
from hocket_daemon.aggregation.patience import LEAST_S
from hocket_daemon.aggregation.settings import GroupSettings
from hocket_daemon.engine.sampling.distribution import Distribution

_FINDING = "?"  # takes the members' place until it is known who they are


class Place(NamedTuple):
    """A point at which a party drafts: its number, 0 for the asked device, and the answer's tokens so far."""

    party: int
    ids: tuple[int, ...]


class Law(NamedTuple):
    """The distribution and the `log_h` that a party drafts at a place."""

    distribution: Distribution
    log_h: float | None


Laws: TypeAlias = MutableMapping[Place, Law]
Cause = Literal["first", "rejected", "window", "pace"]  # what a draft was begun behind


@dataclass(frozen=True, slots=True)
class Weather:
    """Seconds of a step and of a one-way delay, the jitter as a share of it, and the seed that draws it."""

    hold_s: float
    delay_s: float
    jitter: float
    seed: int


@dataclass(frozen=True, slots=True)
class Waited:
    """The wait between two tokens, in seconds, and the cause for which the draft that came last was begun."""

    seconds: float
    cause: Cause


@dataclass(slots=True, eq=False)
class _Machine:
    """The machine of a party: one step at a time, which is broken off where the tokens before it no longer hold."""

    party: int
    talk: Dialogue
    rtt_s: float
    ready: bool = False  # it has read the question
    decoding: Place | None = None
    cause: Cause = "first"  # of the next step
    causes: dict[int, Cause] = field(default_factory=dict)
    drafts: int = 0

    @property
    def place(self) -> Place:
        """Return the place at which the next step is to be drafted."""
        return Place(self.party, tuple(self.talk.exchange.drafted.ids))


class Run:
    """The run of one answer in virtual time: what groups and two sides have in common."""

    def __init__(self, machines: Sequence[_Machine], laws: Laws, weather: Weather) -> None:
        self.machines, self.confirmed_s = machines, list[float]()
        self.waited: list[Waited] = []
        self._news: list[Confirmed] = []
        self._laws, self._weather, self._random = laws, weather, random.Random(weather.seed)
        self.now_s, self._order = 0.0, count()
        self._events: list[tuple[float, int, Callable[[], None], tuple[_Machine, Place] | None]] = []
        self._arrival_s: dict[tuple[int, int], float] = {}
        self._last: tuple[float, Cause] = (0.0, "first")  # what has come last to where it is confirmed

    @property
    def ids(self) -> list[int]:
        """The answer so far, as the asked device has it."""
        return self.machines[0].talk.exchange.confirmed.ids

    def advance(self) -> list[Place]:
        """Go on until the answer is whole, or until laws are missing, which are returned."""
        while not self.machines[0].talk.exchange.ended:
            due_s = self._due_s()
            assert self._events or due_s < np.inf, "nothing is left to happen, and the answer is not whole"
            if not self._events or due_s < self._events[0][0]:
                self.now_s = max(self.now_s, due_s)
                self._on_time()
                continue
            at_s, _, action, decode = self._events[0]
            if decode is not None and decode[0].decoding is decode[1] and decode[1] not in self._laws:
                return [place for place in self._under_way() if place not in self._laws]
            heapq.heappop(self._events)
            self.now_s = at_s
            action()
        return []

    @property
    def accepted(self) -> list[float]:
        """Return for each party the share of steps at which its draft was the token, the asked device first."""
        raise NotImplementedError

    @property
    def stalled(self) -> list[bool]:
        """Return for each step whether the draft of anybody but the asked device was not the token."""
        raise NotImplementedError

    @property
    def roster(self) -> list[tuple[int, ...]]:
        """Return for each step the parties that had part in it beside the asked device."""
        raise NotImplementedError

    def _due_s(self) -> float:
        return float("inf")

    def _on_time(self) -> None:
        """Do what is due; nothing waits for a time, unless a group does."""

    def _under_way(self) -> Iterator[Place]:
        return (each.decoding for each in self.machines if each.decoding is not None)

    def _at(self, at_s: float, action: Callable[[], None], decode: tuple[_Machine, Place] | None = None) -> None:
        heapq.heappush(self._events, (at_s, next(self._order), action, decode))

    def _send(self, way: tuple[int, int], arrive: Callable[[], None], share: float = 1.0) -> None:
        """Send from one party to another; `share` is the part of the whole way's delay that it takes."""
        jitter = 1.0 + self._weather.jitter * self._random.uniform(-1.0, 1.0)
        at_s = max(self._arrival_s.get(way, 0.0), self.now_s + share * self._weather.delay_s * jitter)
        self._arrival_s[way] = at_s
        self._at(at_s, arrive)

    def _draft(self, machine: _Machine) -> None:
        """Draft the next step where there is one, and break off a stale one, as Drafter.draft_next does."""
        exchange = machine.talk.exchange
        if machine.decoding is not None and machine.decoding.ids != machine.place.ids:
            machine.decoding, machine.cause = None, "rejected"
        if machine.decoding is not None or not machine.ready:
            return
        step = exchange.next_step()
        if step is None:
            if machine.cause == "pace" and not exchange.ended:
                machine.cause = "window"
            return
        place = machine.decoding = machine.place
        prefix = exchange.drafted.digest
        machine.causes[step], machine.cause = machine.cause, "pace"

        def done() -> None:
            if machine.decoding is not place:
                return
            machine.decoding = None
            machine.drafts += 1
            self._drafted(machine, step, prefix, self._laws[place])
            if step:
                exchange.pace(machine.rtt_s, self._weather.hold_s)
                self._draft(machine)

        self._at(self.now_s + self._weather.hold_s, done, (machine, place))

    def _drafted(self, machine: _Machine, step: int, prefix: int, law: Law) -> None:
        """Act on a finished draft."""
        raise NotImplementedError

    def _came(self, machine: _Machine, step: int, prefix: int) -> None:
        """Note a draft of the current step that has come to where the answer is confirmed."""
        if step == len(self.ids) and prefix == self.machines[0].talk.exchange.confirmed.digest:
            self._last = (self.now_s, machine.causes.get(step, "pace"))

    def _publish(self, confirmed: Sequence[Confirmed]) -> None:
        self._news += confirmed
        for _ in confirmed:
            before_s = self.confirmed_s[-1] if self.confirmed_s else 0.0
            self.waited.append(Waited(self.now_s - before_s, self._last[1]))
            self.confirmed_s.append(self.now_s)
            self._last = (self.now_s, "pace")

    @staticmethod
    def _see_rejected(machine: _Machine, rollbacks: int) -> None:
        """Note that the next step begins after a rejection, where there has been one since."""
        if machine.talk.exchange.rollbacks > rollbacks:
            machine.cause = "rejected"


class Sides(Run):
    """The run of a device and its cloud, which both aggregate."""

    def __init__(self, begin: Begin, likelihoods: Sequence[NDArray[np.float64]], laws: Laws, weather: Weather) -> None:
        """Begin a run; `likelihoods` are those of the question's tokens by each side's passages, the device's first."""
        sides: tuple[Side, Side] = ("device", "cloud")
        self._talks = [Dialogue(side, begin) for side in sides]
        for talk, logs in zip(self._talks, likelihoods, strict=True):
            talk.add_likelihoods(logs)
        rtt_s = 2 * weather.delay_s
        super().__init__([_Machine(at, talk, rtt_s) for at, talk in enumerate(self._talks)], laws, weather)
        self._begin_at(self.machines[0])
        self._send((0, 1), lambda: self._begin_at(self.machines[1]))

    @property
    def accepted(self) -> list[float]:
        """Return the share of the device's drafts and of the cloud's that were the token."""
        return [fmean(each.own for each in self._news), fmean(each.remote for each in self._news)]

    @property
    def stalled(self) -> list[bool]:
        """Return for each step whether the cloud's draft was not the token."""
        return [not each.remote for each in self._news]

    @property
    def roster(self) -> list[tuple[int, ...]]:
        """Return for each step the cloud's number, or nothing where the device was alone."""
        return [() if each.source == "solo" else (1,) for each in self._news]

    def _begin_at(self, machine: _Machine) -> None:
        machine.ready = True
        self._draft(machine)

    def _drafted(self, machine: _Machine, step: int, prefix: int, law: Law) -> None:
        talk = self._talks[machine.party]
        if machine.party == 0:
            self._came(machine, step, prefix)
        rollbacks = talk.exchange.rollbacks
        self._act(machine, talk.own(step, prefix, *law, self._weather.hold_s), rollbacks)

    def _receive(self, machine: _Machine, message: wire.Message) -> None:
        talk, sender = self._talks[machine.party], self.machines[1 - machine.party]
        if machine.party == 0 and isinstance(message, wire.Draft):
            self._came(sender, message.step, message.prefix)
        rollbacks = talk.exchange.rollbacks
        assert isinstance(message, PeerMessage)
        self._act(machine, talk.receive(message), rollbacks)

    def _act(self, machine: _Machine, effects: Effects, rollbacks: int) -> None:
        self._see_rejected(machine, rollbacks)
        if machine.party == 0:
            self._publish(effects.confirmed)
        for _, message in effects.send:
            self._send(
                (machine.party, 1 - machine.party), partial(self._receive, self.machines[1 - machine.party], message)
            )
        self._draft(machine)


class Group(Run):
    """The run of the asked device and its members, as GroupLeader and Follower carry the exchange out."""

    def __init__(self, begin: Begin, likelihoods: Sequence[NDArray[np.float64]], laws: Laws, weather: Weather) -> None:
        """Begin a run; `likelihoods` are those of the question's tokens by each party's passages.

        The asked device's come first.
        """
        settings, rtt_s = GroupSettings(), 2 * weather.delay_s
        self._patience = Patience(settings.patience_ms / 1000, settings.reading_s or LEAST_S)
        self._begin, self._names = begin, [f"m{party}" for party in range(1, len(likelihoods))]
        self._leader = Dialogue("device", begin, judges="leader", most_say=settings.most_say)
        members = [Dialogue("cloud", begin) for _ in self._names]
        self._leader.add_likelihoods(likelihoods[0])
        for talk, logs in zip(members, likelihoods[1:], strict=True):
            talk.add_likelihoods(logs)
        self._members, self._near = members, dict[str, GroupMember]()
        near = _Machine(0, self._leader, 0.0, ready=True)
        super().__init__([near, *(_Machine(at, talk, rtt_s) for at, talk in enumerate(members, 1))], laws, weather)
        self._leader.set_present((_FINDING,))
        self._draft(near)
        self._send((0, 0), lambda: self._send((0, 0), self._found, 0.5), 0.5)  # the cloud is half-way to a member

    @property
    def stalled(self) -> list[bool]:
        """Return for each step whether the draft of a member that had part in it was not the token."""
        return [not set(trace.others) <= trace.drafted for trace in self._leader.exchange.traces]

    @property
    def accepted(self) -> list[float]:
        """Return the share of the asked device's drafts and of each member's that were the token."""
        traces = self._leader.exchange.traces
        return [sum(name in trace.drafted for trace in traces) / len(traces) for name in (LEADER, *self._names)]

    @property
    def roster(self) -> list[tuple[int, ...]]:
        """Return for each step the members that had part in it."""
        traces = self._leader.exchange.traces
        return [tuple(self._names.index(name) + 1 for name in trace.others) for trace in traces]

    def _found(self) -> None:
        self.machines[0].rtt_s = 2 * self._weather.delay_s
        for party, name in enumerate(self._names, 1):
            self._near[name] = GroupMember(self._patience, self.machines[party].rtt_s, self.now_s)
            self._open(party, name)
        self._changed()

    def _open(self, party: int, name: str) -> None:
        self._near[name].on_asked()
        behind = self._leader.open(name)
        begin = msgspec.structs.replace(self._begin, epoch=self._leader.epoch_of(name))
        for message in (begin, *behind):
            self._send((0, party), partial(self._receive, party, message))

    def _changed(self) -> None:
        self._act(self._leader.set_present(name for name, each in self._near.items() if each.awaited))

    def _due_s(self) -> float:
        return min((each.due_s for each in self._near.values()), default=float("inf"))

    def _on_time(self) -> None:
        for party, name in enumerate(self._names, 1):
            if self._near[name].tick(self.now_s) == "ask anew":
                self._open(party, name)
        self._changed()

    def _act(self, effects: Effects) -> None:
        self._publish(effects.confirmed)
        for name, message in effects.send:
            party = self._names.index(name) + 1
            self._send((0, party), partial(self._receive, party, message))
        lacking, step = self._leader.exchange.lacking(), len(self.ids)
        for name, each in self._near.items():
            each.on_lacking(self.now_s, step if name in lacking else None)
        self._draft(self.machines[0])

    def _drafted(self, machine: _Machine, step: int, prefix: int, law: Law) -> None:
        rollbacks = machine.talk.exchange.rollbacks
        effects = machine.talk.own(step, prefix, *law, self._weather.hold_s)
        if machine.party == 0:
            self._came(machine, step, prefix)
            self._see_rejected(machine, rollbacks)
            self._act(effects)
        else:
            self._act_there(machine, effects)

    def _act_there(self, machine: _Machine, effects: Effects) -> None:
        for _, message in effects.send:
            self._send((machine.party, 0), partial(self._take, machine, message))
        self._draft(machine)

    def _receive(self, party: int, message: wire.Message) -> None:
        """Receive a message at a member."""
        machine, talk = self.machines[party], self._members[party - 1]
        if isinstance(message, Begin):
            machine.ready = True
            self._send((party, 0), partial(self._on_ready, party))
            self._draft(machine)
        elif isinstance(message, wire.Target | wire.Sync):
            rollbacks = talk.exchange.rollbacks
            effects = talk.receive(message)
            self._see_rejected(machine, rollbacks)
            self._act_there(machine, effects)

    def _on_ready(self, party: int) -> None:
        self._near[self._names[party - 1]].on_ready()
        self._changed()

    def _take(self, machine: _Machine, message: wire.Message) -> None:
        """Receive a member's message at the asked device."""
        name, asked = self._names[machine.party - 1], self.machines[0]
        if isinstance(message, wire.Draft) and self._leader.is_current(name, message):
            self._came(machine, message.step, message.prefix)
            rollbacks = asked.talk.exchange.rollbacks
            effects = self._leader.receive(message, name)
            self._see_rejected(asked, rollbacks)
            self._act(effects)
