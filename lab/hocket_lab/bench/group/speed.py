"""Speed of a group that writes one answer, by its size and the round trip between its devices.

A cloud that only forwards sealed envelopes, and devices with sentences of their own, run on this machine, joined by the
link emulator. Every decode step takes as long as is set. The same questions are asked of two sides, and of a group
whose cloud reads passages. At last a member falls silent in the middle of an answer.
"""

from __future__ import annotations

import os
import signal
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise

from rich.progress import track

from hocket_bus.messages import AggregationOutcome, Done
from hocket_client import Client
from hocket_client.question import Options
from hocket_daemon.aggregation.settings import GroupSettings
from hocket_lab.bench.graph import family
from hocket_lab.bench.privacy.canaries import canaries, documents
from hocket_lab.bench.running.running import SIDES
from hocket_lab.link import Conditions, Link, start
from hocket_lab.rehearsal.daemon import PROGRAM, Rehearsal
from hocket_lab.reporting.report import Report, Row
from hocket_tools import console
from hocket_tools.pair import processes, trial
from hocket_tools.pair.home import NAMES, Home
from hocket_tools.pair.temporary import temporary_home

BELOW = 10_000  # the link's ports
SENTENCES = 12  # of each device
STOPPED_AT = 12  # tokens, behind which a member falls silent
COLUMNS = ("way", "parties", "rtt_ms", "answers", "first_token_ms", "ms_per_token", "accepted", "drafts_per_token",
           "longest_gap_ms")  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Settings: numbers of devices, round trips between two and step time in ms; questions of each, and tokens."""

    parties: Sequence[int]
    rtt: Sequence[int]
    hold: float
    answers: int
    tokens: int


@dataclass(frozen=True)
class Running:
    """A running group: the asking device's home, the others', the links to the cloud, and the questions."""

    devices: Sequence[Home]
    links: Sequence[Link]
    questions: Sequence[str]

    def set_rtt(self, rtt_s: float) -> None:
        """Set the round trip between a device and the cloud."""
        for link in self.links:
            link.set(Conditions.symmetric(rtt_s, rtt_s / 20))


def measure(report: Report, settings: Settings) -> None:
    """Measure what is not in the report yet."""
    wanted = [
        (way, parties, rtt)
        for rtt in settings.rtt
        for way, numbers in (("group", settings.parties), ("two sides", (2,)), ("passages", (max(settings.parties),)))
        for parties in numbers
    ]
    missing = [key for key in wanted if report.find(way=key[0], parties=key[1], rtt_ms=key[2]) is None]
    if missing or report.find(way="a member falls silent") is None:
        with _running(settings) as made:
            for way, parties, rtt in track(missing, "parts", console=console.err()):
                report.add(_measured(made, settings, way, parties, rtt))
            report.add(_silent(made, settings))


def _measured(made: Running, settings: Settings, way: str, parties: int, rtt: int) -> Row:
    """Measure one way of asking; two devices are two round trips to the cloud apart, a device and its cloud are one."""
    made.set_rtt(rtt / 1000 if way == "two sides" else rtt / 2000)
    done = [_ask(made, settings, way, parties, at) for at in range(settings.answers)]
    outcomes = [each.outcome for each in done if isinstance(each.outcome, AggregationOutcome)]
    drafts = sum(each.drafts_device + each.drafts_cloud for each in outcomes)
    return {
        "way": way,
        "parties": parties,
        "rtt_ms": rtt,
        "answers": len(done),
        "first_token_ms": 1000 * statistics.median(each.ttft_s for each in done),
        "ms_per_token": statistics.median(each.ms_per_token for each in done),
        "accepted": statistics.fmean(_accepted(each) for each in outcomes),
        "drafts_per_token": drafts / sum(len(each.token_ids) for each in done),
        "present": statistics.fmean(_present(each) for each in done),
    }


def _ask(made: Running, settings: Settings, way: str, parties: int, at: int) -> Done:
    with Client(made.devices[0].listening("device")) as client:
        return client.ask(made.questions[at % len(made.questions)], **_options(settings, way, parties)).result()


def _options(settings: Settings, way: str, parties: int) -> Options:
    common: Options = {"max_tokens": settings.tokens, "ignore_eos": True, "unknown": "answer", "seed": 1}
    if way == "two sides":
        return {**common, "mode": "aggregation"}
    if way == "passages":
        return {**common, "mode": "graph"}
    return {**common, "mode": "graph", "members": tuple(f"device-{number}" for number in range(2, parties + 1))}


def _accepted(outcome: AggregationOutcome) -> float:
    """Return how often a draft is the token, over all parties."""
    shares = [each.accept for each in outcome.members] or [outcome.accept_cloud]
    known = [share for share in (outcome.accept_device, *shares) if share is not None]
    return statistics.fmean(known) if known else 0.0


def _present(done: Done) -> float:
    """Return the mean share of tokens that a member took part in."""
    members = done.outcome.members if isinstance(done.outcome, AggregationOutcome) else []
    turns = [(sum(each.steps[1::2]) - sum(each.steps[::2])) / len(done.token_ids) for each in members]
    return statistics.fmean(turns) if turns else 1.0


def _silent(made: Running, settings: Settings) -> Row:
    """Measure the longest waits for a token when a member stands still, and the step from which it had no part."""
    made.set_rtt(0.05)
    member = processes.running(made.devices[2], "device")
    assert member is not None
    times: list[float] = []
    with Client(made.devices[0].listening("device")) as client:
        stream = client.ask(made.questions[0], **_options(settings, "group", 3))
        try:
            for token in stream:
                times.append(1000 * token.t_s)
                if len(times) == STOPPED_AT:
                    os.kill(member, signal.SIGSTOP)
            done = stream.result()
        finally:
            os.kill(member, signal.SIGCONT)
    gaps = [after - before for before, after in pairwise(times)]
    return {
        "way": "a member falls silent",
        "parties": 3,
        "rtt_ms": 100,
        "answers": 1,
        "first_token_ms": times[0],
        "ms_per_token": done.ms_per_token,
        "longest_gap_ms": max(gaps[STOPPED_AT - 1 :]),
        "second_gap_ms": sorted(gaps[STOPPED_AT - 1 :])[-2],
        "left_at": _left_at(done, "device-3"),
        "notices": "; ".join(stream.notices),
    }


def _left_at(done: Done, name: str) -> int:
    """Return the step from which a member had no part; 0 where it never had one."""
    members = done.outcome.members if isinstance(done.outcome, AggregationOutcome) else []
    return next((each.steps[1] for each in members if each.name == name and each.steps), 0)


def claim(report: Report, settings: Settings) -> None:
    """Claim that a silent member costs its patience once, beyond a round trip and a step of those who are left."""
    patience_ms = GroupSettings().patience_ms
    row = report.find(way="a member falls silent") or {}
    allowed = patience_ms + 100 + 4 * settings.hold
    longest, second = float(row["longest_gap_ms"] or 0), float(row["second_gap_ms"] or 0)
    left_at = int(row["left_at"] or 0)
    there = STOPPED_AT <= left_at < settings.tokens
    report.claim("the member had part until it fell silent", f"from token {STOPPED_AT}", left_at, there)
    report.claim("a silent member: the longest wait for a token", f"≤ {allowed:.0f} ms", longest, longest <= allowed)
    report.claim("… and the next longest", f"< {patience_ms:.0f} ms", second, second < patience_ms)


@contextmanager
def _running(settings: Settings) -> Iterator[Running]:
    with temporary_home() as home, ExitStack() as stack:
        trial.prepare(home, max(3, *settings.parties), device={"group.cloud": False})
        devices, port = trial.devices(home), int(home.listening("cloud").rpartition(":")[2])
        links = [
            stack.enter_context(start(f"127.0.0.1:{port + offset - BELOW}", f"127.0.0.1:{port + offset}"))
            for offset in (0, 1)
        ]
        for each in (home, *devices):
            stack.callback(processes.stop, each, list(NAMES))
        for device in devices:
            trial.dial(device, home.listening("cloud"), f"tcp://127.0.0.1:{port - BELOW}")
            Rehearsal(decode_s=settings.hold / 1000).save(device.config("device"))
        Rehearsal(decode_s=settings.hold / 1000).save(home.config("cloud"))
        family.start(home, devices, _start)
        known = [canaries(SENTENCES, seed) for seed in range(len(devices) + 1)]
        for own, device in zip(known, devices, strict=False):
            family.read(device, "device", documents(own))
        family.read(home, "cloud", documents(known[-1]))
        family.wait_shared(devices)
        asked = [known[at % 2 + 1][at].question for at in range(min(SENTENCES, settings.answers))]
        yield Running(devices, links, asked)


def _start(home: Home, name: str) -> int:
    return processes.start(home, name, PROGRAM if name in SIDES else processes.PROGRAM)
