"""`hocket bench soak`: minutes of random faults, after which all daemons are as large as before and still right.

Scripted devices and a real one share one cloud across an emulated link, as in `hocket bench load`. Every few seconds a
fault is drawn: connections broken, the link down, a fleet that vanishes in the middle of its sessions, a daemon that
stands still, a reader that leaves its answer.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from rich.progress import Progress

from hocket_bus.deadline import Deadline
from hocket_bus.errors import HocketError
from hocket_client import Client
from hocket_lab.bench.running.running import BenchPair, bench_pair
from hocket_lab.bench.running.scripted import Fleet
from hocket_lab.bench.speed.load import QUESTIONS, SETTLE_S, RealDevice, answer, ingest, memory_mib
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.picture import draw
from hocket_lab.reporting.report import Report, Row, Value
from hocket_tools import console
from hocket_tools.pair.home import NAMES
from hocket_tools.pair.state import daemon_state

GROWTH_MIB = 16.0
BETWEEN_S, LASTING_S = (2.0, 5.0), (0.5, 6.0)  # between two faults; of one that lasts
MANY_TIMES = 3  # as many sessions as devices: those that vanished hold theirs for a while
CALM_S = 40.0  # until the cloud has let go of those that vanished


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    minutes: Annotated[float, Option("How long.", min=0.1)] = 10.0
    devices: Annotated[int, Option("Scripted devices.", min=1)] = 4
    rtt_ms: Annotated[float, Option("Emulated round trip, ms.", name="--rtt", min=0)] = 30.0
    tokens: Annotated[int, Option("Tokens of a session.", min=2)] = 48
    seed: Annotated[int, Option("Chooses the faults.", min=0)] = 0


def run(settings: Settings, json_path: Path | None) -> bool:
    """Run from the beginning to the end, unless the report has it whole; tells whether no claim misses."""
    report = Report(asdict(settings), json_path)
    if report.find(fault="calm") is None:
        report.rows.clear()
        places = MANY_TIMES * settings.devices + 4
        with bench_pair(model={"slots": 2 * places}, max_sessions=places) as pair, pair.client("device") as client:
            ingest(pair)
            pair.set_rtt(settings.rtt_ms / 1000)
            expected = [answer(client, seed).token_ids for seed in range(len(QUESTIONS))]
            _Soak(report, pair, client, expected, settings).run()
    report.claims.clear()
    claim(report)
    if json_path is not None:
        sizes = [_size(row, name) for row in report.rows for name in NAMES]
        draw(json_path.with_suffix(".png"), sizes, "minutes", "mib", "daemon", title="resident memory under faults")
    return report.finish()


class _Soak:
    """A run: a row for each fault, with the daemons' memory after it."""

    def __init__(
        self, report: Report, pair: BenchPair, client: Client, expected: list[list[int]], settings: Settings
    ) -> None:
        self._report, self._pair, self._client, self._settings = report, pair, client, settings
        self._expected = expected
        self._started_s = time.monotonic()
        self._random = random.Random(settings.seed)
        self._fleet = self._new_fleet(settings.devices)
        self._faults: Mapping[str, Callable[[], None]] = {
            "connections broken": pair.cut,
            "link down": self._link_down,
            "devices vanish": self._vanish,
            "cloud stands still": partial(self._stand_still, "cloud"),
            "device stands still": partial(self._stand_still, "device"),
            "reader leaves": self._leave,
        }

    def run(self) -> None:
        """Cause faults until the time is over, then calm, in which everything must be right again."""
        try:
            with self._asking() as real:
                self._fill_rows()
                self._break_things(real)
                self._fleet.drive(CALM_S)
            self._check_calm(real)
        finally:
            self._fleet.close()

    def _fill_rows(self) -> None:
        """Run as many sessions at once as there ever are: a model's rows take their memory when first wanted."""
        many = self._new_fleet(MANY_TIMES * self._settings.devices)
        try:
            many.drive(BETWEEN_S[1])
        finally:
            many.close()

    def _break_things(self, real: RealDevice) -> None:
        whole_s = 60 * self._settings.minutes
        deadline = Deadline.after(whole_s)
        with Progress(console=console.err(), transient=True) as bar:
            task = bar.add_task("faults", total=whole_s)
            while not deadline.passed:
                self._fleet.drive(self._random.uniform(*BETWEEN_S))
                fault = self._random.choice(sorted(self._faults))
                bar.update(task, description=fault, completed=whole_s - deadline.left_s)
                self._faults[fault]()
                self._note(fault, real)

    @contextmanager
    def _asking(self) -> Iterator[RealDevice]:
        real = RealDevice(self._client, self._expected)
        try:
            yield real
        finally:
            real.stop()

    def _note(self, fault: str, real: RealDevice, **more: Value) -> None:
        sizes: Row = {f"{name}_mib": memory_mib(self._pair.pid(name)) for name in NAMES}
        counts: Row = {"answers": real.answers, "failed": real.failed, "alone": real.alone, "differing": real.differing}
        minutes = (time.monotonic() - self._started_s) / 60
        self._report.add({"minutes": minutes, "fault": fault, **sizes, **counts, **more})

    def _check_calm(self, real: RealDevice) -> None:
        """Check that after the faults the pair answers as before them, both sides together."""
        wrong = 0
        for seed, ids in enumerate(self._expected):
            done = answer(self._client, seed)
            wrong += done.token_ids != ids or bool(done.aggregation.solo_steps)
        self._fleet.drive(SETTLE_S)  # the end of the last answer is still on its way to the cloud
        left_over = daemon_state(self._pair.home, "cloud").metrics["sessions"] - self._settings.devices
        self._note("calm", real, wrong_afterwards=wrong, sessions_left_over=max(0.0, left_over))

    def _new_fleet(self, devices: int) -> Fleet:
        return Fleet(
            self._pair.endpoint("cloud", remote=True), self._pair.keys, devices, self._settings.tokens, documents=1
        )

    def _link_down(self) -> None:
        self._pair.part(True)
        self._fleet.drive(self._random.uniform(*LASTING_S))
        self._pair.part(False)

    def _vanish(self) -> None:
        self._fleet.vanish()
        self._fleet = self._new_fleet(self._settings.devices)

    def _stand_still(self, side: str) -> None:
        pid = self._pair.pid(side)
        os.kill(pid, signal.SIGSTOP)
        try:
            self._fleet.drive(self._random.uniform(*LASTING_S))
        finally:
            os.kill(pid, signal.SIGCONT)

    def _leave(self) -> None:
        """Ask as another client of the device, read one token, and leave."""
        with self._pair.client("device") as client:
            stream = client.ask(self._random.choice(QUESTIONS), max_tokens=100, ignore_eos=True)
            try:
                next(iter(stream))
            except HocketError:
                return  # the pair was busy with an earlier fault


def claim(report: Report) -> None:
    """Claim flat memory, no failed or different answer, and nothing left over."""
    faults = [row for row in report.rows if row["fault"] != "calm"]
    calm = report.rows[-1]
    quarter = max(1, len(faults) // 4)
    for name in NAMES:
        early, late = (
            max(float(row[f"{name}_mib"] or 0) for row in rows) for rows in (faults[:quarter], faults[-quarter:])
        )
        what = f"growth of the {name} from the first quarter of {len(faults)} faults to the last, MiB"
        report.claim(what, f"<= {GROWTH_MIB:g}", late - early, late - early <= GROWTH_MIB)
    for what in ("failed", "differing"):
        number = int(calm[what] or 0)
        name = f"answers of the real device that are {what}, of {calm['answers']}"
        report.claim(name, "0", number, number == 0 if calm["answers"] else None)
    for what in ("wrong_afterwards", "sessions_left_over"):
        number = int(calm[what] or 0)
        report.claim(what.replace("_", " "), "0", number, number == 0)


def _size(row: Row, name: str) -> Row:
    return {"minutes": row["minutes"], "daemon": name, "mib": row[f"{name}_mib"]}
