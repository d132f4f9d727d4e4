"""Requests one after another, each decided from what the ones before have shown, by the daemon's Dispatcher or parts.

A drift is what changes halfway. A policy sees a server's first token only where the server was not cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hocket_daemon.dispatch.policies.account import Account
from hocket_daemon.dispatch.policies.cost import Costs
from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.policies.dispatcher import RESOLVED_EVERY, Dispatcher, chance_of, slow
from hocket_daemon.dispatch.policies.policy import Ints, Policy, StartDelays, Threshold
from hocket_daemon.dispatch.policies.priced import Priced
from hocket_daemon.dispatch.policies.profile import MAX_QUANTILES, Lengths, ServerProfile
from hocket_daemon.dispatch.policies.ttfts import Floats
from hocket_daemon.dispatch.settings import Constraint, DispatchSettings
from hocket_lab.bench.dispatch.inputs import Requests
from hocket_lab.bench.dispatch.samples import ttfts_of

FREE = Costs(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def _heavy(ttft_s: Floats) -> Floats:
    """Return the times with one in ten, always the same ones, five times as long."""
    return np.where(np.arange(len(ttft_s)) % 10 == 0, 5 * ttft_s, ttft_s)


class Drift(NamedTuple):
    """A change of the second half: of the server's first tokens, and a factor for the lengths."""

    ttft_s: Callable[[Floats], Floats]
    length: float


DRIFTS: Mapping[str, Drift] = {
    "none": Drift(lambda ttft_s: ttft_s, 1.0),
    "ttft x3": Drift(lambda ttft_s: 3 * ttft_s, 1.0),
    "ttft /3": Drift(lambda ttft_s: ttft_s / 3, 1.0),
    "lengths x3": Drift(lambda ttft_s: ttft_s, 3.0),
    "lengths /3": Drift(lambda ttft_s: ttft_s, 1 / 3),
    "both x3": Drift(lambda ttft_s: 3 * ttft_s, 3.0),
    "heavy tail": Drift(_heavy, 1.0),
}


def drifted(requests: Requests, drift: Drift) -> Requests:
    """Return the same requests with the drift applied to their second half."""
    half = len(requests.lengths) // 2
    ttft_s = np.concatenate((requests.ttft_s[:half], drift.ttft_s(requests.ttft_s[half:])))
    longer = np.maximum(1, np.rint(drift.length * requests.lengths[half:])).astype(np.int64)
    return Requests(ttft_s, np.concatenate((requests.lengths[:half], longer)))


class Online(Protocol):
    """A way to decide requests; after each it is informed of what a daemon would know."""

    def decide(self, length: int) -> StartDelays:
        """Decide how long each side waits."""
        ...

    def ended(self, length: int, *, constrained: bool) -> None:
        """Record the end of a request, and whether the constrained side was started."""
        ...

    def server(self, seconds: float, *, seen: bool) -> None:
        """Record the server's first token, or, if it was cancelled, for how long it had shown none."""
        ...

    def slow_s(self) -> float | None:
        """Return the predicted P90 of the server's next first token, if any."""
        ...


class Static:
    """A policy that was built once and does not learn."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._decided = 0

    def decide(self, length: int) -> StartDelays:
        """Decide by that policy."""
        self._decided += 1
        return self._policy.waits(length, chance_of(self._decided))

    def ended(self, length: int, *, constrained: bool) -> None:
        """Do nothing, since the policy does not learn."""

    def server(self, seconds: float, *, seen: bool) -> None:
        """Do nothing, since the policy does not learn."""

    def slow_s(self) -> float | None:
        """Return None, since the policy predicts nothing."""
        return None


class Rebuilt:
    """A policy rebuilt every few requests from the daemon's own profile and lengths, without account or steering.

    It begins with the quantiles `reported_s`; `keeps_censored` says whether waits for cancelled servers are recorded.
    """

    def __init__(
        self,
        constraint: Constraint,
        device_ttft: DeviceTtft,
        budget: float,
        reported_s: Sequence[float],
        *,
        keeps_censored: bool = True,
    ) -> None:
        self._constraint = constraint
        self._device_ttft = device_ttft
        self._budget = budget
        self._keeps_censored = keeps_censored
        self._server = ServerProfile.seeded(reported_s)
        self._lengths = Lengths()
        self._policy: Policy | None = None
        self._decided = 0

    def decide(self, length: int) -> StartDelays:
        """Decide by the policy, rebuilt every few requests from the latest ones."""
        self._lengths.observe(length, length)
        if self._policy is None or self._decided % RESOLVED_EVERY == 0:
            lengths = self._lengths.prompts()
            of_device = self._constraint == "device"
            self._policy = (
                Priced(self._server.ttfts(), lengths, self._device_ttft, self._budget)
                if of_device
                else Threshold(lengths, self._budget)
            )
        self._decided += 1
        return self._policy.waits(length, chance_of(self._decided))

    def ended(self, length: int, *, constrained: bool) -> None:
        """Do nothing, since it keeps no account."""

    def server(self, seconds: float, *, seen: bool) -> None:
        """Record the time in the server's profile; that of a cancelled server only if such times are kept."""
        if seen:
            self._server.observe(seconds)
        elif self._keeps_censored:
            self._server.censor(seconds)

    def slow_s(self) -> float | None:
        """Return the P90 predicted by the server's profile."""
        return slow(self._server.ttfts())


class Daemons:
    """The daemon's Dispatcher with a server that costs nothing, so that only the budget counts."""

    def __init__(
        self,
        constraint: Constraint,
        device_ttft: DeviceTtft,
        budget: float,
        reported_s: Sequence[float],
        *,
        burst_tokens: int,
    ) -> None:
        settings = DispatchSettings(budget=budget, burst_tokens=burst_tokens, constraint=constraint)
        self._dispatcher = Dispatcher(
            settings, FREE, Account(budget, burst_tokens),
            server_profile=ServerProfile.seeded(reported_s), device_ttft=device_ttft, lengths=Lengths(),
        )  # fmt: skip
        self._slow_s: float | None = None

    def decide(self, length: int) -> StartDelays:
        """Decide by the dispatcher; a start that the account refuses does not happen."""
        decision = self._dispatcher.decide(length, length, day=0)
        self._slow_s = decision.predicted["cloud"].p90_s
        return decision.waits

    def ended(self, length: int, *, constrained: bool) -> None:
        """Charge a start of the constrained side to the account."""
        if constrained:
            self._dispatcher.start(self._dispatcher.constrained, length)

    def server(self, seconds: float, *, seen: bool) -> None:
        """Record the time in the server's profile."""
        if seen:
            self._dispatcher.observe(seconds)
        else:
            self._dispatcher.censor(seconds)

    def slow_s(self) -> float | None:
        """Return what was predicted with the last decision."""
        return self._slow_s


class Played(NamedTuple):
    """Results of requests, [n] each: seconds to the first token, tokens, and whether the constrained side read.

    A P90 of the server was predicted for `predicted` requests; in `covered` of them its first token was no later.
    """

    ttft_s: Floats
    lengths: Ints
    is_spent: NDArray[np.bool_]
    predicted: int
    covered: int

    def spend(self, first: int = 0) -> float:
        """Return the share of all tokens from request `first` on that the constrained side read."""
        lengths = self.lengths[first:]
        return float(lengths[self.is_spent[first:]].sum() / lengths.sum())

    def worst_excess(self, budget: float) -> float:
        """Return the most tokens spent beyond b · all at any request, to a millionth: b is no binary fraction."""
        excess = np.cumsum(self.lengths * self.is_spent) - budget * np.cumsum(self.lengths)
        return round(float(excess.max()), 6)


def play(online: Online, requests: Requests, constraint: Constraint, device_ttft: DeviceTtft) -> Played:
    """Let the policy decide request after request, and return the results."""
    ttft_s: list[float] = []
    is_spent: list[bool] = []
    predicted = covered = 0
    for length, seconds in zip(requests.lengths.tolist(), requests.ttft_s.tolist(), strict=True):
        waits = online.decide(length)
        slow_s = online.slow_s()
        predicted += slow_s is not None
        covered += slow_s is not None and seconds <= slow_s
        device_s, server_s = waits.device_s + device_ttft.at(length), waits.server_s + seconds
        device, server = waits.device_s < server_s, waits.server_s < device_s
        ttft_s.append(min(device_s, server_s))
        if server:
            online.server(min(server_s, device_s) - waits.server_s, seen=server_s <= device_s)
        is_spent.append(device if constraint == "device" else server)
        online.ended(length, constrained=is_spent[-1])
    return Played(np.array(ttft_s), requests.lengths, np.array(is_spent), predicted, covered)


def static(constraint: Constraint, before: Requests, device_ttft: DeviceTtft, budget: float) -> Static:
    """Return a policy built once of requests before the drift."""
    if constraint == "server":
        return Static(Threshold(before.lengths, budget))
    return Static(Priced(ttfts_of(before.ttft_s), before.lengths, device_ttft, budget))


def quantiles(before: Requests) -> list[float]:
    """Return the quantiles that a server reports of earlier requests."""
    places = (np.arange(MAX_QUANTILES) + 0.5) / MAX_QUANTILES
    found: list[float] = np.quantile(before.ttft_s, places).tolist()
    return found
