"""`hocket bench copying`: time saved by reading ahead what an answer copies, for questions after names and numbers.

One side alone answers SQuAD's questions over its nearest passages, on a compute thread as in a daemon, by each engine.
Each question is answered with proposals and without, in turn; both give the same ids, or a claim misses.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from typing import Annotated, NamedTuple

from msgspec.structs import replace
from rich.progress import track

from hocket_bus.errors import HocketError
from hocket_bus.messages import Prompt
from hocket_daemon.engine.backends.llamacpp.gguf_model import GGUFModel
from hocket_daemon.engine.backends.llamacpp.llama import is_installed
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.catalog.store import place
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.runtime.compute import Compute, Decoded
from hocket_daemon.engine.runtime.grounded import Grounded
from hocket_daemon.engine.runtime.sequences import SequenceGroup, read
from hocket_daemon.engine.sampling.drawing import Rule, sample
from hocket_daemon.engine.sampling.heads import Heads, made
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.settings import ModelSettings
from hocket_daemon.serving.search.passage_weights import weigh
from hocket_lab.bench.questions.dealt import Scores
from hocket_lab.bench.questions.question_sets import HALVES, Question, files, questions
from hocket_lab.bench.running.product import DOCUMENTS, RELEVANCE_TEMPERATURE, THREADS, TOP_P, WIRE_MASS
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, bootstrap
from hocket_lab.reporting.sources import digest_of_files
from hocket_tools import console

FASTER = 1.25
TOKEN = 7
CONTEXT = 1024
WIDTHS = (1, 2, 3, 4, 6, 8)  # tokens of each row in a pass
CPU_MODEL = TransformersModel | GGUFModel


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    model: Annotated[str, Option("Folder of the float weights; none leaves transformers out.")] = str(place("smollm2"))
    file: Annotated[str, Option("A GGUF file; none leaves llama.cpp out.")] = str(place("smollm2") / "model.gguf")
    dtype: Annotated[str, Option("Of the float weights.")] = "float32"
    threads: Annotated[int, Option("CPU threads of a forward pass.", min=1)] = THREADS
    questions: Annotated[int, Option("Questions to take those from that a name or a number answers.", min=1)] = 160
    half: Annotated[str, Option("Which of SQuAD's articles.", choices=tuple(HALVES))] = "reported"
    temperatures: Annotated[Sequence[float], Option("0 is greedy; above it, top-p is the client's default.")] = (0, 0.7)
    documents: Annotated[int, Option("Passages.", min=1)] = DOCUMENTS
    max_tokens: Annotated[int, Option("Longest answer.", min=2)] = 40
    steps: Annotated[int, Option("Passes of each width that are timed.", min=3)] = 15
    seed: Annotated[int, Option("Chooses the questions, and what is drawn.", min=0)] = 0


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Measure each engine that is not in the report yet; tells whether no claim misses."""
    each = {"squad device": settings.questions, "squad cloud": 0, "two-sided": 0, "chats": 0}
    report = Report(asdict(settings) | {"inputs": digest_of_files([data / file for file in files(each)])}, json_path)
    asked = [one for one in questions(data, settings.half, each, settings.seed) if is_short(one.parts[0].answers[0])]
    for engine, opened in _engines(settings).items():
        if report.find(engine=engine) is None:
            report.extend(_measured(engine, opened(), asked, settings))
    report.summary = summary(report.rows)
    claim(report)
    return report.finish()


def is_short(answer: str) -> bool:
    """Tell whether an accepted answer is a name, date or number: it has a digit, or its long words are capitalised."""
    words = [word for word in re.findall(r"[^\W\d_]+", answer) if len(word) > 3]
    return bool(re.search(r"\d", answer)) or (bool(words) and all(word[0].isupper() for word in words))


def _engines(settings: Settings) -> dict[str, Callable[[], CPU_MODEL]]:
    how = ModelSettings(threads=settings.threads, context=CONTEXT, slots=4, kv_bytes=0)
    found: dict[str, Callable[[], CPU_MODEL]] = {}
    if settings.model:
        floats = _named(how, settings.model, settings.dtype)
        found["transformers"] = lambda: TransformersModel(floats, "device")
    if settings.file and is_installed():
        found["llama.cpp"] = lambda: GGUFModel(_named(how, settings.file, "auto"), Path(settings.file))
    return found


def _named(how: ModelSettings, name: str, dtype: str) -> ModelSettings:
    return replace(how, name=name, dtype=dtype)


def _measured(engine: str, model: CPU_MODEL, asked: Sequence[Question], settings: Settings) -> Iterator[Row]:
    """Yield the times of passes of each width, then each answer's with and without proposals, in alternating order."""
    yield from _widths(engine, model, settings)
    scores, running = Scores(), _Engine(model)
    for temperature in settings.temperatures:
        for at, question in enumerate(track(asked, engine, console=console.err(), transient=True)):
            passages = scores.nearest(question.text, question.device, settings.documents)
            task = _Task(question.text, passages, scores(question.text, passages), temperature, settings.seed + at)
            found: dict[bool, Written] = {}
            for ahead in (True, False) if at % 2 else (False, True):
                found[ahead] = _answer(running, task, settings.max_tokens, ahead=ahead)
            if len(found[False].ids) > 1:  # behind the first token there is something to measure
                yield _row(engine, temperature, question.text, found[False], found[True])
    running.compute.close()


def _widths(engine: str, model: CPU_MODEL, settings: Settings) -> Iterator[Row]:
    """Yield the time of a pass over that of one token per row, for rows of 256 tokens; the widths take turns."""
    for rows in (1, settings.documents):
        taken = model.slots.take(rows)
        for row in taken:
            for _ in range(2):
                model.read([Segment([row], [[TOKEN] * 128])])
        seconds: dict[int, list[float]] = {width: [] for width in WIDTHS}
        for _ in range(settings.steps):
            for width in WIDTHS:
                began_s = time.perf_counter()
                model.read([Segment(taken, [[TOKEN] * width] * rows, every=True)])
                seconds[width].append(time.perf_counter() - began_s)
                for row in taken:
                    model.slots.roll_back(row, 256)
        model.slots.give_back(taken)
        one_s = median(seconds[1])
        shares = {f"{width} tokens": median(each) / one_s for width, each in seconds.items()}
        yield {"engine": engine, "pass of rows": rows, "ms": one_s * 1000, **shares}


def _row(engine: str, temperature: float, question: str, plain: Written, ahead: Written) -> Row:
    tokens = len(plain.ids) - 1  # the first one comes with the prompt
    return {
        "engine": engine,
        "temperature": temperature,
        "question": question,
        "tokens": tokens,
        "same": plain.ids == ahead.ids,
        "plain_s": plain.seconds,
        "ahead_s": ahead.seconds,
        "plain_cpu_s": plain.cpu_s,
        "ahead_cpu_s": ahead.cpu_s,
        "passes": ahead.passes,
        "proposed": ahead.proposed,
        "kept": ahead.kept,
    }


class _Task(NamedTuple):
    question: str
    passages: Sequence[str]
    scores: list[float]
    temperature: float
    seed: int


@dataclass
class Written:
    """An answer's ids, and after the first one its seconds, processor seconds, passes, and tokens proposed and kept."""

    ids: list[int]
    seconds: float = 0.0
    cpu_s: float = 0.0
    passes: int = 0
    proposed: int = 0
    kept: int = 0


class _Engine:
    """A compute thread whose callbacks run here, and the number of tokens that it was given as proposals."""

    def __init__(self, model: CPU_MODEL) -> None:
        self.proposed = 0
        self.model = model
        self._inbox = SimpleQueue[Callable[[], None]]()
        self.compute = Compute(self._post, self._read)

    def until(self, holds: Callable[[], bool]) -> None:
        """Run what the compute thread posts until `holds` returns true."""
        while not holds():
            self._inbox.get()()

    def _post(self, *news: Callable[[], None]) -> None:
        for each in news:
            self._inbox.put(each)

    def _read(self, segments: Sequence[Segment], interrupt: Interrupt) -> list[Heads]:
        self.proposed += sum(len(segment.tokens[0]) - 1 for segment in segments if segment.every)
        return self.model.read(segments, interrupt)


def _answer(engine: _Engine, task: _Task, max_tokens: int, *, ahead: bool) -> Written:
    """Read the passages, generate the answer to its end, and return what that took."""
    engine.model.reads_ahead = ahead
    compute = engine.compute
    before = compute.batches, engine.proposed, compute.copied
    answer = _Answer(engine.model, compute, task, max_tokens)
    engine.until(lambda: answer.closed)
    passes, proposed, kept = compute.batches - before[0], engine.proposed - before[1], compute.copied - before[2]
    return Written(answer.ids, answer.seconds, answer.cpu_s, passes - 1, proposed, kept)


class _Answer:
    """An answer of one side alone, generated as a daemon's writer does."""

    def __init__(self, model: CPU_MODEL, compute: Compute, task: _Task, max_tokens: int) -> None:
        self.ids: list[int] = []
        self.seconds = self.cpu_s = 0.0
        self.closed = False
        self._compute = compute
        self._model, self._task, self._max_tokens = model, task, max_tokens
        self._rule = Rule(task.seed, task.temperature, TOP_P)
        self._weights: list[float] = []
        self._began = 0.0, 0.0
        self._grounded = Grounded(compute)
        prompt, passages = Prompt(query=task.question), list(task.passages)
        self._grounded.read(
            read(model, prompt, passages, task="answer", room=max_tokens, likelihood=True), self._on_read
        )

    def _on_read(self, outcome: SequenceGroup | HocketError) -> None:
        if isinstance(outcome, HocketError):
            raise outcome
        self._weights = weigh(self._task.scores, RELEVANCE_TEMPERATURE, outcome.likelihoods)[0]
        self._decode()

    def _decode(self) -> None:
        rule, step, weights = self._rule, len(self.ids), self._weights

        def draw(heads: Heads) -> int:
            return sample(rule, step, made(heads, weights, WIRE_MASS).distribution)

        self._grounded.decode(self.ids, draw, self._on_token)

    def _on_token(self, outcome: Decoded[int] | HocketError, _: float) -> None:
        if isinstance(outcome, HocketError):
            raise outcome
        now = time.perf_counter(), time.process_time()
        if not self.ids:
            self._began = now
        self.ids.append(outcome.value)
        if outcome.value in self._model.eos or len(self.ids) == self._max_tokens:
            self.seconds, self.cpu_s = (end - began for end, began in zip(now, self._began, strict=True))
            self._grounded.close()
            self._compute.run(lambda: None, self._on_closed)
        else:
            self._decode()

    def _on_closed(self, _: object) -> None:
        self.closed = True


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return, for each engine and temperature, the milliseconds per token and the speed-up by proposals."""
    found: list[Row] = []
    for engine, temperature in dict.fromkeys((row["engine"], row["temperature"]) for row in rows if "tokens" in row):
        mine = [row for row in rows if (row["engine"], row.get("temperature")) == (engine, temperature)]
        low, high = bootstrap(range(len(mine)), lambda drawn, of=mine: faster([of[int(at)] for at in drawn]))  # type: ignore[misc]
        found.append(
            {
                "engine": engine,
                "temperature": temperature,
                "answers": len(mine),
                "same ids": sum(bool(row["same"]) for row in mine),
                "plain ms": median(1000 * _number(row, "plain_s") / _number(row, "tokens") for row in mine),
                "ahead ms": median(1000 * _number(row, "ahead_s") / _number(row, "tokens") for row in mine),
                "faster": faster(mine),
                "low": low,
                "high": high,
                "faster, cpu": faster(mine, "cpu_s"),
                "tokens a pass": _total(mine, "tokens") / _total(mine, "passes"),
                "kept of proposed": _total(mine, "kept") / max(1.0, _total(mine, "proposed")),
            }
        )
    return found


def faster(rows: Sequence[Row], seconds: str = "s") -> float:
    """Return the time of all answers without proposals divided by that with them."""
    return _total(rows, f"plain_{seconds}") / _total(rows, f"ahead_{seconds}")


def claim(report: Report) -> None:
    """Claim that proposals leave the ids the same, and that they are worth their cost."""
    report.claims.clear()
    for row in report.summary:
        name = f"{row['engine']}, temperature {row['temperature']:g}"
        same = f"{row['same ids']} of {row['answers']}"
        report.claim(f"{name}: answers with the same ids", "all", same, row["same ids"] == row["answers"])
        ratio = _number(row, "faster")
        shown = f"{ratio:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        report.claim(f"{name}: faster a token", f">= {FASTER:g}", shown, ratio >= FASTER)


def _total(rows: Sequence[Row], name: str) -> float:
    return sum(_number(row, name) for row in rows)


def _number(row: Row, name: str) -> float:
    return float(row[name] or 0.0)
