"""The settings of the benchmark, and its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from hocket_daemon.aggregation.settings import GroupSettings
from hocket_daemon.engine.settings import BUNDLED
from hocket_lab.bench.group import answers as right_answers
from hocket_lab.bench.group import apart, privacy, speed
from hocket_lab.bench.group.answers import WAYS
from hocket_lab.bench.group.worlds import files, worlds
from hocket_lab.bench.questions.question_sets import FILES, HALVES
from hocket_lab.bench.running.product import DTYPE
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report
from hocket_lab.reporting.sources import digest_of_files

PARTS = ("speed", "apart", "answers", "privacy")


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    part: Annotated[str, Option("What to measure.", choices=PARTS)] = "speed"
    parties: Annotated[Sequence[int], Option("Devices that write together, speed and apart.")] = (2, 3, 5, 8)
    rtt: Annotated[Sequence[int], Option("Round trips between two devices, in ms, speed and apart.")] = (
        0,
        100,
        300,
    )
    hold: Annotated[float, Option("What a decode step takes, in ms, parts speed and apart.", min=0)] = 25.0
    answers: Annotated[int, Option("Questions of each row, speed; of each of SQuAD's sets, apart.", min=1)] = 4
    tokens: Annotated[int, Option("Tokens of an answer: the longest, but for part speed each.", min=16)] = 48
    questions: Annotated[int, Option("Questions of each set, part answers.", min=1)] = 40
    ways: Annotated[Sequence[str], Option("Who answers, part answers.", choices=WAYS)] = WAYS
    half: Annotated[str, Option("Which of the corpora's halves, apart and answers.", choices=tuple(HALVES))] = (
        "reported"
    )
    canaries: Annotated[int, Option("Private sentences, part privacy.", min=1)] = 200
    bits: Annotated[Sequence[float], Option("Bounds of a draft, part privacy; 0: none.", min=0)] = (
        0,
        1,
        2,
        4,
    )
    model: Annotated[
        str, Option("All devices' model, but for part speed: a published name, a folder or a .gguf file.")
    ] = BUNDLED
    dtype: Annotated[str, Option("Of its weights.")] = DTYPE
    seed: Annotated[int, Option("Draws questions and sentences.", min=0)] = 0


_USED = {
    "speed": ("parties", "rtt", "hold", "answers", "tokens"),
    "apart": ("parties", "rtt", "hold", "answers", "tokens", "half", "model", "dtype", "seed"),
    "answers": ("questions", "half", "model", "dtype", "tokens", "seed"),
    "privacy": ("canaries", "bits", "model", "dtype", "tokens", "seed"),
}


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses."""
    used = {name: getattr(settings, name) for name in ("part", *_USED[settings.part])}
    return _PARTS[settings.part](data, settings, used, json_path)


def _speed(_: Path, settings: Settings, used: Mapping[str, Any], json_path: Path | None) -> bool:
    report = Report({**used, "patience_ms": GroupSettings().patience_ms}, json_path)
    running = speed.Settings(settings.parties, settings.rtt, settings.hold, settings.answers, settings.tokens)
    speed.measure(report, running)
    speed.claim(report, running)
    return report.finish(speed.COLUMNS)


def _apart(data: Path, _: Settings, used: Mapping[str, Any], json_path: Path | None) -> bool:
    report = Report({**used, "inputs": digest_of_files([data / file for file in FILES])}, json_path)
    how = apart.Settings(**{name: used[name] for name in _USED["apart"]})
    apart.measure(report, data, how)
    report.summary = apart.summary(report, how)
    apart.claim(report)
    apart.draw_picture(report)
    return report.finish(apart.COLUMNS)


def _privacy(_: Path, settings: Settings, used: Mapping[str, Any], json_path: Path | None) -> bool:
    report = Report(used, json_path)
    given = settings.canaries, settings.bits, settings.model, settings.dtype, settings.tokens, settings.seed
    privacy.measure(report, privacy.How(*given))
    privacy.claim(report)
    return report.finish(privacy.COLUMNS)


def _answers(data: Path, settings: Settings, used: Mapping[str, Any], json_path: Path | None) -> bool:
    asked = worlds(data, settings.half, settings.questions, settings.seed)
    report = Report({**used, "inputs": digest_of_files([data / file for file in files()])}, json_path)
    how = right_answers.How(settings.model, settings.dtype, settings.tokens)
    right_answers.measure(report, asked, settings.ways, how)
    report.summary = right_answers.summary(report.rows)
    right_answers.claim(report)
    return report.finish(right_answers.COLUMNS)


_PARTS = {"speed": _speed, "apart": _apart, "answers": _answers, "privacy": _privacy}
