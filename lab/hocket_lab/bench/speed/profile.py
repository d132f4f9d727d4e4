"""`hocket bench profile`: predicted against measured decode time of the running pair, while other processes load cores.

The offline stage runs once per measurement, on the idle pair; the load begins after it, so that only the runtime stage
can follow it. The daemons compare each step with what was predicted just before. The sides answer in turn, each by
itself, as on machines of their own, or together on the cores of this one. The model is the bundled one, or a larger one
of random weights on both sides: the longer a step takes, the less of that is chance.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from rich.progress import track

from hocket_bus.messages import Side
from hocket_client import Client
from hocket_daemon.profiling.offline import Stage
from hocket_lab.bench.running.product import DOCUMENTS
from hocket_lab.bench.running.random_model import save_random_model
from hocket_lab.bench.running.running import BenchPair, bench_pair
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row
from hocket_tools import console
from hocket_tools.decode_stage import measure_decode

TARGET = 0.15
WIDTH, LAYERS, CONTEXT = 768, 8, 256  # of the large one: 79 million parameters
SIDES: tuple[Side, ...] = ("device", "cloud")
BUSY = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000):
        pass
"""  # until its parent has gone
NOTES = {f"note-{n}.txt": f"The boat number {n} sails at {n + 6} o'clock from pier {n}." for n in range(1, 7)}


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    model: Annotated[Literal["bundled", "large"], Option("The bundled models, or a large one of random weights.")] = (
        "bundled"
    )
    together: Annotated[bool, Option("Both sides answer at once, on these cores.")] = False
    loads: Annotated[Sequence[int], Option("Other processes that each load a core.", name="--load", min=0)] = (0, 1)
    questions: Annotated[int, Option("Questions of each measurement.", min=1)] = 10
    tokens: Annotated[int, Option("Tokens per answer.", min=2)] = 100
    runs: Annotated[int, Option("Runs of the offline stage.", min=1)] = 3
    seed: Annotated[int, Option("Seed of the first question.", min=0)] = 0


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure every load that is not in the report yet; tells whether no claim misses."""
    report = Report(asdict(settings), json_path)
    for load in settings.loads:
        if report.find(load=load, side=SIDES[-1]) is None:
            for row in _measure(settings, load):
                report.add(row)
    report.claims.clear()
    for row in report.rows:
        error = float(row["median_error"] or 0)
        name = f"{row['side']}: |predicted − measured| / measured, median, {row['load']} other process(es)"
        report.claim(name, f"<= {TARGET:g}", error, error <= TARGET and bool(row["steps"]))
    if json_path is not None:
        report.plot(
            json_path.with_suffix(".png"), "load", "median_error", "side", title="error of predicted decode time"
        )
    return report.finish()


def _measure(settings: Settings, load: int) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder, bench_pair(model=_model(settings, folder)) as pair:
        for side in SIDES:
            pair.ingest(side, NOTES)
            measure_decode(pair.home, side, Stage(rows=DOCUMENTS, runs=settings.runs))
            _figures(pair, side)  # a daemon that is asked how it is looks for a new profile
        with _busy(load):
            _ask(pair, settings, load)
        return [{"load": load, "side": side} | _figures(pair, side) for side in SIDES]


def _model(settings: Settings, folder: str) -> dict[str, float | str]:
    """Return the daemons' [model] settings; a large model is written into `folder`."""
    if settings.model == "bundled":
        return {}
    save_random_model(Path(folder), width=WIDTH, layers=LAYERS, seed=0)
    return {"name": folder, "context": CONTEXT}


def _ask(pair: BenchPair, settings: Settings, load: int) -> None:
    questions = range(1, settings.questions + 1)
    together = settings.together
    for side in SIDES[:1] if together else SIDES:
        with pair.client(side) as client:
            for number in track(questions, f"{load} other process(es)", console=console.err(), transient=True):
                stream = client.ask(
                    f"When does boat number {number} sail?", seed=settings.seed + number, max_tokens=settings.tokens,
                    ignore_eos=True, documents=DOCUMENTS, alone=not together, require_cloud=together,
                )  # fmt: skip
                stream.result()


def _figures(pair: BenchPair, side: Side) -> Row:
    with pair.client(side) as client:
        known = _status(client)
    return {
        "steps": int(known["decode_steps"]),
        "predicted_ms": known["decode_predicted_s"] * 1000,
        "measured_ms": known["decode_measured_s"] * 1000,
        "median_error": known["decode_error"],
    }


def _status(client: Client) -> dict[str, float]:
    return client.status().metrics


@contextmanager
def _busy(processes: int) -> Iterator[None]:
    """Run that many processes that count for ever; they end afterwards, or with this one if it is killed."""
    with ExitStack() as stack:
        for _ in range(processes):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())]))
            stack.callback(process.kill)
        yield
