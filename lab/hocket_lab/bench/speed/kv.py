"""`hocket bench kv`: time to the first token over short and long passages, read anew and from stored KV.

A running pair without delay. Every passage is real text of a given number of tokens, and one chunk; every question is
the beginning of another paragraph. With stored KV the clock starts when both daemons have computed all passages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from rich.progress import Progress

from hocket_bus.deadline import Deadline
from hocket_bus.errors import DeadlineExceeded
from hocket_client import Client
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_lab.bench.running.product import DOCUMENTS
from hocket_lab.bench.running.running import BenchPair, bench_pair
from hocket_lab.bench.speed.aggregation import articles, fixed_prompts, inputs
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, bootstrap, percentile
from hocket_tools import console

SYSTEMS = ("device alone", "coupled")
QUESTION_CHARS = 60
CHUNK_WORDS = 512
TEXTS = 10  # articles for each passage
COMPUTE_S, POLL_S = 600.0, 0.2


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    tokens: Annotated[Sequence[int], Option("Lengths of the passages.", min=1)] = (16, 64, 256)
    questions: Annotated[int, Option("How many questions.", min=1)] = 30
    passages: Annotated[int, Option("Passages that each side has read.", min=1)] = 20
    documents: Annotated[int, Option("Passages a side takes for a question.", min=1)] = DOCUMENTS


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Measure every cell that is not in the report yet; tells whether no claim misses."""
    read = {"inputs": inputs(data, settings.questions, TEXTS * 2 * settings.passages)}
    report = Report(asdict(settings) | read, json_path)
    cells = [(stored, tokens) for stored in (False, True) for tokens in settings.tokens]
    with Progress(console=console.err(), transient=True) as bar:
        task = bar.add_task("measuring", total=len(cells) * len(SYSTEMS) * settings.questions)
        for cell in cells:
            bar.update(task, description=f"{cell[1]} tokens, {_name(cell[0])}")
            _measure(report, data, settings, cell, lambda: bar.advance(task))
    report.claims.clear()
    _claim(report, settings)
    if json_path is not None:
        png, interval = json_path.with_suffix(".png"), ("ttft_low_ms", "ttft_high_ms")
        report.plot(png, "tokens", "ttft_ms", "curve", title="time to the first token", interval=interval)
    return report.finish([name for name in (report.rows[0] if report.rows else {}) if name != "curve"])


def _name(stored: bool) -> str:
    return "stored KV" if stored else "read anew"


def _measure(report: Report, data: Path, settings: Settings, cell: tuple[bool, int], tick: Callable[[], None]) -> None:
    stored, tokens = cell
    keys: list[Row] = [{"system": system, "documents": _name(stored), "tokens": tokens} for system in SYSTEMS]
    missing = [key for key in keys if report.find(**key) is None]
    if not missing:
        return
    with bench_pair(stored=stored, chunk_words=CHUNK_WORDS) as pair:
        texts = passages(data, 2 * settings.passages, tokens)
        for side, mine in (("device", texts[::2]), ("cloud", texts[1::2])):
            pair.ingest(side, {f"passage-{number}.txt": text for number, text in enumerate(mine)})
            if stored:
                wait_computed(pair, side, len(mine))
        questions = [prompt[:QUESTION_CHARS] for prompt in fixed_prompts(data, settings.questions)]
        with pair.client("device") as client:
            for key in missing:
                alone = key["system"] == SYSTEMS[0]
                _ttft_s(client, questions[0], settings.documents, alone)  # the first question of a process is slower
                times_s = []
                for question in questions:
                    times_s.append(_ttft_s(client, question, settings.documents, alone))
                    tick()
                report.add(key | _figures(times_s) | {"curve": f"{key['system']}, {_name(stored)}"})


def passages(data: Path, number: int, tokens: int) -> list[str]:
    """Return `number` different texts of about `tokens` of the bundled models, from WikiText-2's validation split."""
    tokenizer = TransformersModel(ModelSettings(name=BUNDLED, slots=1), "device").tokenizer
    ids = tokenizer("\n".join(articles(data, TEXTS * number)), add_special_tokens=False)["input_ids"]
    starts = range(0, len(ids) - tokens, max(tokens, len(ids) // number))
    return [str(tokenizer.decode(ids[start : start + tokens])).strip() for start in starts][:number]


def wait_computed(pair: BenchPair, side: str, number: int) -> None:
    """Wait until a side's store holds `number` documents. Raises DeadlineExceeded."""
    deadline = Deadline.after(COMPUTE_S)
    while not deadline.passed:
        if len(list(pair.stored(side).glob("*.kv"))) >= number:
            return
        time.sleep(POLL_S)
    raise DeadlineExceeded(f"the {side} has not computed its passages within {COMPUTE_S:g} s", "take fewer passages")


def _ttft_s(client: Client, question: str, documents: int, alone: bool) -> float:
    started_s = time.monotonic()
    stream = client.ask(
        question, alone=alone, require_cloud=not alone, documents=documents, max_tokens=1, temperature=0.0, seed=0
    )
    times_s = [time.monotonic() - started_s for _ in stream]
    stream.result()
    return times_s[0]


def _figures(times_s: list[float]) -> Row:
    times_ms = [seconds * 1000 for seconds in times_s]
    low, high = bootstrap(times_ms)
    return {
        "ttft_ms": sum(times_ms) / len(times_ms),
        "ttft_low_ms": low,
        "ttft_high_ms": high,
        "ttft_p50_ms": percentile(times_ms, 0.5),
        "ttft_p95_ms": percentile(times_ms, 0.95),
    }


def _claim(report: Report, settings: Settings) -> None:
    short, long = min(settings.tokens), max(settings.tokens)
    for system in SYSTEMS:
        name = f"{system}, stored KV: first token at {long} tokens / at {short} tokens"
        if short == long:
            report.claim(name, "<= 1.2", "one length of passages", None)
            continue
        rows = [report.find(system=system, documents=_name(True), tokens=tokens) for tokens in (short, long)]
        low, high = (float(row["ttft_ms"] or 0) if row is not None else 0.0 for row in rows)
        ratio = high / low if low else 0.0
        report.claim(name, "<= 1.2", ratio, 0 < ratio <= 1.2)
