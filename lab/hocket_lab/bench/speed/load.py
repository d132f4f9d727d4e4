"""`hocket bench load`: one cloud daemon with 1, 4 and 16 scripted devices, beside a real one that must stay exact.

Real sockets, real CURVE, an emulated round trip, the bundled model on the cloud. A step that is held takes at least so
long whatever the batch, as on a processor that a larger batch costs nothing; 0 leaves it to this one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from hocket_bus.errors import HocketError
from hocket_bus.messages import Done
from hocket_client import Client
from hocket_lab.bench.running.running import BenchPair, bench_pair
from hocket_lab.bench.running.scripted import Fleet
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, percentile

SPEED_UP = 5.0
SETTLE_S = 3.0
COUNTED = ("batches", "batch_steps", "batch_rows")  # by the cloud daemon, since its start
QUESTIONS = ("What is kept in the north tower?", "Who looks after the gate?", "When was the mill built?")
DOCUMENTS = {
    "device.txt": "The gate is looked after by Mira Tolen. The north tower keeps the bells.",
    "cloud.txt": "The mill was built in 1882. The north tower stands beside the gate.",
}


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    devices: Annotated[Sequence[int], Option("Scripted devices.", min=1)] = (1, 4, 16)
    hold_ms: Annotated[
        Sequence[float], Option("Least time of a step of the cloud, ms; 0 leaves it as it is.", name="--hold", min=0)
    ] = (25.0, 0.0)
    rtt_ms: Annotated[float, Option("Emulated round trip, ms.", name="--rtt", min=0)] = 30.0
    seconds: Annotated[float, Option("Time of each measurement.", min=1)] = 20.0
    tokens: Annotated[int, Option("Tokens of a session.", min=2)] = 48


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses."""
    report = Report(asdict(settings), json_path)
    for hold_ms in settings.hold_ms:
        missing = [n for n in settings.devices if report.find(hold_ms=hold_ms, devices=n) is None]
        if missing:
            places = max(settings.devices) + 4
            with bench_pair((0.0, hold_ms / 1000), model={"slots": 2 * places}, max_sessions=places) as pair:
                ingest(pair)
                pair.set_rtt(settings.rtt_ms / 1000)
                with pair.client("device") as client:
                    alone = [answer(client, seed).token_ids for seed in range(len(QUESTIONS))]
                    for devices in missing:
                        row: Row = {"hold_ms": hold_ms, "devices": devices}
                        report.add(row | _measure(pair, client, alone, devices, settings))
    report.claims.clear()
    claim(report, settings)
    return report.finish()


def _measure(pair: BenchPair, client: Client, alone: list[list[int]], devices: int, settings: Settings) -> Row:
    with Fleet(pair.endpoint("cloud", remote=True), pair.keys, devices, settings.tokens, documents=1) as fleet:
        fleet.drive(SETTLE_S)
        real = RealDevice(client, alone)
        before = pair.cloud_metrics()
        seen = fleet.drive(settings.seconds)
        after = pair.cloud_metrics()
        real.stop()
        fleet.drive(0.0)
    counted = {name: after[f"hocket_{name}"] - before[f"hocket_{name}"] for name in COUNTED}
    batches = max(1.0, counted["batches"])
    return {
        "drafts_per_s": seen.drafts / settings.seconds,
        "drafts_per_token": seen.drafts / max(1, seen.tokens),
        "gap_p50_ms": percentile(seen.gaps_s or [0.0], 0.5) * 1000,
        "gap_p99_ms": percentile(seen.gaps_s or [0.0], 0.99) * 1000,
        "sessions_per_step": counted["batch_steps"] / batches,
        "rows_per_step": counted["batch_rows"] / batches,
        "refused": seen.refused,
        "breaks": seen.breaks,
        "cloud_mib": memory_mib(pair.pid("cloud")),
        "real_answers": real.answers,
        "real_failed": real.failed,
        "real_alone": real.alone,
        "real_differing": real.differing,
    }


class RealDevice:
    """A client that asks the real device daemon one question after the other, until stopped.

    It compares the ids with those of the pair alone. An answer with steps alone is compared with nothing; one that ends
    in an error counts as failed.
    """

    def __init__(self, client: Client, expected: list[list[int]]) -> None:
        self.answers = self.alone = self.differing = self.failed = 0
        self._client = client
        self._expected = expected
        self._stop = threading.Event()
        self._ended: Future[None] = Future()
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """Stop asking, and wait for the answer under way. Raises whatever but a HocketError ended the asking before."""
        self._stop.set()
        self._ended.result()

    def _run(self) -> None:
        try:
            self._ask_on()
        except Exception as error:  # noqa: BLE001 - carried to the caller's thread
            self._ended.set_exception(error)
        else:
            self._ended.set_result(None)

    def _ask_on(self) -> None:
        while not self._stop.is_set():
            seed = self.answers % len(self._expected)
            self.answers += 1
            try:
                done = answer(self._client, seed)
            except HocketError:
                self.failed += 1
                continue
            self.alone += bool(done.aggregation.solo_steps)
            self.differing += not done.aggregation.solo_steps and done.token_ids != self._expected[seed]


def answer(client: Client, seed: int) -> Done:
    """Return the pair's answer to the real device's question number `seed`."""
    asked = client.ask(QUESTIONS[seed], seed=seed, temperature=1.0, documents=1, max_tokens=16, ignore_eos=True)
    return asked.result()


def claim(report: Report, settings: Settings) -> None:
    """Claim the targets, each for every hold."""
    for hold_ms in settings.hold_ms:
        few, many = (report.find(hold_ms=hold_ms, devices=n) for n in (min(settings.devices), max(settings.devices)))
        assert few is not None
        assert many is not None
        name = f"drafts/s with {many['devices']} devices over {few['devices']}, steps held at {hold_ms:g} ms"
        report.claim(name, f">= {SPEED_UP:g}", *_speed_up(few, many))
    answers = sum(int(row["real_answers"] or 0) for row in report.rows)
    differing = sum(int(row["real_differing"] or 0) for row in report.rows)
    name = f"answers of the real device that differ, of {answers}"
    report.claim(name, "0", differing, differing == 0 if answers else None)
    failed = sum(int(row["real_failed"] or 0) for row in report.rows)
    name = f"answers of the real device that failed, of {answers}"
    report.claim(name, "0", failed, failed == 0 if answers else None)
    alone = sum(int(row["real_alone"] or 0) for row in report.rows)
    name = f"answers of the real device with a step alone, of {answers}"
    report.claim(name, "0", alone, alone == 0 if answers else None)
    refused = sum(int(row["refused"] or 0) for row in report.rows)
    report.claim("sessions told busy", "0", refused, refused == 0)
    breaks = sum(int(row["breaks"] or 0) for row in report.rows)
    report.claim("connections that broke", "0", breaks, breaks == 0)


def _speed_up(few: Row, many: Row) -> tuple[float | str, bool | None]:
    """Return what is measured and whether it holds; a number of devices is not compared with itself."""
    if few is many:
        return "one number of devices", None
    slow, fast = (float(row["drafts_per_s"] or 0) for row in (few, many))
    if not slow:
        return f"no drafts with {few['devices']}", False
    return fast / slow, fast / slow >= SPEED_UP


def ingest(pair: BenchPair) -> None:
    """Let both sides read what the real device is asked about."""
    for side in ("device", "cloud"):
        pair.ingest(side, {name: text for name, text in DOCUMENTS.items() if name.startswith(side)})


def memory_mib(pid: int) -> float:
    """Return the resident memory of a process, in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
