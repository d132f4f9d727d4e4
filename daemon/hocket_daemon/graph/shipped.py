"""The calibration that ships: for the bundled embedder, by `hocket bench graph --part gate`."""

from __future__ import annotations

from .gate import Calibration, Inputs

SHIPPED = Calibration(
    scorer="cosine:9e81c4d9f4b551b4",
    weights=Inputs(best=5.2316, second=2.5638, words=2.5539, words_in_best=0.4568, names=0.6289),
    bias=-5.2823,
    threshold=0.2775,
)
