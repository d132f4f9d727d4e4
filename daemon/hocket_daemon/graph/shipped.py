"""The calibration that ships: for the bundled embedder, by `hocket bench graph --part gate`."""

from __future__ import annotations

from .gate import Calibration, Inputs

SHIPPED = Calibration(
    scorer="probability:df13196cc8a49054",
    weights=Inputs(best=6.1793, second=0.0, words=0.8273, words_in_best=0.8067, names=1.1693),
    bias=-3.3536,
    threshold=0.2834,
)
