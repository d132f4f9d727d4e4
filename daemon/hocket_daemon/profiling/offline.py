"""The profiler's offline stage (DRAGON §5.2): dummy chunks, then timed decoding until the context is full."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Side

from ..engine.catalog.machine import processor
from ..engine.language_model import LanguageModel
from ..engine.sampling.heads import made
from ..engine.segments import Segment, in_passes
from ..engine.settings import ModelSettings
from .energy import EnergyMeter
from .profiler import Energy, PrefillTime, fit, fit_prefill
from .profiles import DecodeProfile

_SEED = 0
_PROMPTS = 4  # lengths of prompts, up to the context


@dataclass(frozen=True, slots=True)
class Stage:
    """The work of a run: `rows` chunks of `chunk_tokens` decode together, `runs` times."""

    rows: int = 2
    chunk_tokens: int = 96
    runs: int = 3


def about(model: LanguageModel, settings: ModelSettings, side: Side) -> dict[str, str | int]:
    """Return the model and machine that a decode time depends on. The bundled model is another one on each side."""
    return {
        "model": settings.name,
        "side": side,
        "dtype": settings.dtype,
        "context": model.slots.context,
        "compute": model.compute,
        "threads": settings.compute_threads,
        "processor": processor(),
        "cores": os.cpu_count() or 0,
    }


def steps_of(model: LanguageModel, stage: Stage) -> int:
    """Return the number of decode steps of all runs together."""
    return stage.runs * max(0, model.slots.context - stage.chunk_tokens)


def profile(
    model: LanguageModel, about: dict[str, str | int], stage: Stage, wire_mass: float, progress: Callable[[], None]
) -> DecodeProfile:
    """Measure and fit; `progress` is called after every step. Raises BadRequest for too short a context."""
    if steps_of(model, stage) == 0:
        raise BadRequest(f"chunks of {stage.chunk_tokens} tokens fill the model's context", "use shorter chunks")
    meter = EnergyMeter()
    seconds = np.mean([_run(model, stage, wire_mass, progress) for _ in range(stage.runs)], axis=0)
    decoded_j = meter.joules()
    fitted = fit(range(stage.chunk_tokens + 1, model.slots.context + 1), seconds)
    meter = EnergyMeter()
    prefill = _prefill_time(model, stage.runs)
    return DecodeProfile(
        date=datetime.now(UTC).isoformat(timespec="minutes"),
        about=about,
        fits={stage.rows: fitted},
        prefill=prefill,
        energy=_energy(model, stage, decoded_j, meter.joules()),
    )


def _energy(model: LanguageModel, stage: Stage, decoded_j: float | None, prefilled_j: float | None) -> Energy | None:
    """Return the joules a token; a run's chunks, which are few beside its steps, count as decoded."""
    if decoded_j is None or prefilled_j is None:
        return None
    prompts = stage.runs * sum(_lengths(model))
    return Energy(prefilled_j / prompts, decoded_j / (steps_of(model, stage) * stage.rows))


def _lengths(model: LanguageModel) -> list[int]:
    """Return the lengths of the prompts that are timed."""
    return [model.slots.context * part // _PROMPTS for part in range(1, _PROMPTS + 1)]


def _prefill_time(model: LanguageModel, runs: int) -> PrefillTime:
    """Time prompts of several lengths in one row, read as a session's are; the fastest of the runs counts."""
    lengths = _lengths(model)
    return fit_prefill(lengths, [min(_read_prompt(model, length) for _ in range(runs)) for length in lengths])


def _read_prompt(model: LanguageModel, length: int) -> float:
    ids = np.random.default_rng(_SEED).integers(model.vocabulary, size=length).tolist()
    rows = model.slots.take(1)
    started_s = time.perf_counter()
    try:
        for segment in in_passes(rows, [ids], model.prefill_tokens):
            model.read([segment])
    finally:
        model.slots.give_back(rows)
    return time.perf_counter() - started_s


def _run(model: LanguageModel, stage: Stage, wire_mass: float, progress: Callable[[], None]) -> list[float]:
    """Return the seconds of each step, the context one token longer each time; it does what a session's step does."""
    rng = np.random.default_rng(_SEED)
    words = model.vocabulary
    weights = [1 / stage.rows] * stage.rows
    rows = model.slots.take(stage.rows)
    seconds = []
    try:
        model.read([Segment(rows, rng.integers(words, size=(stage.rows, stage.chunk_tokens)).tolist())])
        for token in rng.integers(words, size=model.slots.context - stage.chunk_tokens).tolist():
            started_s = time.perf_counter()
            made(model.read([Segment(rows, [[token]] * stage.rows)])[0], weights, wire_mass)
            seconds.append(time.perf_counter() - started_s)
            progress()
    finally:
        model.slots.give_back(rows)
    return seconds
