"""Parts `moves` and `models`: an answer that moves at any point equals the one that did not, or goes on as its target.

With `stop` the answer moves exactly where the script says; with `overlap`, the daemons' default, the source writes on
until the target is ready. With `overlap` an answer that ends before that does not move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import hocket_models
from hocket_bus.messages import Side, Task, other
from hocket_client import Client
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.sampling.distribution import truncate
from hocket_daemon.engine.sampling.drawing import Rule, sample
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_lab.bench.live.timed import Timed, ask, longest_gap_s
from hocket_lab.bench.running.running import SIDES, BenchPair, Tables, bench_pair
from hocket_lab.forcing import distribution, read_at_once
from hocket_lab.reporting.report import Report, Row

MOVES, MODELS = "moves", "models"
WAYS = ("stop", "overlap")
QUESTIONS = (
    "Who looks after the gate?", "When was the mill built?", "What is kept in the north tower?", "Where is the key?",
    "How do I bake bread?", "Why is the sky blue?", "What does the captain say?", "Who wrote the letter?",
    "Which road leads to the harbour?", "What happened in the winter?",
)  # fmt: skip
TEMPERATURE, TOP_P = 1.0, 0.95
TASK: Task = "answer"


def options(seed: int, tokens: int) -> dict[str, Any]:
    """Return the options of each question."""
    return {
        "seed": seed, "max_tokens": tokens, "temperature": TEMPERATURE, "top_p": TOP_P, "documents": 0,
        "ignore_eos": True, "task": TASK,
    }  # fmt: skip


@dataclass(frozen=True)
class Moves:
    """Parameters of part `moves`: least seconds of either side's steps, the reader's tokens per second, and answers."""

    hold_s: tuple[float, float]
    pace: float
    tokens: int  # of an answer
    together: int  # answers asked at once

    def measure(self, report: Report, done: Callable[[], None]) -> None:
        """Add a row for each way, direction and point that is missing; both sides have one model."""
        for way in WAYS:
            missing = [
                (source, at)
                for source in SIDES
                for at in range(1, self.tokens)
                if report.find(part=MOVES, way=way, source=source, at=at) is None
            ]
            if missing:
                self._measure(report, way, missing, done)

    def _measure(self, report: Report, way: str, points: list[tuple[Side, int]], done: Callable[[], None]) -> None:
        model = {"name": str(hocket_models.path("device"))}
        sides: dict[Side, Tables] = {"device": {"dispatch": {"migration": way, "pace": self.pace}}}
        with (
            bench_pair(self.hold_s, model=model, sides=sides) as pair,
            pair.client("device") as client,
            ThreadPoolExecutor(self.together) as pool,
        ):
            whole = ask(pair, client, QUESTIONS[0], "device", **options(0, self.tokens)).ids
            for row in pool.map(partial(self._moved, pair, client, whole), points):
                report.add(row | {"part": MOVES, "way": way})
                done()

    def _moved(self, pair: BenchPair, client: Client, whole: list[int], point: tuple[Side, int]) -> Row:
        source, at = point
        timed = ask(pair, client, QUESTIONS[0], f"{source},{at}:{other(source)}", **options(0, self.tokens))
        return {
            "source": source,
            "at": at,
            "moved_at": timed.migrations[0].step if timed.migrations else None,
            "equal": timed.ids == whole,
            "late_s": max((each.late_s for each in timed.migrations), default=0.0),
            "gap_s": longest_gap_s(timed.times_s, self.pace),
        }


def measure_models(report: Report, points: Sequence[int], *, tokens: int, done: Callable[[], None]) -> None:
    """Add a row for each direction, question and point; each side has its own bundled model."""
    cases = [(source, at, number) for source in SIDES for at in points for number in range(len(QUESTIONS))]
    names = ("source", "at", "question")
    missing = [
        case for case in cases if report.find(part=MODELS, **dict(zip(names, case, strict=True))) is None
    ]  # fmt: skip
    if not missing:
        return
    models: dict[Side, LanguageModel] = {side: open_model(ModelSettings(name=BUNDLED), side) for side in SIDES}
    with (
        bench_pair(sides={"device": {"dispatch": {"migration": WAYS[0]}}}) as pair,
        pair.client("device") as client,
    ):
        for source, at, number in missing:
            timed = ask(pair, client, QUESTIONS[number], f"{source},{at}:{other(source)}", **options(number, tokens))
            row: Row = {"part": MODELS, "source": source, "at": at, "question": number}
            report.add(row | _behind(models, timed, source, QUESTIONS[number], number))
            done()


def _behind(models: dict[Side, LanguageModel], timed: Timed, source: Side, question: str, seed: int) -> Row:
    """Return a row that tells whether each side wrote what its model draws after the tokens before."""
    at = timed.migrations[0].step if timed.migrations else len(timed.ids)
    before = own_tokens(models[source], question, timed.ids, range(at), seed)
    behind = own_tokens(models[other(source)], question, timed.ids, range(at, len(timed.ids)), seed)
    return {
        "moved_at": at if timed.migrations else None,
        "tokens": len(timed.ids),
        "equal": before + behind == timed.ids,
        "differs": behind != own_tokens(models[source], question, timed.ids, range(at, len(timed.ids)), seed),
    }


def own_tokens(model: LanguageModel, question: str, ids: list[int], steps: range, seed: int) -> list[int]:
    """Return the tokens that a side draws at these steps after the tokens of `ids` before each, by the daemons' law."""
    rule, mass = Rule(seed, TEMPERATURE, TOP_P), AggregationSettings().wire_mass
    group = read_at_once(model, question, [], task=TASK, room=len(ids))
    found = [sample(rule, step, truncate(distribution(group, ids[:step], []), mass)) for step in steps]
    group.close()
    return found


def claim_moves(report: Report, pace: float, tokens: int) -> list[Row]:
    """Claim, for each way, that all answers are equal and none late; return what to show."""
    shown: list[Row] = []
    for way in WAYS:
        mine = [row for row in report.rows if row["part"] == MOVES and row["way"] == way]
        if not mine:
            continue
        equal = sum(bool(row["equal"]) for row in mine)
        wanted = len(SIDES) * (tokens - 1)
        name = f"{way}: answers equal to the one that did not move, of {len(mine)}"
        report.claim(name, str(wanted), equal, equal == wanted)
        moved = sum(row["moved_at"] is not None for row in mine)
        if way == "stop":
            there = sum(row["moved_at"] == row["at"] for row in mine)
            report.claim(
                f"{way}: answers that moved at their token, of {len(mine)}", str(wanted), there, there == wanted
            )
        gap_s = max(float(row["gap_s"] or 0) for row in mine)
        late_s = max(float(row["late_s"] or 0) for row in mine)
        if way == "overlap":
            name = f"{way}: longest gap for a reader of {pace:g} tokens a second, s"
            report.claim(name, f"<= {1 / pace:.4f}", gap_s, gap_s <= 1 / pace + 1e-6)
        shown += [
            _shown(MOVES, way, "moved", f"{moved} of {len(mine)}"),
            _shown(MOVES, way, "longest gap, s", gap_s),
            _shown(MOVES, way, "latest token behind a move, s", late_s),
        ]
    return shown


def claim_models(report: Report) -> list[Row]:
    """Claim that a target goes on as itself; return what to show."""
    mine = [row for row in report.rows if row["part"] == MODELS]
    if not mine:
        return []
    equal, moved = (sum(bool(row["equal"]) for row in mine), sum(row["moved_at"] is not None for row in mine))
    name = f"two models: answers whose every token is its writer's own behind those before, of {len(mine)}"
    report.claim(name, str(len(mine)), equal, equal == len(mine))
    report.claim(f"two models: answers that moved, of {len(mine)}", str(len(mine)), moved, moved == len(mine))
    differs = sum(bool(row["differs"]) for row in mine)
    return [_shown(MODELS, "two models", "the source would have gone on otherwise", f"{differs} of {len(mine)}")]


def _shown(part: str, case: str, figure: str, value: float | str) -> Row:
    return {"part": part, "case": case, "figure": figure, "value": value}
