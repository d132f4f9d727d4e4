"""`hocket bench migration`: answers of a running pair that move between its sides, at every point and both ways.

Part `moves` has one model on both sides, `models` two, `bytes` weighs what would travel as text, and `quality` asks
whether an answer of two sides is right as often as theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from rich.progress import Progress

from hocket_bus.errors import BadRequest
from hocket_daemon.dispatch.settings import DispatchSettings
from hocket_daemon.engine.settings import AUTO
from hocket_lab.bench.dispatch.inputs import ALPACA
from hocket_lab.bench.live import moved, quality, weight
from hocket_lab.bench.questions.question_sets import FILES, HALVES
from hocket_lab.bench.running.running import SIDES
from hocket_lab.data_folder import require
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.picture import draw
from hocket_lab.reporting.report import Report
from hocket_lab.reporting.sources import digest_of_files
from hocket_tools import console

PARTS = (moved.MOVES, moved.MODELS, weight.PART, quality.PART)
COLUMNS = ("part", "case", "figure", "value", "beside")


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    parts: Annotated[Sequence[str], Option("What to measure.", name="--part", choices=PARTS)] = PARTS
    tokens: Annotated[int, Option("Tokens of an answer that moves.", min=2)] = 60
    points: Annotated[Sequence[int], Option("Where answers of two models move.", min=1)] = (1, 10, 30)
    hold_ms: Annotated[
        Sequence[float], Option("Least time of a step in part moves, ms: the device's and the cloud's.", name="--hold")
    ] = (50.0, 25.0)
    pace: Annotated[float, Option("Tokens a second that a reader reads.", min=0.1)] = DispatchSettings().pace
    together: Annotated[int, Option("Answers of part moves at once.", min=1)] = 4
    model: Annotated[str, Option("Both sides' model in part quality, and the tokenizer of part bytes.")] = AUTO
    answers: Annotated[int, Option("Answers that are weighed.", min=1)] = 1_000
    questions: Annotated[int, Option("Questions of part quality from each side's documents.", min=1)] = 50
    longest: Annotated[int, Option("Tokens of the longest answer in part quality.", min=1)] = 80
    passages: Annotated[int, Option("Passages that each side has read in part quality.", min=1)] = 100
    half: Annotated[str, Option("Which of SQuAD's articles.", choices=tuple(HALVES))] = "reported"
    seed: Annotated[int, Option("Chooses the questions.", min=0)] = 0


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses. Parts may be measured one by one."""
    if len(settings.hold_ms) != len(SIDES):
        raise BadRequest(f"--hold has {len(settings.hold_ms)} number(s)", "give the device's and the cloud's: 50,25")
    if not {weight.PART, quality.PART}.isdisjoint(settings.parts):
        require(data, ALPACA, *FILES)
    of_rows = {name: value for name, value in asdict(settings).items() if name != "parts"}
    report = Report(of_rows | {"inputs": digest_of_files([data / name for name in (ALPACA, *FILES)])}, json_path)
    with Progress(console=console.err(), transient=True) as bar:
        for part in settings.parts:
            _measure(report, part, data, settings, bar)
    report.claims.clear()
    report.summary = [
        *moved.claim_moves(report, settings.pace, settings.tokens), *moved.claim_models(report),
        *weight.claim(report), *quality.claim(report),
    ]  # fmt: skip
    points = [
        row | {"what": f"{row['way']}, from {row['source']}"} for row in report.rows if row["part"] == moved.MOVES
    ]
    if json_path is not None and points:
        draw(json_path.with_suffix(".png"), points, "at", "late_s", "what", title="seconds late behind a move")
    return report.finish(COLUMNS)


def _measure(report: Report, part: str, data: Path, settings: Settings, bar: Progress) -> None:
    task = bar.add_task(part, total=None)

    def done() -> None:
        bar.advance(task)

    match part:
        case moved.MOVES:
            device_ms, cloud_ms = settings.hold_ms
            bar.update(task, total=len(moved.WAYS) * len(SIDES) * (settings.tokens - 1))
            held_s = device_ms / 1000, cloud_ms / 1000
            moved.Moves(held_s, settings.pace, settings.tokens, settings.together).measure(report, done)
        case moved.MODELS:
            bar.update(task, total=len(SIDES) * len(settings.points) * len(moved.QUESTIONS))
            moved.measure_models(report, settings.points, tokens=settings.tokens, done=done)
        case weight.PART:
            weight.measure(report, data, settings.model, settings.answers)
        case _:
            bar.update(task, total=2 * settings.questions * len(SIDES) * len(quality.CAPS))
            asking = quality.Asking(
                settings.model, settings.questions, settings.longest, settings.passages, settings.half, settings.seed
            )
            asking.measure(report, data, done)
