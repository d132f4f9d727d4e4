"""The log-probability of a token, and those of the likeliest tokens in its place."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ranking: TypeAlias = Sequence[tuple[int, float]]
"""Ids and their log-probabilities: the token itself, then the likeliest. Empty where that was not asked for."""

UNRANKED: Final[Ranking] = ()


def ranking(ids: NDArray[np.int64], probabilities: NDArray[np.float64], token: int, most: int) -> Ranking:
    """Rank `token` and at most `most` of the ascending `ids`; empty where `token` is not one of them.

    Of equals the lower id is first.
    """
    own = int(ids.searchsorted(token))
    if own == len(ids) or ids[own] != token:
        return UNRANKED
    places = [own, *np.argsort(-probabilities, kind="stable")[:most]]
    return [(int(ids[at]), min(0.0, log(probabilities[at]))) for at in places]
