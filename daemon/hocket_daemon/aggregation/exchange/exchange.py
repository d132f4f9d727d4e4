"""The draft exchange of one session, as one side sees it: rules R1–R6 of docs/aggregation.md.

A pure state machine: drafts and targets in, confirmed tokens out. It knows nothing of sockets, models or clocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hocket_bus.messages import Method, Side, Source

from ...engine.sampling.distribution import Distribution
from ...engine.sampling.drawing import Rule, draw
from ...engine.sampling.heads import Made, Probabilities, Table, within
from ...engine.sampling.ranking import UNRANKED, Ranking, ranking
from ...serving.records.sources import Trace
from ...serving.stream.prefix import PrefixChain
from ..steering import Guard, Steering, bounds
from .lookahead import MAX_LOOKAHEAD, draft_window
from .sampler import device_part, eta_device, mix, target
from .schedule import Scheduler, other

MAX_HELD = 4 * MAX_LOOKAHEAD  # steps beyond the confirmed ones; either side's drafts lie within two windows
_DRAFT_AHEAD: tuple[Method, ...] = ("coupled", "independent")


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A draft of one side for step `step`, conditioned on the tokens that `prefix` digests."""

    step: int
    prefix: int
    token: int
    distribution: Distribution
    log_h: float | None
    decode_s: float


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A target token and who proposed it; `own` and `remote` say whose draft it equals."""

    step: int
    token: int
    source: Source
    own: bool
    remote: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The target token of `step` after `prefix`, the drafts that it equals, and who aggregates the next step."""

    step: int
    prefix: int
    token: int
    accepted_device: bool
    accepted_cloud: bool
    aggregator: Side


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """The terms that both sides of a session agree on, whether this one shares its drafts, and how it guards itself."""

    session: bytes
    rule: Rule
    method: Method
    eos: frozenset[int]
    max_tokens: int
    scheduler: Callable[[], Scheduler] = Scheduler
    shares_drafts: bool = True
    guard: Guard = "off"
    logprobs: int | None = None  # of how many of the likeliest tokens, beside each confirmed one; None: of none


class Exchange:
    """The half of the draft exchange that one side holds."""

    announces = False  # whether the aggregating side tells the other one every target token

    def __init__(self, side: Side, terms: SessionTerms) -> None:
        self.window = 4 if terms.method in _DRAFT_AHEAD else 1
        self.solo = False
        self.out_of_step = False
        self.steered = False  # by the other side: nothing more is decided with it
        self._doubted = self._warned = False  # the other side may have steered the answer, which goes on
        self.likelihood_ratio = 0.0  # nats that the device's passages weigh more since they explain the question better
        self.corrections = 0
        self.rollbacks = 0
        self.confirmed = PrefixChain(terms.session, terms.rule.seed)
        self.drafted = PrefixChain(terms.session, terms.rule.seed)  # always extends `confirmed`
        self.traces: list[Trace] = []  # of the confirmed tokens
        self._side = side
        self._terms = terms
        self._steering = Steering(bounds(terms.guard)) if terms.guard != "off" else None
        self._own: dict[int, Draft] = {}
        self._parts: dict[int, Probabilities] = {}  # what each row gives to an own draft that is not confirmed
        self._remote: dict[int, Draft] = {}
        self._word: dict[int, int] = {}
        self._peer_confirmed = 0
        self._peer_at = (0, self.confirmed.digest)

    @property
    def ended(self) -> bool:
        """Tell whether the confirmed tokens end the answer: the last is an EOS, or there is no room for more."""
        ids = self.confirmed.ids
        return len(ids) >= self._terms.max_tokens or bool(ids and ids[-1] in self._terms.eos)

    @property
    def pushed(self) -> bool:
        """Tell whether the other side has pushed the answer so far that it must not see what comes without it."""
        return self._terms.guard == "leaves" and self._steering is not None and self._steering.has_pushed

    @property
    def settled(self) -> int:
        """The number of confirmed tokens that the other side had, too, in its last message."""
        length, digest = self._peer_at
        return length if length <= len(self.confirmed) and self.confirmed.at(length) == digest else 0

    @property
    def sends_drafts(self) -> bool:
        """Tell whether this side sends drafts: a device that aggregates alone, as in `sync`, keeps them to itself."""
        return self._side == "cloud" or (self._terms.shares_drafts and self._terms.method != "sync")

    @property
    def expected(self) -> tuple[float | None, float | None]:
        """The share of the device's and of the cloud's drafts that Eq. 5 expects to be accepted, where it applies."""
        return None, None

    def begin_epoch(self, length: int) -> None:
        """Begin an epoch: the sides agree on the first `length` tokens, which the device has confirmed (R6)."""

    def add_verdict(self, verdict: Verdict) -> None:
        """Ignore a verdict of the other side: it counts only where one side aggregates."""

    def take_doubt(self) -> bool:
        """Tell once whether the other side may have steered the answer, which goes on."""
        warns = self._terms.guard == "warns" and self._doubted and not self._warned
        self._warned = self._warned or warns
        return warns

    def take_verdicts(self) -> list[Verdict]:
        """Return the verdicts that this side has made since the last call, in order."""
        return []

    def pace(self, rtt_s: float, decode_s: float, max_lookahead: int = MAX_LOOKAHEAD) -> None:
        """Set the window by the time that a round trip and a decode step take now; it changes speed, never tokens."""
        if self._terms.method in _DRAFT_AHEAD:
            self.window = draft_window(rtt_s, decode_s, max_lookahead)

    def next_step(self) -> int | None:
        """Return the step to draft next, after `drafted`, or None while there is nothing to draft."""
        ids = self.drafted.ids
        ahead = len(ids) - len(self.confirmed)
        if ahead >= self.window or len(ids) >= self._terms.max_tokens or (ids and ids[-1] in self._terms.eos):
            return None
        return len(ids)

    def add_own(
        self,
        step: int,
        prefix: int,
        distribution: Distribution,
        log_h: float | None,
        decode_s: float,
        *,
        parts: Probabilities | None = None,
    ) -> Draft | None:
        """Draw the own draft of `step` after `prefix` from a distribution; None when that prefix no longer holds.

        `parts` is what each row gives to it, [rows, ids].
        """
        if step != len(self.drafted) or prefix != self.drafted.digest:
            return None
        token = self._draw(step, distribution)
        own = self._own[step] = Draft(step, prefix, token, distribution, log_h, decode_s)
        if parts is not None:
            self._parts[step] = parts
        self.drafted.append(token)
        return own

    def add_remote(self, remote: Draft, confirmed: int, digest: int) -> None:
        """Store the latest draft of every step that is not confirmed yet (R1).

        The other side has confirmed `confirmed` tokens, of that `digest`.
        """
        self._take_confirmed(confirmed, digest)
        if len(self.confirmed) <= remote.step < min(self._terms.max_tokens, len(self.confirmed) + MAX_HELD):
            self._remote[remote.step] = remote

    def add_target(self, first: int, ids: list[int], digest: int) -> None:
        """Take the device's final tokens, on the cloud; cut back to the first token that differs from them (R5)."""
        self._take_confirmed(first + len(ids), digest)
        for step, token in enumerate(ids, start=first):
            if step < len(self.confirmed) and self.confirmed.ids[step] != token:
                self.corrections += 1
                self._cut(step)
            if len(self.confirmed) <= step < self._terms.max_tokens:
                self._word[step] = token

    def advance(self) -> list[Confirmed]:
        """Confirm every step that both drafts, or the device's final tokens, decide."""
        news: list[Confirmed] = []
        while not (self.ended or self.steered):
            confirmed = self._judge(len(self.confirmed))
            if confirmed is None:
                break
            if self._watch(confirmed):
                self.steered = True
                break
            self.traces.append(self._trace(confirmed))
            self._confirm(confirmed.token)
            news.append(confirmed)
        # What the peer had confirmed when it sent its last message follows from what came here by then, in order.
        length, digest = self._peer_at
        self.out_of_step = length > len(self.confirmed) or self.confirmed.at(length) != digest
        self._forget()
        return news

    def drafts_from(self, from_step: int) -> list[Draft]:
        """Return own drafts from a step on, in order, as the answer to a Sync (R3)."""
        return [self._own[step] for step in sorted(self._own) if step >= from_step]

    def go_alone(self, alone: bool) -> None:
        """Draw from p_device only, on the device, or stop doing so (R6)."""
        if alone and not self.solo:
            self._remote.clear()
        self.solo, self.steered = alone, False

    def awaits_peer(self) -> bool:
        """Tell whether the next step lacks nothing but the other side's draft."""
        step = len(self.confirmed)
        return not self.ended and not self.solo and step in self._own and self._valid(self._remote, step) is None

    def _take_confirmed(self, confirmed: int, digest: int) -> None:
        self._peer_confirmed = max(self._peer_confirmed, confirmed)
        self._peer_at = (confirmed, digest)

    def _draw(self, step: int, distribution: Distribution) -> int:
        return draw(self._terms.rule, step, distribution.ids, distribution.probabilities)

    def _judge(self, step: int) -> Confirmed | None:
        own, remote = self._valid(self._own, step), self._valid(self._remote, step)
        if step in self._word:
            token = self._word[step]
            by_own, by_remote = (found is not None and found.token == token for found in (own, remote))
            return provenance(self._side, step, token, by_own, by_remote)
        if self.solo and own is not None:
            return Confirmed(step, own.token, "solo", own=True, remote=False)
        if own is None or remote is None or (self._side == "cloud" and self._terms.method == "sync"):
            return None
        device, cloud = self._sides(own, remote)
        token = target(self._terms.rule, step, device.distribution, cloud.distribution, self._log_h(device, cloud))
        return provenance(self._side, step, token, own.token == token, remote.token == token)

    def _watch(self, confirmed: Confirmed) -> bool:
        """Check a step that both sides made; tell whether the other side has steered it too far to go on with."""
        own, remote = self._valid(self._own, confirmed.step), self._valid(self._remote, confirmed.step)
        if self._steering is None or confirmed.source == "solo" or own is None or remote is None:
            return False
        steers = self._steering.add(own.distribution, remote.distribution, confirmed.token)
        self._doubted = self._doubted or steers
        return steers and self._terms.guard == "leaves"

    def _trace(self, confirmed: Confirmed) -> Trace:
        own, remote = self._valid(self._own, confirmed.step), self._valid(self._remote, confirmed.step)
        rows = self._rows(own, confirmed)
        if confirmed.source == "solo" and own is not None:
            return Trace(1.0, rows, self._ranking(confirmed.token, own.distribution))
        if own is None or remote is None:
            return Trace(0.0, rows)
        device, cloud = self._sides(own, remote)
        eta = eta_device(*self._log_h(device, cloud))
        part = device_part(device.distribution, cloud.distribution, eta, confirmed.token)
        ranks = self._ranking(confirmed.token, device.distribution, cloud.distribution, eta)
        return Trace(part if self._side == "device" else 1.0 - part, rows, ranks)

    def _rows(self, own: Draft | None, confirmed: Confirmed) -> Table | None:
        """Return the part of each own row in the own draft's probability of the token, where it is known."""
        if own is None or confirmed.step not in self._parts:
            return None
        return within(Made(own.distribution, self._parts[confirmed.step]), confirmed.token)

    def _ranking(self, token: int, one: Distribution, another: Distribution | None = None, eta: float = 1.0) -> Ranking:
        """Rank the token in what it was drawn from: one distribution, or the mixture of two."""
        most = self._terms.logprobs
        if most is None:
            return UNRANKED
        law = (one.ids, one.probabilities) if another is None else mix(one, another, eta)
        return ranking(*law, token, most)

    def _sides(self, own: Draft, remote: Draft) -> tuple[Draft, Draft]:
        return (own, remote) if self._side == "device" else (remote, own)

    def _log_h(self, device: Draft, cloud: Draft) -> tuple[float | None, float | None]:
        return None if device.log_h is None else device.log_h + self.likelihood_ratio, cloud.log_h

    def _valid(self, drafts: dict[int, Draft], step: int) -> Draft | None:
        found = drafts.get(step)
        return found if found is not None and found.prefix == self.confirmed.digest else None

    def _confirm(self, token: int) -> None:
        step = len(self.confirmed)
        self.confirmed.append(token)
        self._parts.pop(step, None)  # its rows have been traced
        self._remote.pop(step, None)
        self._word.pop(step, None)
        if len(self.drafted) <= step or self.drafted.ids[step] != token:  # own draft rejected
            self.rollbacks += len(self.drafted) > step
            self.drafted.cut(step)
            self.drafted.append(token)
            self._drop_own(step + 1)

    def _cut(self, length: int) -> None:
        self.confirmed.cut(length)
        self.drafted.cut(length)
        del self.traces[length:]
        self._drop_own(length)

    def _drop_own(self, from_step: int) -> None:
        for step in [step for step in self._own if step >= from_step]:
            del self._own[step]
            self._parts.pop(step, None)

    def _forget(self) -> None:
        """Forget own drafts whose step both this side and the other one have confirmed (R2).

        While the device writes alone, the other side is sent the tokens instead.
        """
        settled = len(self.confirmed) if self.solo else min(len(self.confirmed), self._peer_confirmed)
        for step in [step for step in self._own if step < settled]:
            del self._own[step]


def provenance(side: Side, step: int, token: int, own: bool, remote: bool) -> Confirmed:
    """A token confirmed on `side`, and which of the drafts equal it."""
    source: Source = "both" if own and remote else side if own else other(side) if remote else "resampled"
    return Confirmed(step, token, source, own, remote)
