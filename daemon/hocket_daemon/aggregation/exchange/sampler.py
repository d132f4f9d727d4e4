"""The coupled sampler: a target token and two drafts from one noise (docs/aggregation.md).

Both sides and the target race with the same noise (engine/sampling), so similar distributions pick the same token.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...engine.sampling.distribution import Distribution
from ...engine.sampling.drawing import Rule, draw

ETA_STEPS = 1 << 24  # shares are multiples of one part of them
MIN_OF_DEVICE = 1 / 64  # of the mixture, whatever the cloud claims: honest answers have the same tokens with it
_MIN_STEPS = int(MIN_OF_DEVICE * ETA_STEPS)
_ROUNDING = 1e-6  # of sums of shares and probabilities


def eta_device(log_h_device: float | None, log_h_cloud: float | None) -> float:
    """The device's share of the mixture of two (paper §4.1, A.1): see `etas`."""
    return etas([log_h_device, log_h_cloud])[0]


def etas(logs: Sequence[float | None], most: float = 1.0) -> list[float]:
    """Return η = softmax(log h) of all parties, the asked device's first, in multiples of 2^-24, which sum to 1.

    None means no documents, and no share where another party has some. Where others have some, too, the asked device's
    is no less than MIN_OF_DEVICE. No other one's is more than `most`, in (0, 1]: what it loses goes to the asked
    device.
    """
    own, *others = logs
    known = [log for log in others if log is not None]
    if not known:
        return [1.0, *(0.0 for _ in others)]
    top = max(known)
    total = math.fsum(math.exp(log - top) for log in known)
    lead = 0
    if own is not None:
        gap = max(-700.0, min(700.0, top + math.log(total) - own))
        lead = max(_MIN_STEPS, round(ETA_STEPS / (1.0 + math.exp(gap))))
    left, limit = ETA_STEPS - lead, int(most * ETA_STEPS)
    steps = [0 if log is None else int(left * math.exp(log - top) / total) for log in others]
    steps[others.index(top)] += left - sum(steps)  # what rounding has left
    steps = [min(limit, step) for step in steps]
    return [step / ETA_STEPS for step in (ETA_STEPS - sum(steps), *steps)]


def mix(device: Distribution, cloud: Distribution, eta: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return p_t = η p_device + (1 − η) p_cloud on the union of both supports, ids ascending. Always device first."""
    return mixture([(eta, device), (1.0 - eta, cloud)])


def mixture(parts: Sequence[tuple[float, Distribution]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return p_t = Σ η p on the union of all supports, ids ascending; of (η, p), and added up in this order."""
    every = np.concatenate([distribution.ids for _, distribution in parts])
    order = every.argsort(kind="stable")  # ascending runs: a merge
    ids = every[order]
    shares = np.concatenate([eta * distribution.probabilities for eta, distribution in parts])[order]
    first = np.concatenate(([True], ids[1:] != ids[:-1])).nonzero()[0]
    return ids[first], np.add.reduceat(shares, first)


def foregone(rule: Rule, ids: NDArray[np.int64], weights: NDArray[np.float64], unknown: float) -> int | None:
    """Return the greedy target if parties with `unknown` shares together cannot change it; None if they can.

    `ids` and `weights` [ids] are the mixture m of all others. Of a token v the whole mixture has between m(v) and
    m(v) + unknown, since no probability lies outside [0, 1]. So w with m(w) > m(v) + unknown for every other v is the
    likeliest.
    """
    if rule.temperature != 0:
        return None
    best = int(weights.argmax())
    second = float(np.delete(weights, best).max(initial=0.0))
    return int(ids[best]) if float(weights[best]) - second > unknown + _ROUNDING else None


def device_part(device: Distribution, cloud: Distribution, eta: float, token: int) -> float:
    """The device's part in the probability of `token` under η p_device + (1 − η) p_cloud; 0 where both leave it out."""
    own, remote = eta * device.of(token), (1.0 - eta) * cloud.of(token)
    return own / (own + remote) if own + remote > 0 else 0.0


def target(
    rule: Rule, step: int, device: Distribution, cloud: Distribution, log_h: tuple[float | None, float | None]
) -> int:
    """The target token, a pure function of what both sides hold. `log_h` is (device, cloud)."""
    return draw(rule, step, *mix(device, cloud, eta_device(*log_h)))
