"""Algorithm 1 of the DRAGON paper: drafts with each side's own randomness, and one aggregator that corrects them.

The paper samples from η^l p^l + η^r p^r. Written against the target's law q_t instead of the other side's distribution,
the same steps hold for any q_t: the chance to keep a draft, 1 − η^r (1 − p^r/p^l) where that is below 1, is q_t/q_s,
and max(0, p^r − p^l) is max(0, q_t − q_s) up to its norm. So temperature and top-p act after mixing here, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hocket_bus.messages import Side

from ...engine.sampling.distribution import VOCABULARY_LIMIT, Distribution
from ...engine.sampling.drawing import Rule, draw, exponential, race, shape
from ..exchange.sampler import eta_device, mix
from ..exchange.schedule import GAMMA

Role = Side | Literal["aggregator"]
_CHOOSE, _KEEP = VOCABULARY_LIMIT, VOCABULARY_LIMIT + 1  # numbers of the noise that belong to no token


@dataclass(frozen=True, slots=True, eq=False)
class Laws:
    """The laws of the two drafts and the target of one step: three distributions over the ascending `ids`."""

    ids: NDArray[np.int64]
    device: NDArray[np.float64]
    cloud: NDArray[np.float64]
    target: NDArray[np.float64]


def seed_of(role: Role, seed: int) -> int:
    """The seed of one role's noise: unrelated between roles, and a pure function, so that a run can be repeated."""
    return int.from_bytes(blake2b(seed.to_bytes(8, "big") + role.encode(), digest_size=8).digest(), "big")


def draft(rule: Rule, side: Side, step: int, distribution: Distribution) -> int:
    """A side's draft from its own distribution as encoded, with noise that no other role has."""
    own = replace(rule, seed=seed_of(side, rule.seed))
    return draw(own, step, distribution.ids, distribution.probabilities)


def laws(rule: Rule, device: Distribution, cloud: Distribution, log_h: tuple[float | None, float | None]) -> Laws:
    """The laws of one step from both sides' distributions as encoded. `log_h` is (device, cloud)."""
    ids, mixed = mix(device, cloud, eta_device(*log_h))
    return Laws(
        ids,
        _spread(ids, *shape(rule, device.ids, device.probabilities)),
        _spread(ids, *shape(rule, cloud.ids, cloud.probabilities)),
        _spread(ids, *shape(rule, ids, mixed)),
    )


def aggregate(rule: Rule, step: int, laws: Laws, x_device: int, x_cloud: int) -> int:
    """The target token x_t ~ laws.target. The coin comes first: the sample that it does not choose is not drawn."""
    seed = seed_of("aggregator", rule.seed)
    if _uniform(seed, step, _CHOOSE) <= GAMMA:
        return _sample(seed, step, laws, x_device, laws.device)
    return _sample(seed, step, laws, x_cloud, laws.cloud)


def _sample(seed: int, step: int, laws: Laws, x: int, q_s: NDArray[np.float64]) -> int:
    """The function Sample: keep the draft `x` ~ `q_s`, or draw from what the target has more of."""
    at = laws.ids == x
    more = np.maximum(laws.target - q_s, 0)
    if _uniform(seed, step, _KEEP) * q_s[at].sum() < laws.target[at].sum() or not more.any():
        return x
    return race(seed, step, laws.ids[more > 0], more[more > 0])


def _uniform(seed: int, step: int, number: int) -> float:
    """A U(0, 1) variate: an exponential one through its distribution function."""
    return float(np.exp(-exponential(seed, step, np.array([number])))[0])


def _spread(ids: NDArray[np.int64], some: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = np.zeros(len(ids))
    spread[np.searchsorted(ids, some)] = weights / weights.sum()
    return spread
