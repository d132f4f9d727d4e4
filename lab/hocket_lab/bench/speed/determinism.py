"""`hocket bench determinism`: how often the precision, or the other sessions of a batch, change a token.

Every session decodes the same prefixes by itself and beside all others; its token is drawn from either with one noise,
so a difference counts once and does not spread. Promised to be none in float32 on a CPU; otherwise it is measured.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.preemption import Interrupt, Together
from hocket_daemon.engine.runtime.compute import DecodeRequest, decode
from hocket_daemon.engine.runtime.sequences import SequenceGroup
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_daemon.engine.sampling.drawing import Rule, sample
from hocket_daemon.engine.sampling.heads import Heads, made
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_lab.bench.running.product import WIRE_MASS
from hocket_lab.forcing import read_at_once
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report

WORDS = "river tower bell gate mill stone harbour winter letter bridge garden lamp market road ship song".split()  # noqa: SIM905
EXACT = "float32"


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    precisions: Annotated[Sequence[str], Option("As in [model] dtype.")] = ("float32", "bfloat16", "float16")
    sessions: Annotated[int, Option("Sessions that share a batch.", min=2)] = 9
    tokens: Annotated[int, Option("Tokens of each.", min=1)] = 60
    temperature: Annotated[float, Option("0 is greedy.", min=0)] = 1.0
    seed: Annotated[int, Option("Of texts and draws.", min=0)] = 0


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses."""
    report = Report(asdict(settings), json_path)
    missing = [name for name in settings.precisions if report.find(precision=name) is None]
    expected: list[list[int]] = []
    for precision in [EXACT, *(name for name in missing if name != EXACT)] if missing else []:
        how = ModelSettings(name=BUNDLED, dtype=precision, slots=3 * settings.sessions, kv_bytes=0)
        model = TransformersModel(how, "cloud")
        alone, beside = tokens_of(model, settings, expected)
        expected = expected or alone
        if report.find(precision=precision) is None:
            draws = settings.sessions * settings.tokens
            report.add(
                {
                    "precision": precision,
                    "device": model.compute,
                    "draws": draws,
                    "differ_beside_others": _differing(alone, beside) / draws,
                    f"differ_from_{EXACT}": _differing(alone, expected) / draws,
                }
            )
    report.claims.clear()
    row = report.find(precision=EXACT, device="cpu")
    rate = float(row["differ_beside_others"] or 0) if row else "not measured"
    report.claim(f"{EXACT} on a CPU, tokens that depend on who else is served", "0", rate, rate == 0 if row else None)
    return report.finish()


def tokens_of(
    model: TransformersModel, settings: Settings, given: Sequence[list[int]]
) -> tuple[list[list[int]], list[list[int]]]:
    """Return each session's tokens by itself and beside all others, after prefixes of `given`, or its own if empty."""
    readings = _readings(model, settings)
    alone: list[list[int]] = [[] for _ in readings]
    beside: list[list[int]] = [[] for _ in readings]
    for step in range(settings.tokens):
        prefixes = [(given[at] if given else alone[at])[:step] for at in range(len(readings))]
        pairs = list(zip(readings, prefixes, strict=True))
        for tokens, distribution in zip(beside, _decode(pairs), strict=True):
            tokens.append(_draw(settings, step, distribution))
        for tokens, pair in zip(alone, pairs, strict=True):
            tokens.append(_draw(settings, step, _decode([pair])[0]))
    for reading in readings:
        reading.close()
    return alone, beside


def _readings(model: TransformersModel, settings: Settings) -> list[SequenceGroup]:
    """Return sessions of one to three passages of different lengths."""
    rng = random.Random(settings.seed)

    def text(words: int) -> str:
        return " ".join(rng.choices(WORDS, k=words))

    return [
        read_at_once(
            model,
            text(6) + "?",
            [text(rng.randint(10, 60)) for _ in range(1 + number % 3)],
            task="answer",
            room=settings.tokens,
        )
        for number in range(settings.sessions)
    ]


def _decode(pairs: Sequence[tuple[SequenceGroup, list[int]]]) -> list[Distribution]:
    steps = [DecodeRequest(reading, prefix, _even, Interrupt()) for reading, prefix in pairs]
    decoded, _ = decode(pairs[0][0].model.read, steps, Together([step.interrupt for step in steps]))
    return [each.value for each in decoded]


def _even(heads: Heads) -> Distribution:
    return made(heads, [1 / len(heads)] * len(heads), WIRE_MASS).distribution


def _draw(settings: Settings, step: int, distribution: Distribution) -> int:
    return sample(Rule(settings.seed, settings.temperature, 1.0), step, distribution)


def _differing(some: Sequence[list[int]], others: Sequence[list[int]]) -> int:
    return sum(a != b for one, other in zip(some, others, strict=True) for a, b in zip(one, other, strict=True))
