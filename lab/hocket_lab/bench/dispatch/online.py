"""Requests one after another, each decided with what the ones before have shown; the daemon's own Dispatcher or parts.

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
    """One in ten, always the same, takes five times as long."""
    return np.where(np.arange(len(ttft_s)) % 10 == 0, 5 * ttft_s, ttft_s)


class Drift(NamedTuple):
    """What is done to the second half: to the server's first tokens, and by what the lengths are multiplied."""

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
    """The same requests with a second half that is otherwise."""
    half = len(requests.lengths) // 2
    ttft_s = np.concatenate((requests.ttft_s[:half], drift.ttft_s(requests.ttft_s[half:])))
    longer = np.maximum(1, np.rint(drift.length * requests.lengths[half:])).astype(np.int64)
    return Requests(ttft_s, np.concatenate((requests.lengths[:half], longer)))


class Online(Protocol):
    """A way to decide; it is told of every request's end what a daemon would know."""

    def decide(self, length: int) -> StartDelays:
        """How long each side waits."""
        ...

    def ended(self, length: int, *, constrained: bool) -> None:
        """Whether the constrained side was started."""
        ...

    def server(self, seconds: float, *, seen: bool) -> None:
        """The server's first token, or for how long it had shown none when it was cancelled."""
        ...

    def slow_s(self) -> float | None:
        """The predicted P90 of the server's next first token, if there is any."""
        ...


class Static:
    """A policy that was built once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._decided = 0

    def decide(self, length: int) -> StartDelays:
        """By that policy."""
        self._decided += 1
        return self._policy.waits(length, chance_of(self._decided))

    def ended(self, length: int, *, constrained: bool) -> None:
        """It does not learn."""

    def server(self, seconds: float, *, seen: bool) -> None:
        """It does not learn."""

    def slow_s(self) -> float | None:
        """It predicts none."""
        return None


class Rebuilt:
    """The policy anew every few requests, of the daemon's own profile and lengths, without account or steering.

    `reported_s` are the quantiles that it begins with. `keeps_censored`: whether waits for cancelled servers are kept.
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
        """By the policy of the last few requests."""
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
        """It keeps no account."""

    def server(self, seconds: float, *, seen: bool) -> None:
        """To the profile."""
        if seen:
            self._server.observe(seconds)
        elif self._keeps_censored:
            self._server.censor(seconds)

    def slow_s(self) -> float | None:
        """Of the profile."""
        return slow(self._server.ttfts())


class Daemons:
    """The daemon's Dispatcher, told of an unpaid server so that only the budget counts."""

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
        """By the dispatcher; a start that the account refuses is none."""
        decision = self._dispatcher.decide(length, length, day=0)
        self._slow_s = decision.predicted["cloud"].p90_s
        return decision.waits

    def ended(self, length: int, *, constrained: bool) -> None:
        """To the account."""
        if constrained:
            self._dispatcher.start(self._dispatcher.constrained, length)

    def server(self, seconds: float, *, seen: bool) -> None:
        """To the profile."""
        if seen:
            self._dispatcher.observe(seconds)
        else:
            self._dispatcher.censor(seconds)

    def slow_s(self) -> float | None:
        """What was predicted with the last decision."""
        return self._slow_s


class Played(NamedTuple):
    """What came of the requests, [n] each: seconds to the first token, tokens, and whether the constrained side read.

    `covered` of those that the server's P90 was predicted for, `predicted`, had no later first token of the server.
    """

    ttft_s: Floats
    lengths: Ints
    is_spent: NDArray[np.bool_]
    predicted: int
    covered: int

    def spend(self, first: int = 0) -> float:
        """Share of all tokens from a request on that the constrained side read."""
        lengths = self.lengths[first:]
        return float(lengths[self.is_spent[first:]].sum() / lengths.sum())

    def worst_excess(self, budget: float) -> float:
        """The most tokens beyond b · all that were spent at any request, to a millionth: b is no binary fraction."""
        excess = np.cumsum(self.lengths * self.is_spent) - budget * np.cumsum(self.lengths)
        return round(float(excess.max()), 6)


def play(online: Online, requests: Requests, constraint: Constraint, device_ttft: DeviceTtft) -> Played:
    """Let it decide request after request."""
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
    """Built once of requests before the drift."""
    if constraint == "server":
        return Static(Threshold(before.lengths, budget))
    return Static(Priced(ttfts_of(before.ttft_s), before.lengths, device_ttft, budget))


def quantiles(before: Requests) -> list[float]:
    """The quantiles that a server tells of earlier requests."""
    places = (np.arange(MAX_QUANTILES) + 0.5) / MAX_QUANTILES
    found: list[float] = np.quantile(before.ttft_s, places).tolist()
    return found
