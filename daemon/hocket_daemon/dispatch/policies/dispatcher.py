"""The decision who starts when, for one question after another: profiles, account and policy together. Pure.

Time and day are passed in; what follows from a decision, sockets and models, is not known here. A request is decided,
then whichever constrained side really starts asks `may_start` and is booked with `start`. At its end the caller reports
what it saw with `observe`, `observe_device` or `censor`, and what was written with `book`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hocket_bus.messages import Side

from ..settings import OF_CONSTRAINT, Constraint, DispatchSettings, PolicyName
from .account import Account
from .cost import Bill, Costs, Tokens, bill_of, constraint_of
from .device_ttft import DeviceTtft
from .policy import NEVER, Greedy, Ints, Policy, Ramp, StartDelays, Threshold
from .priced import Priced
from .profile import Lengths, ServerProfile
from .ttfts import Ttfts

RESOLVED_EVERY = 8  # requests, between which the waits are those of one policy
HORIZON = 64  # requests within which the spend is to be back at b · all
MIN_SHARE = 0.5  # of the budget, while debts are paid back: without any, the slowest servers are waited for
_GOLDEN = (math.sqrt(5) - 1) / 2
_SLOW = 0.9


@dataclass(frozen=True, slots=True)
class Predicted:
    """The prediction for a side alone: mean seconds to the first token, their P90, and dollars with λ applied.

    There is no P90 where the server was cancelled too early and too often to tell.
    """

    ttft_s: float
    p90_s: float | None
    cost: float


@dataclass(frozen=True, slots=True)
class Decision:
    """The waits of each side, and the reason for them, which is a sentence."""

    waits: StartDelays
    constraint: Constraint
    policy: PolicyName
    predicted: Mapping[Side, Predicted]
    reason: str


class Dispatcher:
    """A dispatcher that decides online. It builds the policy anew every few requests, of the last hundred or so."""

    def __init__(
        self,
        settings: DispatchSettings,
        costs: Costs,
        account: Account,
        *,
        server_profile: ServerProfile,
        device_ttft: DeviceTtft,
        lengths: Lengths,
    ) -> None:
        self._settings = settings
        self.costs = costs
        self.account = account
        self.server_profile = server_profile
        self.device_ttft = device_ttft
        self.lengths = lengths
        auto = settings.constraint == "auto"
        self.constraint: Constraint = constraint_of(costs) if auto else _named(settings)
        self.policy_name = _fitting(settings.policy, self.constraint)
        self._policy: Policy | None = None
        self._until_resolved = 0
        self._server_s: tuple[float, float | None] = (0.0, None)  # mean and P90, of the profile when last resolved
        self._decided = 0

    @property
    def prefers_cloud(self) -> bool:
        """Tell whether an answer of the cloud's is worth waiting for."""
        return self._settings.quality_s > 0

    @property
    def constrained(self) -> Side:
        """The side whose prompt tokens the budget is for."""
        return "device" if self.constraint == "device" else "cloud"

    def decide(self, prompt_tokens: int, missing_tokens: int, day: int) -> Decision:
        """Decide on a prompt of so many tokens, of which the device has still to compute `missing_tokens`."""
        self.account.request(prompt_tokens)
        self.lengths.observe(prompt_tokens, missing_tokens)
        own = missing_tokens if self.constraint == "device" else prompt_tokens
        policy = self._current()
        waits, reason = self._waits(policy, own, day)
        predicted = self._predicted(prompt_tokens, missing_tokens)
        return Decision(waits, self.constraint, self.policy_name, predicted, reason)

    def may_start(self, side: Side, tokens: float) -> bool:
        """Tell whether the account lets a side read so many tokens; it limits the constrained side alone."""
        return side != self.constrained or self.account.may_spend(tokens)

    def start(self, side: Side, tokens: float) -> None:
        """Note that a side began to read so many tokens, allowed by the account or not: a fail-over must."""
        if side == self.constrained:
            self.account.spend(tokens)

    def observe(self, ttft_s: float) -> None:
        """Record the seconds from the server's start to its first token."""
        self.server_profile.observe(ttft_s)

    def censor(self, waited_s: float) -> None:
        """Record the seconds from the server's start until it was cancelled, without a token."""
        self.server_profile.censor(waited_s)

    def observe_device(self, missing_tokens: int, seconds: float) -> None:
        """Record the seconds that the device took to its first token."""
        self.device_ttft.observe(missing_tokens, seconds)

    def book(self, tokens: Tokens, day: int, *, reserved: float | None = None) -> Bill:
        """Book an ended request and return its bill; `start` took `reserved` tokens for the constrained side.

        None: as many as were passed to `start`, nothing to correct.
        """
        read = tokens.device_prefilled if self.constraint == "device" else tokens.server_prefilled
        if reserved is not None:
            self.account.correct(reserved, read)
        bill = bill_of(self.costs, tokens)
        self.account.pay(bill.money, day)
        return bill

    def _waits(self, policy: Policy, tokens: int, day: int) -> tuple[StartDelays, str]:
        if self.account.exhausted(day):
            spent, maximum = self.account.spent_today(day), self.account.max_per_day
            return StartDelays(0.0, NEVER), f"The device answers alone: ${spent:.4f} of ${maximum:g} a day are spent."
        if not self.account.may_spend(tokens):
            waits = StartDelays(NEVER, 0.0) if self.constraint == "device" else StartDelays(0.0, NEVER)
            other = "cloud" if self.constraint == "device" else "device"
            return (
                waits,
                f"The {other} answers alone: {tokens} more tokens would exceed the {self.constraint}'s budget.",
            )
        self._decided += 1
        waits = self._behind(policy.waits(tokens, chance_of(self._decided)))
        return waits, _reason(waits, self.policy_name)

    def _behind(self, waits: StartDelays) -> StartDelays:
        """Delay a device that races so much that its first token is as good as the cloud's when it comes."""
        if waits.server_s == NEVER:
            return waits
        return StartDelays(waits.device_s + self._settings.quality_s, waits.server_s)

    def _valued_ttft(self) -> DeviceTtft:
        """Return the device's first tokens as the policies see them: later by what the cloud's are worth more."""
        return DeviceTtft(self.device_ttft.k, self.device_ttft.c + self._settings.quality_s)

    def _current(self) -> Policy:
        if self._policy is None or self._until_resolved == 0:
            self._policy = self._resolved()
            self._until_resolved = RESOLVED_EVERY
        self._until_resolved -= 1
        return self._policy

    def _resolved(self) -> Policy:
        lengths, share = self._payable()
        tail = self._settings.tail_share
        ttfts = self.server_profile.ttfts()
        self._server_s = ttfts.mean(), slow(ttfts)
        match self.policy_name:
            case "priced" if self.constraint == "device":
                return Priced(ttfts, lengths, self._valued_ttft(), share)
            case "greedy":
                return Greedy(ttfts, lengths, share, tail)
            case "ramp":
                return Ramp(ttfts, lengths, self._valued_ttft(), share, tail)
            case _:
                return Threshold(lengths, share)

    def _payable(self) -> tuple[Ints, float]:
        """Return the lengths that the constrained side would have to read, and the share of their tokens that it may.

        The budget is a share of whole prompts, of which stored KV may leave the device only a part. `priced` returns to
        it from wherever the account is. A server's threshold leaves out the prompts that the account would refuse: it
        is the longest that it gives the server, and all of the budget would wait for them.
        """
        prompts = self.lengths.prompts()
        own = self.lengths.missing() if self.constraint == "device" else prompts
        if self.account.budget >= 1:
            return own, 1.0
        allowed = self.account.budget * float(prompts.sum())
        if self.policy_name == "priced":
            owed = self.account.excess_tokens * len(own) / HORIZON
            allowed = max(MIN_SHARE * allowed, allowed - owed)
            if self.constraint == "server":
                within = own[own <= self.account.burst_tokens - self.account.excess_tokens]
                own = within if within.any() else own
        tokens = float(own.sum())
        return own, min(1.0, allowed / tokens) if tokens else 1.0

    def _predicted(self, prompt_tokens: int, missing_tokens: int) -> dict[Side, Predicted]:
        answer, costs = self.lengths.remaining(0), self.costs
        device_s = self.device_ttft.at(missing_tokens)
        device = costs.device_prefill * missing_tokens + costs.device_decode * answer
        cloud = costs.server_prefill * prompt_tokens + costs.server_decode * answer
        return {
            "device": Predicted(device_s, device_s, device),
            "cloud": Predicted(*self._server_s, cloud),
        }


def chance_of(number: int) -> float:
    """Return a number in [0, 1) for each request, evenly spread, so that each share comes as often as it should."""
    return number * _GOLDEN % 1.0


def slow(ttfts: Ttfts) -> float | None:
    """The P90 in seconds, if so much was seen."""
    return ttfts.quantile(_SLOW) if ttfts.known >= _SLOW else None


def _named(settings: DispatchSettings) -> Constraint:
    return "device" if settings.constraint == "device" else "server"


def _fitting(policy: PolicyName, constraint: Constraint) -> PolicyName:
    """The policy, or the paper's other one where it is for another constraint than `auto` has found."""
    if OF_CONSTRAINT.get(policy, constraint) == constraint:
        return policy
    return "greedy" if constraint == "device" else "threshold"


def _reason(waits: StartDelays, policy: PolicyName) -> str:
    if waits.server_s == NEVER:
        return f"The device answers alone: under {policy}, a prompt this short is not worth the server's tokens."
    if waits.device_s == NEVER:
        return f"The cloud answers alone, by {policy}."
    if waits.device_s > 0:
        return f"The cloud starts at once, the device {waits.device_s:.3g} s later, by {policy}."
    return f"Both start at once, by {policy}."
