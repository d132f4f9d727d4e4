"""`hocket bench aggregation`: ms per token and time to first token of the running pair over emulated round trips.

The forward pass is held at a given time on both sides, so that the comparison is of the method and not of two shared
cores. Figures without the hold are shown as well. The prompts are the first 30 long paragraphs of WikiText-2's test
split.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from rich.progress import Progress

from hocket_bus.messages import DEFAULT_WEIGHTS, METHODS, Weights
from hocket_client import Client
from hocket_lab.bench.running.product import DOCUMENTS, METHOD
from hocket_lab.bench.running.running import BenchPair, bench_pair
from hocket_lab.bench.running.stream import Run, ask, figures
from hocket_lab.data_folder import require
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, Value
from hocket_lab.reporting.sources import digest
from hocket_tools import console

PROMPTS, PROMPT_CHARS, PARAGRAPH_CHARS = 30, 200, 400
ALONE = ("device", "cloud")
UNSHOWN = ("each_ms", "curve")  # one number for each prompt; a name for the picture
SETTLE_S = 6.0  # several of the link's pings


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    rtts_ms: Annotated[Sequence[int], Option("Emulated round trips, ms.", name="--rtt", min=0)] = (0, 100, 300)
    systems: Annotated[Sequence[str], Option("Ways of aggregation.", choices=METHODS)] = (
        "sync",
        "sync-both",
        "coupled",
    )
    hold_ms: Annotated[
        Sequence[float], Option("Least time of a forward pass, ms; 0 leaves it as it is.", name="--hold", min=0)
    ] = (25.0, 0.0)
    prompts: Annotated[int, Option("How many prompts.", min=1)] = 30
    tokens: Annotated[int, Option("Tokens per prompt.", min=2)] = 20
    temperature: Annotated[float, Option("0 is greedy.", min=0)] = 1.0
    documents: Annotated[int, Option("Passages a side.", min=0)] = DOCUMENTS
    corpus_articles: Annotated[int, Option("Paragraphs that the two sides have read.", name="--articles", min=0)] = 40
    seed: Annotated[int, Option("Seed of the first prompt.", min=0)] = 0
    weights: Annotated[Weights, Option("How documents and sides are weighed.")] = DEFAULT_WEIGHTS


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Measure every cell that is not in the report yet; tells whether no claim misses."""
    read = {"inputs": inputs(data, settings.prompts, settings.corpus_articles)}
    report = Report(asdict(settings) | read, json_path)
    prompts = fixed_prompts(data, settings.prompts)
    for hold_ms in settings.hold_ms:
        cells = [cell for cell in _cells(settings, hold_ms) if report.find(**cell) is None]
        if cells:
            measure(report, data, settings, prompts, cells)
    report.claims.clear()
    for hold_ms in settings.hold_ms:
        if hold_ms:
            _claim(report, hold_ms)
    if json_path is not None:
        report.plot(
            json_path.with_suffix(".png"),
            "rtt_ms",
            "ms_per_token",
            "curve",
            title="ms per token",
            interval=("ms_low", "ms_high"),
        )
    return report.finish([name for name in (report.rows[0] if report.rows else {}) if name not in UNSHOWN])


def fixed_prompts(data: Path, number: int) -> list[str]:
    """Return the first 200 characters of the first paragraphs of WikiText-2 test with at least 400 characters."""
    lines = _lines(data, "wikitext2/wiki.test.raw")
    long = [line for line in lines if len(line) >= PARAGRAPH_CHARS and not line.startswith("=")]
    return [line[:PROMPT_CHARS] for line in long[:number]]


def articles(data: Path, number: int) -> list[str]:
    """Return the first long paragraphs of WikiText-2's validation split, as documents."""
    lines = _lines(data, "wikitext2/wiki.valid.raw")
    return [line for line in lines if len(line) >= PARAGRAPH_CHARS and not line.startswith("=")][:number]


def inputs(data: Path, prompts: int, documents: int) -> Mapping[str, Value]:
    """Return digests of so many prompts and articles."""
    return {"prompts": digest(fixed_prompts(data, prompts)), "articles": digest(articles(data, documents))}


def share_out(pair: BenchPair, texts: Sequence[str]) -> None:
    """Let the sides read `texts` in turn, the device first."""
    for side, mine in (("device", texts[::2]), ("cloud", texts[1::2])):
        pair.ingest(side, {f"article-{number}.txt": text for number, text in enumerate(mine)})


def _lines(data: Path, name: str) -> list[str]:
    require(data, name)
    return [line.strip() for line in (data / name).read_text(encoding="utf-8").splitlines()]


def _cells(settings: Settings, hold_ms: float) -> list[Row]:
    alone: list[Row] = [{"system": side, "rtt_ms": 0, "hold_ms": hold_ms} for side in ALONE]
    return alone + [
        {"system": system, "rtt_ms": rtt_ms, "hold_ms": hold_ms}
        for rtt_ms in settings.rtts_ms
        for system in settings.systems
    ]


def measure(report: Report, data: Path, settings: Settings, prompts: Sequence[str], cells: Sequence[Row]) -> None:
    """Add the cells' rows, each {"system", "rtt_ms", "hold_ms"} and its figures; all cells have one `hold_ms`."""
    hold_ms = cells[0]["hold_ms"]
    assert isinstance(hold_ms, int | float)
    with bench_pair(hold_s=hold_ms / 1000) as pair, Progress(console=console.err(), transient=True) as bar:
        share_out(pair, articles(data, settings.corpus_articles))
        task = bar.add_task("measuring", total=len(cells) * len(prompts))
        for cell in cells:
            bar.update(task, description=f"{cell['system']} at {cell['rtt_ms']} ms, held {hold_ms:g} ms")
            runs = _cell(pair, settings, prompts, cell, lambda: bar.advance(task))
            each_ms = " ".join(f"{run.ms_per_token or 0:.3f}" for run in runs)
            report.add(cell | figures(runs) | {"each_ms": each_ms, "curve": f"{cell['system']}, held {hold_ms:g} ms"})


def _cell(pair: BenchPair, settings: Settings, prompts: Sequence[str], cell: Row, tick: object) -> list[Run]:
    side = "cloud" if cell["system"] == "cloud" else "device"
    rtt_ms = cell["rtt_ms"]
    assert isinstance(rtt_ms, int)
    pair.set_rtt(rtt_ms / 1000)
    with pair.client(side) as client:
        _settle(cell)
        runs = []
        for number, prompt in enumerate(prompts):
            runs.append(_ask(client, settings, prompt, settings.seed + number, str(cell["system"])))
            tick()  # type: ignore[operator]
    return runs


def _settle(cell: Row) -> None:
    """Wait until the device has measured the new round trip, before the first question."""
    if cell["system"] not in ALONE:
        time.sleep(SETTLE_S)


def _ask(client: Client, settings: Settings, prompt: str, seed: int, system: str) -> Run:
    alone = system in ALONE
    return ask(
        client,
        prompt,
        aggregation=METHOD if alone else system,
        alone=alone,
        require_cloud=not alone,
        seed=seed,
        temperature=settings.temperature,
        max_tokens=settings.tokens,
        documents=settings.documents,
        weights=settings.weights,
    )


def _claim(report: Report, hold_ms: float) -> None:
    def figure(system: str, rtt_ms: int, name: str) -> float | None:
        row = report.find(system=system, rtt_ms=rtt_ms, hold_ms=hold_ms)
        value = row[name] if row is not None else None
        return float(value) if isinstance(value, int | float) else None

    for rival, limit in (("sync", 0.30), ("sync-both", 0.5)):
        top, floor = figure("coupled", 300, "ms_high"), figure(rival, 300, "ms_low")
        if top is not None and floor is not None:
            name = f"coupled / {rival} at 300 ms (upper end of coupled over lower end of {rival})"
            report.claim(name, f"<= {limit}", top / floor, top / floor <= limit)
    top = figure("coupled", 0, "ms_high")
    slower = max((figure(side, 0, "ms_low") or 0.0) for side in ALONE)
    if top is not None and slower:
        report.claim("coupled / slower side alone at 0 ms", "<= 1.05", top / slower, top / slower <= 1.05)
    ttft, device, cloud = (figure(*key, "ttft_ms") for key in (("coupled", 300), ("device", 0), ("cloud", 0)))
    if ttft is not None and device is not None and cloud is not None:
        bound = max(device, 300 + cloud) + 30
        report.claim("time to first token at 300 ms, in ms", f"<= {bound:.0f}", ttft, ttft <= bound)
