"""The calibration that ships: for the bundled embedder, by `hocket bench graph --part gate`."""

from __future__ import annotations

from .gate import Calibration, Inputs

SHIPPED = Calibration(
    scorer="probability:df13196cc8a49054",
    weights=Inputs(best=6.2998, second=-0.2290, words=0.8314, words_in_best=0.8260, names=1.1709),
    bias=-3.3542,
    threshold=0.2835,
)
