"""Two sides, a link and a clock that jumps from event to event.

A draft is valid when it was made after its side had learned of every rejection of its own before it. The replayed
decisions alone say how many those are, so a draft carries that number as its epoch (the prefix digest of the real
exchange). Rejection interrupts a decode at once; aggregating takes no time; messages of one direction keep order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from statistics import fmean
from typing import Literal

from hocket_bus.messages import Side
from hocket_daemon.aggregation.exchange.lookahead import draft_window
from hocket_daemon.aggregation.exchange.schedule import latency_difference, other

from .recording import Sequence
from .roundtrip import RoundTrip
from .strategies import Chooser, Strategy

SIDES: tuple[Side, Side] = ("device", "cloud")
Work = Literal["decode", "draft", "target", "switch"]


@dataclass(frozen=True, slots=True)
class Span:
    """A time span on a side: a decode, or a message on its way from there."""

    side: Side
    work: Work
    step: int
    start_s: float
    end_s: float
    used: bool = True


@dataclass(frozen=True, slots=True)
class Moment:
    """The scheduler's knowledge at an aggregation; ΔZ is device minus cloud, positive where the cloud was better."""

    now_s: float
    side: Side
    rtt_s: float
    delta_s: float
    alpha_device: float
    alpha_cloud: float


@dataclass(slots=True)
class Outcome:
    """The outcome of a simulated answer: when the device had each token, and what it took."""

    token_s: list[float]
    drafts: int
    switches: int
    spans: list[Span]
    moments: list[Moment]

    @property
    def gaps_s(self) -> list[float]:
        """Seconds between neighbouring tokens."""
        return [later - earlier for earlier, later in pairwise(self.token_s)]


@dataclass(slots=True)
class _Side:
    """The drafts of one side by step (with their epoch), what it has confirmed, and the decode under way."""

    accepted: list[bool]
    decode_s: list[float]
    mean_decode_s: float
    valid: list[int]  # the epoch a draft of step t must have
    aggregates: bool
    own: dict[int, int] = field(default_factory=dict)
    remote: dict[int, int] = field(default_factory=dict)
    drafted: int = 0
    epoch: int = 0
    decoding: Span | None = None
    confirmed_s: list[float] = field(default_factory=list)
    last_arrival_s: float = 0.0


def simulate(sequence: Sequence, strategy: Strategy, rtt: RoundTrip, seed: int = 0) -> Outcome:
    """Replay one answer; `seed` is that of the random choice of sides."""
    run = _Run(sequence, strategy, rtt, Chooser(strategy.switching, seed))
    for name in SIDES:
        run.decode(name)
    while len(run.sides["device"].confirmed_s) < sequence.tokens:
        run.step()
    return run.outcome()


class _Run:
    def __init__(self, sequence: Sequence, strategy: Strategy, rtt: RoundTrip, chooser: Chooser) -> None:
        accepted = sequence.accepted(strategy.decisions)
        self.sides = {name: _side(getattr(accepted, name), getattr(sequence.decode_s, name)) for name in SIDES}
        for name in strategy.aggregators:
            self.sides[name].aggregates = True
        self._tokens = sequence.tokens
        self._strategy = strategy
        self._rtt = rtt
        self._chooser = chooser
        self._now_s = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = 0
        self._drafts = self._switches = 0
        self._spans: list[Span] = []
        self._moments: list[Moment] = []

    def step(self) -> None:
        """Let the next event happen."""
        self._now_s, _, happen = heapq.heappop(self._events)
        happen()

    def outcome(self) -> Outcome:
        return Outcome(self.sides["device"].confirmed_s, self._drafts, self._switches, self._spans, self._moments)

    def decode(self, name: Side) -> None:
        """Start the decode of the next step, if the side is idle and its window has room."""
        side = self.sides[name]
        ahead = side.drafted - len(side.confirmed_s)
        if side.decoding is not None or side.drafted >= self._tokens or ahead >= self._window(side):
            return
        seconds = side.decode_s[side.drafted]
        span = side.decoding = Span(name, "decode", side.drafted, self._now_s, self._now_s + seconds)
        self._at(span.end_s, lambda: self._decoded(name, span))

    def _window(self, side: _Side) -> int:
        return draft_window(self._rtt(self._now_s), side.mean_decode_s) if self._strategy.ahead else 1

    def _decoded(self, name: Side, span: Span) -> None:
        side = self.sides[name]
        if side.decoding is not span:
            return  # interrupted
        side.decoding = None
        step, epoch, receiver = span.step, side.epoch, self.sides[other(name)]
        side.own[step] = epoch
        side.drafted = step + 1
        self._drafts += 1
        valid = epoch == side.valid[step]
        self._spans.append(Span(name, "decode", step, span.start_s, self._now_s, valid))

        def arrive() -> None:
            receiver.remote[step] = epoch
            self._aggregate(other(name))

        self._send(name, "draft", step, arrive, used=valid)
        self._aggregate(name)
        self.decode(name)

    def _aggregate(self, name: Side) -> None:
        side = self.sides[name]
        while side.aggregates and self._ready(name):
            step = len(side.confirmed_s)
            self._confirm(name)
            self._observe(name, step)
            if len(self._strategy.aggregators) == 1:
                self._hand_over(name, step)

    def _ready(self, name: Side) -> bool:
        """Tell whether the side holds both valid drafts of its next step."""
        side, step = self.sides[name], len(self.sides[name].confirmed_s)
        if step == self._tokens:
            return False
        own, remote = side.valid[step], self.sides[other(name)].valid[step]
        return side.own.get(step) == own and side.remote.get(step) == remote

    def _confirm(self, name: Side) -> None:
        """Give the side the target of its next step; a rejected draft takes its successors with it."""
        side = self.sides[name]
        step = len(side.confirmed_s)
        side.confirmed_s.append(self._now_s)
        if not side.accepted[step]:
            side.epoch += 1
            side.drafted = step + 1
            if side.decoding is not None:
                cut = side.decoding
                self._spans.append(Span(name, "decode", cut.step, cut.start_s, self._now_s, used=False))
                side.decoding = None
        self.decode(name)

    def _hand_over(self, name: Side, step: int) -> None:
        receiver, next_side = other(name), self._chooser.next_side(name)
        switched = next_side != name
        self.sides[name].aggregates = not switched
        self._switches += switched

        def arrive() -> None:
            self._confirm(receiver)
            if switched:
                self.sides[receiver].aggregates = True
                self._aggregate(receiver)

        self._send(name, "switch" if switched else "target", step, arrive)

    def _observe(self, name: Side, step: int) -> None:
        """Tell the scheduler what an aggregation shows; where both sides aggregate, the device's counts."""
        if len(self._strategy.aggregators) == 2 and name == "cloud":
            return
        scheduler = self._chooser.scheduler
        scheduler.rtt_s = self._rtt(self._now_s)
        for each, side in self.sides.items():
            scheduler.observe(each, side.decode_s[step], float(side.accepted[step]))
        c_dec, alpha = scheduler.c_dec, scheduler.alpha
        delta_s = latency_difference(c_dec["device"], c_dec["cloud"], scheduler.rtt_s, alpha["device"], alpha["cloud"])
        self._moments.append(Moment(self._now_s, name, scheduler.rtt_s, delta_s, alpha["device"], alpha["cloud"]))

    def _send(self, name: Side, work: Work, step: int, arrive: Callable[[], None], used: bool = True) -> None:
        receiver = self.sides[other(name)]
        receiver.last_arrival_s = max(receiver.last_arrival_s, self._now_s + self._rtt(self._now_s) / 2)
        self._spans.append(Span(name, work, step, self._now_s, receiver.last_arrival_s, used))
        self._at(receiver.last_arrival_s, arrive)

    def _at(self, when_s: float, happen: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._events, (when_s, self._order, happen))


def _side(accepted: list[bool], decode_s: list[float]) -> _Side:
    rejected_before = list(accumulate((not bit for bit in accepted[:-1]), initial=0))
    return _Side(accepted, decode_s, fmean(decode_s), rejected_before, aggregates=False)
