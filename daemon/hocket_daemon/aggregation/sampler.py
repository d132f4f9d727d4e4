"""The coupled sampler: a target token and two drafts from one noise (docs/aggregation.md).

Both sides and the target race with the same noise (engine/sampling), so similar distributions pick the same token.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..engine.sampling.distribution import Distribution
from ..engine.sampling.drawing import Rule, draw

_ETA_STEPS = 1 << 24
MIN_OF_DEVICE = 1 / 64  # of the mixture, whatever the cloud claims: honest answers have the same tokens with it


def eta_device(log_h_device: float | None, log_h_cloud: float | None) -> float:
    """The device's share of the mixture (paper §4.1, A.1), rounded to a multiple of 2^-24; None means no documents.

    Where both have some it is no less than MIN_OF_DEVICE.
    """
    if log_h_device is None or log_h_cloud is None:
        return float(log_h_device is not None or log_h_cloud is None)
    gap = max(-700.0, min(700.0, log_h_cloud - log_h_device))
    return max(MIN_OF_DEVICE, round(_ETA_STEPS / (1.0 + math.exp(gap))) / _ETA_STEPS)


def mix(device: Distribution, cloud: Distribution, eta: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """p_t = η p_device + (1 − η) p_cloud on the union of both supports, ids ascending. Always device first."""
    both = np.concatenate((device.ids, cloud.ids))
    order = both.argsort(kind="stable")  # two ascending runs: one merge
    ids = both[order]
    shares = np.concatenate((eta * device.probabilities, (1.0 - eta) * cloud.probabilities))[order]
    shared = (ids[1:] == ids[:-1]).nonzero()[0]
    shares[shared] += shares[shared + 1]
    kept = np.ones(len(ids), dtype=bool)
    kept[shared + 1] = False
    return ids[kept], shares[kept]


def device_part(device: Distribution, cloud: Distribution, eta: float, token: int) -> float:
    """The device's part in the probability of `token` under η p_device + (1 − η) p_cloud; 0 where both leave it out."""
    own, remote = eta * device.of(token), (1.0 - eta) * cloud.of(token)
    return own / (own + remote) if own + remote > 0 else 0.0


def target(
    rule: Rule, step: int, device: Distribution, cloud: Distribution, log_h: tuple[float | None, float | None]
) -> int:
    """The target token, a pure function of what both sides hold. `log_h` is (device, cloud)."""
    return draw(rule, step, *mix(device, cloud, eta_device(*log_h)))
