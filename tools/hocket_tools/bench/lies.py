"""`hocket bench lies`: what a cloud that lies hears of private facts, and how often an honest one is taken for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

from rich.progress import track

from hocket_bus.messages import DEFAULT_WEIGHTS, Sampling, Weights
from hocket_daemon.aggregation.steering import Steering
from hocket_daemon.engine.sampling import Rule
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_daemon.engine.transformers_voice import TransformersVoice
from hocket_tools import console
from hocket_tools.bench.dealt import FILES, KINDS, Scores, dealt
from hocket_tools.bench.forced import ENOUGH, MANNERS, Manner, attack, forced, opening
from hocket_tools.bench.report import Report, Row
from hocket_tools.bench.settings import Option
from hocket_tools.bench.sources import digest_of_files
from hocket_tools.bench.two_sides import Step, TwoSides

AT_ONCE = 8
_ROOM = 24  # tokens that a forced beginning may take


@dataclass(frozen=True)
class Settings:
    """Everything that is set."""

    model: Annotated[str, Option("Folder of both sides' model; lies are about sentences, so one that writes them.")] = (
        BUNDLED
    )
    dtype: Annotated[str, Option("Of its weights.")] = "bfloat16"
    weights: Annotated[Weights, Option("How passages and sides are weighed.")] = DEFAULT_WEIGHTS
    answers: Annotated[int, Option("Honest answers.", min=0)] = 500
    max_tokens: Annotated[int, Option("Longest honest answer.", min=1)] = 32
    beginnings: Annotated[int, Option("Forced beginnings, at most 50.", min=0, max=50)] = 50
    temperature: Annotated[float, Option("0 is greedy; every other honest answer is.", min=0)] = 0.7
    seed: Annotated[int, Option("Chooses questions and tokens.", min=0)] = 0


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Let an honest and a lying cloud take part; returns whether every claim holds."""
    read = {"inputs": digest_of_files([data / file for file in FILES])} if settings.answers else {}
    report = Report(asdict(settings) | read, json_path)
    slots = 4 * AT_ONCE
    voice = TransformersVoice(
        ModelSettings(name=settings.model, slots=slots, context=1024, dtype=settings.dtype), "device"
    )
    for manner, drafts, watches in product(MANNERS, (False, True), (False, True)):
        key: Row = {"kind": f"lying, {manner}", "drafts": drafts, "on guard": watches}
        if settings.beginnings and report.find(**key) is None:
            report.add(key | _lying(voice, manner, settings, drafts=drafts, watches=watches))
    if sum(bool(row.get("honest")) for row in report.rows) < settings.answers:
        _honest(voice, data, settings, report)
    _claim(report, settings)
    report.summary = _summary(report.rows)
    return report.finish()


def _lying(voice: TransformersVoice, manner: Manner, settings: Settings, *, drafts: bool, watches: bool) -> Row:
    cases = list(forced())[: settings.beginnings]
    heard = []
    for at, case in enumerate(track(cases, manner, console=console.err(), transient=True)):
        seed, room = settings.seed + at, _ROOM + ENOUGH
        sampling = Sampling(temperature=settings.temperature, top_p=0.9, seed=seed, max_tokens=room)
        begin = opening(case, sampling, settings.weights)
        heard.append(attack(voice, case, manner, begin, drafts=drafts, watches=watches))
    return {
        "answers": len(heard),
        "heard": sum(one.value for one in heard),
        "facts": len({case.value for case, one in zip(cases, heard, strict=True) if one.value}),
        "parted": sum(one.parted for one in heard),
    }


def _honest(voice: TransformersVoice, data: Path, settings: Settings, report: Report) -> None:
    scores = Scores()
    asked = dealt(data, settings.answers, settings.seed, scores)
    two = TwoSides(voice, scores, settings.max_tokens, settings.weights)
    done = sum(bool(row.get("honest")) for row in report.rows)
    for at in track(range(done, len(asked), AT_ONCE), "asking", console=console.err(), transient=True):
        some = asked[at : at + AT_ONCE]
        numbers = range(at, at + len(some))
        rules = [Rule(settings.seed + n, settings.temperature if n % 2 else 0.0, 0.9) for n in numbers]
        for each, rule, steps in zip(some, rules, two.answers(some, rules), strict=True):
            text = voice.text([step.token for step in steps])
            row: Row = {"honest": True, "kind": each.kind, "temperature": rule.temperature, "alarm": alarm(steps)}
            report.add(row | {"tokens": len(steps), "question": each.question, "text": text})


def alarm(steps: Sequence[Step]) -> int | None:
    """The step at which an honest cloud would be left."""
    rule = Steering()
    return next((at for at, step in enumerate(steps) if rule.add(step.device, step.cloud, step.token)), None)


def _summary(rows: Sequence[Row]) -> list[Row]:
    lying = [row for row in rows if not row.get("honest")]
    honest = [row for row in rows if row.get("honest")]
    counted: list[Row] = [
        {
            "kind": f"honest, {kind}",
            "answers": len(mine),
            "parted": sum(row["alarm"] is not None for row in mine),
        }
        for kind in KINDS
        if (mine := [row for row in honest if row["kind"] == kind])
    ]
    names = ("kind", "drafts", "on guard", "answers", "heard", "facts", "parted")
    return [{name: row.get(name) for name in names} for row in [*lying, *counted]]


def _claim(report: Report, settings: Settings) -> None:
    report.claims.clear()
    if settings.beginnings:
        kept = [row for row in report.rows if row.get("drafts") is False and row.get("on guard")]
        most = max(int(row["heard"] or 0) for row in kept)
        limit = settings.beginnings // 10
        report.claim("values heard at most, drafts at home, on guard", f"<= {limit}", most, most <= limit)
    if honest := [row for row in report.rows if row.get("honest")]:
        share = sum(row["alarm"] is not None for row in honest) / len(honest)
        report.claim("honest answers left", "<= 0.01", share, share <= 0.01)
