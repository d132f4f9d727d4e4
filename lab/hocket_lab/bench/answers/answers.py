"""`hocket bench answers`: is the pair as good as the side that knows? Real questions; others are used for tuning.

Both sides generate as the daemons do, in this process, a few questions at a time (two_sides.py).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, cast

from rich.progress import Progress

from hocket_bus.messages import DEFAULT_WEIGHTS, WEIGHTS, Weights
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_daemon.engine.settings import BUNDLED, KVSettings, ModelSettings
from hocket_lab.bench.parties.two_sides import Asked, TwoSides
from hocket_lab.bench.privacy.lies import alarm
from hocket_lab.bench.questions.dealt import Scores
from hocket_lab.bench.questions.question_sets import HALVES, SETS, Question, files, questions
from hocket_lab.bench.questions.wording import contains, f1
from hocket_lab.bench.running.product import (
    CONTRASTED,
    DOCUMENTS,
    DTYPE,
    RELEVANCE_TEMPERATURE,
    TEMPERATURE,
    THREADS,
    TOP_P,
)
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, bootstrap
from hocket_lab.reporting.sources import digest_of_files
from hocket_tools import console

GOLD, DEVICE, CLOUD, DRCG_TEXT = "gold passage", "device alone", "cloud alone", "drcg-text"
PAIRS: dict[str, Weights] = {f"pair {weights}": cast("Weights", weights) for weights in WEIGHTS}
CONTRAST = "pair contrast"
WHO = (GOLD, DEVICE, CLOUD, *PAIRS, CONTRAST, DRCG_TEXT)
KNOWING = {"squad device": DEVICE, "squad cloud": CLOUD, "chats": DEVICE}
AT_ONCE = 8
_SLOTS_EACH = 6
_KV_BYTES = 8_000_000_000  # float32 takes 4.5 of them with SmolLM2
_RATIO, _RATIO_LOW = 0.95, 0.85
_GAIN = 1.15
_LEFT = 0.01


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    model: Annotated[str, Option("Both sides' model: a published name, a folder or a .gguf file.")] = BUNDLED
    dtype: Annotated[str, Option("Of its weights.")] = DTYPE
    threads: Annotated[int, Option("CPU threads of a forward pass.", min=1)] = THREADS
    squad: Annotated[int, Option("SQuAD's questions, half of them the device's.", min=0)] = 300
    two_sided: Annotated[int, Option("Questions of two parts, one on each side.", min=0)] = 100
    chats: Annotated[int, Option("Questions about the device's chats.", min=0)] = 100
    nq: Annotated[int, Option("NQ-open's questions.", min=0)] = 100
    clapnq: Annotated[int, Option("CLAP-NQ's questions, answered in sentences.", min=0)] = 50
    mtrag: Annotated[int, Option("Last turns of MTRAG's conversations.", min=0)] = 50
    half: Annotated[str, Option("Which of SQuAD's articles, and of the other corpora.", choices=tuple(HALVES))] = (
        "reported"
    )
    who: Annotated[Sequence[str], Option("Who answers.", choices=WHO)] = WHO
    weights: Annotated[Weights, Option("How one side alone weighs, and the pair that is compared with it.")] = (
        DEFAULT_WEIGHTS
    )
    contrast: Annotated[float, Option("How strongly pair contrast sets passages against the question.", min=0)] = (
        CONTRASTED
    )
    relevance_temperature: Annotated[float, Option("Of the passages' weights.", min=1e-6)] = RELEVANCE_TEMPERATURE
    documents: Annotated[int, Option("Passages a side.", min=1)] = DOCUMENTS
    max_tokens: Annotated[int, Option("Longest answer.", min=1)] = 40
    temperature: Annotated[float, Option("0 is greedy; above it, top-p is the client's default.", min=0)] = TEMPERATURE
    seed: Annotated[int, Option("Chooses the questions, and what is drawn.", min=0)] = 0


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Ask each system what it has not answered yet; tell whether no claim misses."""
    each = {"squad device": settings.squad // 2, "squad cloud": settings.squad // 2}
    each |= {"two-sided": settings.two_sided, "chats": settings.chats}
    each |= {"nq": settings.nq, "clapnq": settings.clapnq, "mtrag": settings.mtrag}
    read = {"inputs": digest_of_files([data / file for file in files(each)])}
    report = Report(asdict(settings) | read, json_path)
    asked = questions(data, settings.half, each, settings.seed)
    if len(report.rows) < len(asked) * len(settings.who):
        _measure(report, asked, settings)
    report.summary = summary(report.rows)
    claim(report, settings.weights)
    claim_contrast(report, settings.weights)
    if json_path is not None:
        title = "Answers that contain an accepted one"
        report.plot(json_path.with_suffix(".png"), "set", "contains", "who", title=title, interval=("low", "high"))
    return report.finish()


def _measure(report: Report, asked: Sequence[Question], settings: Settings) -> None:
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder, Progress(console=console.err()) as progress:
        how = ModelSettings(
            name=settings.model, dtype=settings.dtype, threads=settings.threads, slots=AT_ONCE * _SLOTS_EACH,
            context=2048, prefill_tokens=512, kv_bytes=_KV_BYTES,
        )  # fmt: skip
        model = open_model(how, "device", KVSettings(folder=folder))
        assert model.stored is not None
        with closing(model.stored):
            _ask_all(model, asked, settings, report, progress)


def _ask_all(
    model: LanguageModel, asked: Sequence[Question], settings: Settings, report: Report, progress: Progress
) -> None:
    scores, numbered = Scores(), list(enumerate(asked))
    bar = progress.add_task("answers", total=len(asked) * len(settings.who))
    for first in range(0, len(asked), AT_ONCE):
        some = numbered[first : first + AT_ONCE]
        for who in settings.who:
            new = [(at, question) for at, question in some if report.find(id=at, who=who) is None]
            answers = _answers(model, scores, who, new, settings)
            for (at, question), (text, left) in zip(new, answers, strict=True):
                report.add(_row(at, question, who, text) | {"left": left})
            progress.advance(bar, len(some))


def _answers(
    model: LanguageModel, scores: Scores, who: str, some: Sequence[tuple[int, Question]], settings: Settings
) -> Iterator[tuple[str, bool]]:
    weights = PAIRS.get(who, settings.weights)
    aggregation = AggregationSettings(
        relevance_temperature=settings.relevance_temperature, contrast=settings.contrast if who == CONTRAST else 0.0
    )
    two = TwoSides(model, scores, settings.max_tokens, weights, aggregation)
    asked = [_asked(question, who, scores, settings.documents) for _, question in some]
    rules = [Rule(settings.seed + at, settings.temperature, TOP_P) for at, _ in some]
    for steps in two.answers(asked, rules):
        yield model.text([step.token for step in steps]), alarm(steps) is not None


def _asked(question: Question, who: str, scores: Scores, documents: int) -> Asked:
    """Return the question and the passages that each side reads when `who` answers."""
    if who == GOLD:
        return Asked(question.of, question.text, ("\n\n".join(part.gold for part in question.parts),), ())
    device, cloud = (
        tuple(scores.nearest(question.text, passages, documents)) for passages in (question.device, question.cloud)
    )
    if who == DRCG_TEXT:
        return Asked(question.of, question.text, ("\n\n".join((*device, *cloud)),), ())
    return Asked(question.of, question.text, device if who != CLOUD else (), cloud if who != DEVICE else ())


def _row(at: int, question: Question, who: str, text: str) -> Row:
    return {
        "id": at,
        "set": question.of,
        "who": who,
        "contains": all(contains(text, part.answers) for part in question.parts),
        "f1": fmean(f1(text, part.answers) for part in question.parts),
        "question": question.text,
        "text": text.strip(),
    }


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return, for each set and system, the share of answers that contain the accepted one and F1, with intervals."""
    found: list[Row] = []
    for of in SETS:
        for who in WHO:
            mine = [row for row in rows if (row["set"], row["who"]) == (of, who)]
            if mine:
                right = [float(bool(row["contains"])) for row in mine]
                low, high = bootstrap(right)
                words = [float(row["f1"] or 0.0) for row in mine]
                low_f1, high_f1 = bootstrap(words)
                found.append(
                    {"set": of, "who": who, "n": len(mine), "contains": fmean(right), "low": low, "high": high,
                     "f1": fmean(words), "f1 low": low_f1, "f1 high": high_f1}
                )  # fmt: skip
    return found


def claim(report: Report, weights: Weights) -> None:
    """Claim how the pair with `weights` compares with the side that knows and with one side that has read everything.

    Further claims bound how often the pair's honest clouds are left.
    """
    report.claims.clear()
    pair = f"pair {weights}"
    for of, knowing in KNOWING.items():
        _compare(report, (of,), (pair, knowing), _RATIO, _RATIO_LOW if of != "chats" else 0.0)
    _compare(report, ("two-sided",), (pair, DRCG_TEXT), 1.0, 0.0)
    for who in (pair, CONTRAST):
        if honest := [bool(row["left"]) for row in report.rows if row["who"] == who and "left" in row]:
            left = fmean(honest)
            report.claim(f"{who}: honest clouds that are left", f"<= {_LEFT:g}", left, left <= _LEFT)


def claim_contrast(report: Report, weights: Weights) -> None:
    """Claim how the pair with contrast compares with the pair with `weights` and with the right passage alone."""
    pair, squad = f"pair {weights}", ("squad device", "squad cloud")
    _compare(report, squad, (CONTRAST, GOLD), 1.0, 0.0)
    _compare(report, (*squad, "nq"), (CONTRAST, pair), _GAIN, 0.0)
    for of in SETS:
        for measure in ("contains", "f1"):
            both = _both(report, (of,), (CONTRAST, pair), measure)
            if both:
                gains = [ours - theirs for ours, theirs in both]
                low, high = bootstrap(gains)
                shown = f"{fmean(gains):+.3f} [{low:+.3f}, {high:+.3f}]"
                report.claim(f"{of}: {measure} of {CONTRAST} beyond {pair}", "not below 0", shown, high >= 0)


def _both(report: Report, sets: Sequence[str], who: tuple[str, str], measure: str) -> list[tuple[float, float]]:
    """Return both systems' values of `measure`, for each question that both have answered."""
    found: dict[str, Mapping[object, float]] = {
        each: {
            row["id"]: float(row[measure] or 0.0) for row in report.rows if row["set"] in sets and row["who"] == each
        }
        for each in who
    }
    ours, theirs = (found[each] for each in who)
    return [(mine, theirs[at]) for at, mine in ours.items() if at in theirs]


def _compare(report: Report, sets: Sequence[str], who: tuple[str, str], target: float, minimum: float) -> None:
    """Claim the ratio of the first system's right answers to the second's, over questions that both have answered."""
    both = _both(report, sets, who, "contains")
    name = f"{', '.join(sets)}: {who[0]} over {who[1]}"
    wanted = f">= {target:g}" + (f", lower end >= {minimum:g}" if minimum else "")
    if not any(theirs for _, theirs in both):
        report.claim(name, wanted, "nothing to compare", None)
        return
    ratio = _ratio(both)
    low, high = bootstrap(range(len(both)), lambda drawn: _ratio([both[int(at)] for at in drawn]))
    report.claim(name, wanted, f"{ratio:.2f} [{low:.2f}, {high:.2f}]", ratio >= target and low >= minimum)


def _ratio(both: Sequence[tuple[float, float]]) -> float:
    theirs = sum(other for _, other in both)
    return sum(ours for ours, _ in both) / theirs if theirs else 1.0
