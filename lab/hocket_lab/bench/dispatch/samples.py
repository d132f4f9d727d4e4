"""The distribution of first tokens that were all observed."""

from __future__ import annotations

import numpy as np

from hocket_daemon.dispatch.policies.ttfts import Floats, Ttfts


def ttfts_of(samples_s: Floats) -> Ttfts:
    """Return the empirical distribution of seconds [n], n > 0."""
    times_s = np.sort(np.asarray(samples_s, float))
    return Ttfts(times_s, np.arange(1, len(times_s) + 1) / len(times_s))
