"""`hocket bench words`: do two models with different tokenizers answer as well as the better one of them alone?

Real questions, whose passages are dealt to two sides, are answered by each side alone and by both, a word at a time;
by tokens, too, where the models have one tokenizer. One process, by the daemons' own law (by_words.py).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated

from rich.progress import Progress

from hocket_bus.messages import DEFAULT_WEIGHTS, Sampling, Side, Weights
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_daemon.engine.settings import KVSettings, ModelSettings
from hocket_lab.bench.parties.by_words import ByWords
from hocket_lab.bench.parties.two_sides import Asked, TwoSides
from hocket_lab.bench.questions.dealt import Scores
from hocket_lab.bench.questions.question_sets import HALVES, Question, files, questions
from hocket_lab.bench.questions.wording import contains
from hocket_lab.bench.running.product import DOCUMENTS, TEMPERATURE, THREADS, TOP_P
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, bootstrap
from hocket_lab.reporting.sources import digest_of_files
from hocket_tools import console

DEVICE, CLOUD, EITHER, WORDS, TOKENS = "device alone", "cloud alone", "either alone", "words", "tokens"
SETS = ("squad device", "squad cloud", "two-sided", "nq")
_SLOTS = 12


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    device: Annotated[str, Option("The device's model: a published name, a folder or a .gguf file.")] = "smollm2"
    cloud: Annotated[str, Option("The cloud's.")] = "qwen2.5-coder-0.5b"
    threads: Annotated[int, Option("CPU threads of a forward pass.", min=1)] = THREADS
    squad: Annotated[int, Option("SQuAD's questions, half of them the device's.", min=0)] = 100
    two_sided: Annotated[int, Option("Questions of two parts, one on each side.", min=0)] = 25
    nq: Annotated[int, Option("NQ-open's questions.", min=0)] = 50
    half: Annotated[str, Option("Which of SQuAD's articles, and of the other corpora.", choices=tuple(HALVES))] = (
        "reported"
    )
    weights: Annotated[Weights, Option("How passages and sides are weighed.")] = DEFAULT_WEIGHTS
    contrast: Annotated[float, Option("How strongly passages are set against the question.", min=0)] = (
        AggregationSettings().contrast
    )
    documents: Annotated[int, Option("Passages a side.", min=1)] = DOCUMENTS
    max_tokens: Annotated[int, Option("Longest answer: so many tokens, or words.", min=1)] = 32
    bits: Annotated[Sequence[float], Option("Bounds for a device that counts its words' bits; 0: none.", min=0)] = ()
    temperature: Annotated[float, Option("0 is greedy; above it, top-p is the client's default.", min=0)] = TEMPERATURE
    seed: Annotated[int, Option("Chooses the questions, and what is drawn.", min=0)] = 0


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Ask each what it has not answered yet; tell whether no claim misses."""
    each = {"squad device": settings.squad // 2, "squad cloud": settings.squad // 2}
    each |= {"two-sided": settings.two_sided, "chats": 0, "nq": settings.nq}
    read = {"inputs": digest_of_files([data / file for file in files(each)])}
    report = Report(asdict(settings) | read, json_path)
    _measure(report, questions(data, settings.half, each, settings.seed), settings)
    report.summary = summary(report.rows)
    claim(report)
    if json_path is not None:
        title = f"{settings.device} and {settings.cloud}: answers that contain an accepted one"
        report.plot(json_path.with_suffix(".png"), "set", "contains", "who", title=title, interval=("low", "high"))
    return report.finish()


def _measure(report: Report, asked: Sequence[Question], settings: Settings) -> None:
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder, ExitStack() as stack:
        models = [_model(name, Path(folder), settings, stack) for name in (settings.device, settings.cloud)]
        same = models[0].fingerprint == models[1].fingerprint
        who = (DEVICE, CLOUD, WORDS, *([TOKENS] if same else []), *map(counted, settings.bits))
        asking = _Asking(models, settings)
        with Progress(console=console.err()) as progress:
            bar = progress.add_task("words", total=len(asked) * len(who))
            for at, question in enumerate(asked):
                for each in who:
                    if report.find(id=at, who=each) is None:
                        report.add(asking.row(at, question, each))
                    progress.advance(bar)


def _model(name: str, folder: Path, settings: Settings, stack: ExitStack) -> LanguageModel:
    how = ModelSettings(name=name, threads=settings.threads, slots=_SLOTS, context=2048)
    model = open_model(how, "device", KVSettings(folder=str(folder / name.replace("/", "-"))))
    assert model.stored is not None
    stack.enter_context(closing(model.stored))
    return model


class _Asking:
    """The asking of both sides' models."""

    def __init__(self, models: Sequence[LanguageModel], settings: Settings) -> None:
        self._models = models
        self._settings = settings
        self._scores = Scores()
        self._aggregation = AggregationSettings(contrast=settings.contrast)

    def row(self, at: int, question: Question, who: str) -> Row:
        """Return the answer of `who` to a question, and whether it is right."""
        settings, scores = self._settings, self._scores
        device, cloud = (
            tuple(scores.nearest(question.text, passages, settings.documents))
            for passages in (question.device, question.cloud)
        )
        seed, warmth, most = settings.seed + at, settings.temperature, settings.max_tokens
        sampling = Sampling(seed=seed, temperature=warmth, top_p=TOP_P, max_tokens=most)
        bounds = {counted(bits): bits for bits in settings.bits}
        words = ByWords(self._models, scores, settings.weights, self._aggregation, bounds.get(who))
        began_s = time.monotonic()
        if who == TOKENS:
            text = self._by_tokens(Asked(question.of, question.text, device, cloud), sampling)
        else:
            both = (device if who != CLOUD else (), cloud if who != DEVICE else ())
            text = b"".join(words.answer(question.text, both, sampling)).decode("utf-8", "replace")
        return {
            "id": at,
            "set": question.of,
            "who": who,
            "contains": all(contains(text, part.answers) for part in question.parts),
            "bytes": len(text.encode()),
            "seconds": time.monotonic() - began_s,
            "disclosed": words.disclosed if who in bounds else None,
            "question": question.text,
            "text": text.strip(),
        }

    def _by_tokens(self, asked: Asked, sampling: Sampling) -> str:
        models: dict[Side, LanguageModel] = {"device": self._models[0], "cloud": self._models[1]}
        two = TwoSides(models, self._scores, sampling.max_tokens, self._settings.weights, self._aggregation)
        [steps] = two.answers([asked], [Rule(sampling.seed, sampling.temperature, sampling.top_p)])
        return self._models[0].text([step.token for step in steps])


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return, for each set and who answers, the share of right answers with its interval; and of either side alone."""
    found: list[Row] = []
    for of in (*SETS, "all"):
        mine = [row for row in rows if of in ("all", row["set"])]
        for who in (DEVICE, CLOUD, EITHER, WORDS, TOKENS, *_counted(rows)):
            right = [float(value) for value in _right(mine, who).values()]
            if right:
                low, high = bootstrap(right)
                found.append(
                    {"set": of, "who": who, "n": len(right), "contains": fmean(right), "low": low, "high": high}
                )
    return found


def counted(bits: float) -> str:
    """Return the name of a pair whose device counts its words' bits, within a bound for each passage; 0: none."""
    return f"words within {bits:g} bits" if bits else "words, counted"


def _counted(rows: Sequence[Row]) -> list[str]:
    return [who for who in dict.fromkeys(str(row["who"]) for row in rows) if who not in (DEVICE, CLOUD, WORDS, TOKENS)]


def _right(rows: Sequence[Row], who: str) -> dict[object, bool]:
    if who == EITHER:
        one, other = _right(rows, DEVICE), _right(rows, CLOUD)
        return {at: one[at] or other[at] for at in one if at in other}
    return {row["id"]: bool(row["contains"]) for row in rows if row["who"] == who}


def claim(report: Report) -> None:
    """Claim that both are no worse than the better side alone, on each set and on all."""
    report.claims.clear()
    for of in (*SETS, "all"):
        rows = [row for row in report.rows if of in ("all", row["set"])]
        alone = {who: _right(rows, who) for who in (DEVICE, CLOUD)}
        words = _right(rows, WORDS)
        if not words or not all(alone.values()):
            continue
        better = max(alone.values(), key=lambda right: sum(right.values()))
        gains = [float(words[at]) - float(better[at]) for at in words if at in better]
        low, high = bootstrap(gains)
        shown = f"{fmean(gains):+.3f} [{low:+.3f}, {high:+.3f}]"
        tells = any(words.values()) or any(better.values())
        holds = fmean(gains) >= 0 if tells else None
        report.claim(f"{of}: words beyond the better side alone", ">= 0", shown, holds)
