"""`hocket bench lies`: what a cloud that lies hears of private facts, and how often an honest one is taken for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

from rich.progress import Progress, track

from hocket_bus.messages import DEFAULT_WEIGHTS, Sampling, Side, Task, Weights
from hocket_daemon.aggregation.steering import Guard, Steering, bounds, guard
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_lab.bench.parties.two_sides import SIDES, Asked, Step, TwoSides
from hocket_lab.bench.privacy.forced import ENOUGH, MANNERS, Manner, attack, forced, opening
from hocket_lab.bench.questions.dealt import FILES, Scores, dealt
from hocket_lab.bench.speed.aggregation import articles, fixed_prompts
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row
from hocket_lab.reporting.sources import digest_of_files
from hocket_tools import console

AT_ONCE = 8
GUARDS: tuple[Guard, ...] = ("warns", "leaves")
TASKS: tuple[Task, ...] = ("answer", "complete")
TOP_P = Sampling().top_p
_ROOM = 24  # tokens that a forced beginning may take
_ARTICLES = 40  # that two sides have read who complete a text
_WIKITEXT = ("wikitext2/wiki.test.raw", "wikitext2/wiki.valid.raw")


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark."""

    model: Annotated[str, Option("Folder of both sides' model; bundled: each side has its own.")] = BUNDLED
    dtype: Annotated[str, Option("Of its weights.")] = "float32"
    weights: Annotated[Weights, Option("How passages and sides are weighed.")] = DEFAULT_WEIGHTS
    answers: Annotated[int, Option("Honest answers for each task and temperature.", min=0)] = 300
    tasks: Annotated[Sequence[str], Option("What honest sides are asked.", choices=TASKS)] = TASKS
    max_tokens: Annotated[int, Option("Longest honest answer.", min=1)] = 64
    beginnings: Annotated[int, Option("Forced beginnings, at most 50.", min=0, max=50)] = 50
    temperatures: Annotated[Sequence[float], Option("0 is greedy.", min=0)] = (0.0, 0.7, 1.0)
    seed: Annotated[int, Option("Chooses questions and tokens.", min=0)] = 0


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Let an honest and a lying cloud take part; tells whether no claim misses."""
    read = {"inputs": digest_of_files([data / file for file in (*FILES, *_WIKITEXT)])} if settings.answers else {}
    report = Report(asdict(settings) | read, json_path)
    models = _models(settings)
    for temperature, manner, drafts in product(settings.temperatures, MANNERS, (False, True)):
        for kind in ("off", guard(trusts=False, shares_drafts=drafts)):
            key: Row = {"cloud": f"lying, {manner}", "temperature": temperature, "drafts": drafts, "guard": kind}
            if settings.beginnings and report.find(**key) is None:
                report.add(key | _lying(models["device"], manner, settings, temperature, kind, drafts=drafts))
    if settings.answers:
        _honest(models, data, settings, report)
    _claim(report)
    report.summary = _summary(report.rows)
    return report.finish()


def _models(settings: Settings) -> Mapping[Side, TransformersModel]:
    model = ModelSettings(name=settings.model, slots=4 * AT_ONCE, context=1024, dtype=settings.dtype)
    if settings.model == BUNDLED:
        return {side: TransformersModel(model, side) for side in SIDES}
    return dict.fromkeys(SIDES, TransformersModel(model, "device"))


def _lying(
    model: TransformersModel, manner: Manner, settings: Settings, temperature: float, kind: Guard, *, drafts: bool
) -> Row:
    cases = list(forced())[: settings.beginnings]
    learned = []
    for at, case in enumerate(track(cases, manner, console=console.err(), transient=True)):
        seed, room = settings.seed + at, _ROOM + ENOUGH
        sampling = Sampling(temperature=temperature, seed=seed, max_tokens=room)
        begin = opening(case, sampling, settings.weights)
        learned.append(attack(model, case, manner, begin, drafts=drafts, guard=kind))
    return {
        "answers": len(learned),
        "heard": sum(one.value for one in learned),
        "facts": len({case.value for case, one in zip(cases, learned, strict=True) if one.value}),
        "left": sum(one.parted for one in learned),
        "warned": sum(one.warned for one in learned),
    }


def _honest(models: Mapping[Side, LanguageModel], data: Path, settings: Settings, report: Report) -> None:
    scores = Scores()
    cells = [(task, each) for task in TASKS if task in settings.tasks for each in settings.temperatures]
    with Progress(console=console.err(), transient=True) as bar:
        task_id = bar.add_task("honest answers", total=len(cells) * settings.answers)
        for task, temperature in cells:
            asked = _asked(task, data, settings, scores)
            two = TwoSides(models, scores, settings.max_tokens, settings.weights, task=task)
            done = len(_of(report.rows, task, temperature))
            bar.advance(task_id, done)
            for at in range(done, len(asked), AT_ONCE):
                some = asked[at : at + AT_ONCE]
                rules = [Rule(settings.seed + at + n, temperature, TOP_P) for n in range(len(some))]
                for each, steps in zip(some, two.answers(some, rules), strict=True):
                    row: Row = {"cloud": "honest", "task": task, "temperature": temperature, "kind": each.kind}
                    row |= {kind: alarm(steps, kind) for kind in GUARDS}
                    report.add(row | {"tokens": len(steps)})
                bar.advance(task_id, len(some))


def _asked(task: Task, data: Path, settings: Settings, scores: Scores) -> list[Asked]:
    """Return questions with the passages that each side finds.

    For another task than answers they are the beginnings of paragraphs, beside others' passages.
    """
    if task == "answer":
        return dealt(data, settings.answers, settings.seed, scores)
    texts = articles(data, _ARTICLES)
    device, cloud = texts[::2], texts[1::2]
    return [
        Asked("text", begun, tuple(scores.nearest(begun, device)), tuple(scores.nearest(begun, cloud)))
        for begun in fixed_prompts(data, settings.answers)
    ]


def _of(rows: Sequence[Row], task: str, temperature: float) -> list[Row]:
    return [row for row in rows if (row.get("task"), row["temperature"]) == (task, temperature)]


def alarm(steps: Sequence[Step], kind: Guard = "leaves") -> int | None:
    """Return the step at which a guard would leave an honest cloud or warn of it, if there is one."""
    rule = Steering(bounds(kind))
    return next((at for at, step in enumerate(steps) if rule.add(step.device, step.cloud, step.token)), None)


def _summary(rows: Sequence[Row]) -> list[Row]:
    """Return a lying cloud's rows, and a row for each task, temperature and way of sharing of an honest one."""
    names = ("cloud", "task", "temperature", "drafts", "guard", "answers", "heard", "facts", "left", "warned")
    found: list[Row] = [row for row in rows if row["cloud"] != "honest"]
    for task, temperature in dict.fromkeys((row["task"], row["temperature"]) for row in rows if "task" in row):
        assert isinstance(temperature, float)
        mine = _of(rows, str(task), temperature)
        for drafts in (True, False):
            kind = guard(trusts=False, shares_drafts=drafts)
            alarms = sum(row[kind] is not None for row in mine)
            head: Row = {"cloud": "honest", "task": task, "temperature": temperature, "drafts": drafts, "guard": kind}
            counts: Row = {"left": alarms * (kind == "leaves"), "warned": alarms * (kind == "warns")}
            found.append(head | {"answers": len(mine)} | counts)
    return [{name: row.get(name) for name in names} for row in found]


def _claim(report: Report) -> None:
    report.claims.clear()
    summary = _summary(report.rows)
    lying = [row for row in summary if row["cloud"] != "honest" and not row["drafts"] and row["guard"] == "leaves"]
    for row in [max(lying, key=lambda row: int(row["heard"] or 0))] if lying else []:
        maximum, limit = int(row["heard"] or 0), int(row["answers"] or 0) // 10
        report.claim("values heard at most, drafts at home, on guard", f"<= {limit}", maximum, maximum <= limit)
    for row in summary:
        if row["cloud"] == "honest" and row["drafts"]:
            share = int(row["left"] or 0) / int(row["answers"] or 1)
            name = f"honest clouds left, {row['task']}, temperature {row['temperature']:g}"
            report.claim(name, "<= 0.001", share, share <= 0.001)
