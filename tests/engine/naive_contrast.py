"""The contrast of a row with the question's own, written down once more, id by id."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray


def contrasted(
    row: NDArray[np.floating], alone: NDArray[np.floating], strength: float, ends: Collection[int]
) -> NDArray[np.float64]:
    """p^(1+β) / p₀^β among the ids of a tenth of the likeliest's probability, which keep their mass."""
    least = max(np.float32(0.1) * row.max(), np.float32(0.001))
    plausible = [at for at, value in enumerate(row.tolist()) if value >= least and at not in ends]
    powers = {at: row[at] * (row[at] / max(float(alone[at]), 0.001)) ** strength for at in plausible}
    mass, found = sum(float(row[at]) for at in plausible), row.astype(np.float64)
    for at, power in powers.items():
        found[at] = mass * power / sum(powers.values())
    return found
