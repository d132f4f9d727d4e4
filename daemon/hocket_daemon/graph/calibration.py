"""The calibration that ships: for the bundled embedder, chosen by `hocket bench graph --part gate`."""

from __future__ import annotations

from .gate import Calibration, Inputs

SHIPPED = Calibration(
    scorer="cosine:9e81c4d9f4b551b4",
    weights=Inputs(best=6.0, second=1.0, words=2.0, words_in_best=2.0, names=1.0),
    bias=-6.5,
    threshold=0.5,
)
