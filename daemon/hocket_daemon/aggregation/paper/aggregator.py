"""The draft exchange with one aggregating side at a time, which the scheduler may move across the link (paper §3, §5).

The aggregator alone judges; its verdict tells the other side the token, both acceptances and who judges the next step.
A verdict counts only after the prefix it was made for. A new epoch begins with the device, whose tokens are final.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from hocket_bus.messages import Side

from ...privacy.history import CLOUD
from ..exchange.exchange import Exchange, source_of
from ..exchange.lookahead import MAX_LOOKAHEAD, pays_ahead
from ..exchange.parties import LEADER
from ..exchange.schedule import DEFAULT_SIDE, acceptance
from ..exchange.session_terms import Confirmed, Draft, Law, SessionTerms, tokens_of
from .independent import Laws, aggregate, draft, laws


@dataclass(frozen=True, slots=True)
class Verdict:
    """The target token of `step` after `prefix`, the drafts that it equals, and who aggregates the next step."""

    step: int
    prefix: int
    token: int
    accepted_device: bool
    accepted_cloud: bool
    aggregator: Side


class AggregatorExchange(Exchange):
    """The half of the exchange that one side holds, while it aggregates and while it does not."""

    def __init__(self, side: Side, terms: SessionTerms) -> None:
        super().__init__(side, terms)
        self.aggregator: Side = DEFAULT_SIDE
        self.scheduler = terms.scheduler()
        self._made: list[Verdict] = []
        self._peer_verdict: Verdict | None = None
        self._judged_there: list[tuple[Draft, Draft]] = []  # both drafts of steps that the other side has judged
        self._expected: list[tuple[float, float]] = []
        self._greeted = True  # an epoch has begun since this side last went alone

    @property
    def expected(self) -> tuple[float | None, float | None]:
        """The means of Eq. 5 for the device's and the cloud's drafts, over the steps at which this side held both."""
        device, cloud = zip(*self._expected, strict=True) if self._expected else ((), ())
        return (fmean(device), fmean(cloud)) if device else (None, None)

    def begin_epoch(self, length: int) -> None:
        """Begin an epoch: the device aggregates, and tokens beyond the `length` that it has confirmed are dropped."""
        self.aggregator, self._peer_verdict, self._greeted = DEFAULT_SIDE, None, True
        if len(self.confirmed) > length:
            self._cut(length)

    def add_verdict(self, verdict: Verdict) -> None:
        """Store a verdict of the other side; `advance` takes it if it fits."""
        self._peer_verdict = verdict

    def take_verdicts(self) -> list[Verdict]:
        """Return the verdicts that this side has made since the last call, in order."""
        made, self._made = self._made, []
        return [verdict for verdict in made if verdict.step < len(self.confirmed)]  # not of a token that is not said

    def go_alone(self, alone: bool) -> None:
        """Go alone, or stop once a new epoch has begun: before it the cloud may be aggregating already (R6, device)."""
        super().go_alone(alone or (self.solo and not self._greeted))
        if alone:
            self._greeted = False

    def pace(self, rtt_s: float, decode_s: float, max_lookahead: int = MAX_LOOKAHEAD) -> None:
        """Set the window and the scheduler's round trip. Half of the drafts are rejected: waiting is faster near by."""
        super().pace(rtt_s, decode_s, max_lookahead)
        self.scheduler.rtt_s = rtt_s
        for own, remote in self._judged_there:  # not when the verdict came: the next step waited for that
            self._observe(own, remote)
        self._judged_there.clear()
        if rtt_s and not pays_ahead(rtt_s, self.scheduler.accepted(self._side)):  # 0: none is known yet
            self.window = 1

    def awaits_peer(self) -> bool:
        """Tell whether the next step lacks nothing but the other side's draft, or its verdict."""
        judged_there = self.aggregator != self._side and len(self.confirmed) in self._own
        return super().awaits_peer() or (judged_there and not self.ended and not self.solo)

    def _draw(self, step: int, law: Law) -> int:
        return draft(self._terms.rule, self._side, step, tokens_of(law))

    def _judge(self, step: int) -> Confirmed | None:
        if self.solo or step in self._targets:
            return super()._judge(step)
        own, remote = self._own_draft(step), self.parties.draft_of(self._peer, step, self.confirmed.digest)
        if self.aggregator != self._side:
            return self._take_verdict(step, own, remote)
        if own is None or remote is None:
            return None
        found = self._observe(own, remote)
        device, cloud = _sides(self._side, own, remote)
        token = aggregate(self._terms.rule, step, found, device.token, cloud.token)
        self.aggregator = self._next_side()
        shared = device.token == token and self._terms.shares_drafts  # whether it was is as private as the draft
        self._made.append(Verdict(step, self.confirmed.digest, token, shared, cloud.token == token, self.aggregator))
        return self._proposed(step, token)

    def _next_side(self) -> Side:
        if not self._terms.shares_drafts:  # the other side could not
            return self._side
        return self.scheduler.next_side(self._side, ahead=self.window > 1)

    def _take_verdict(self, step: int, own: Draft | None, remote: Draft | None) -> Confirmed | None:
        verdict = self._peer_verdict
        if verdict is None or (verdict.step, verdict.prefix) != (step, self.confirmed.digest):
            return None
        self.aggregator, self._peer_verdict = verdict.aggregator, None
        if own is not None and remote is not None:
            self._judged_there.append((own, remote))
        accepted = {LEADER: verdict.accepted_device, CLOUD: verdict.accepted_cloud}
        by_own, by_remote = accepted[self._name], accepted[self._peer]
        drafted = frozenset(name for name, is_its in accepted.items() if is_its)
        source = source_of(self._side, own=by_own, remote=by_remote)
        return Confirmed(step, verdict.token, source, by_own, by_remote, drafted)

    def _observe(self, own: Draft, remote: Draft) -> Laws:
        device, cloud = _sides(self._side, own, remote)
        logs = self.parties.log_h(own.step, {LEADER: device, CLOUD: cloud})
        found = laws(
            self._terms.rule, tokens_of(device.distribution), tokens_of(cloud.distribution), (logs[LEADER], logs[CLOUD])
        )
        alpha = (acceptance(found.device, found.target), acceptance(found.cloud, found.target))
        self.scheduler.observe("device", device.decode_s, alpha[0])
        self.scheduler.observe("cloud", cloud.decode_s, alpha[1])
        self._expected.append(alpha)
        return found


def _sides(side: Side, own: Draft, remote: Draft) -> tuple[Draft, Draft]:
    return (own, remote) if side == "device" else (remote, own)
