"""`hocket bench race`: first tokens of a running pair beside the simulated ones, through the emulated link.

The cloud's first tokens are held as long as a recorded server's took, the device's k l + c as a phone takes for l
tokens, and both sides' decode steps at their pace; nothing is scaled. The models are the bundled ones, which read
sooner than that. Each phase has a pair of its own, so that its policy has seen nothing but its own questions.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, NamedTuple

from rich.progress import Progress

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Done, Prompt, Side, Task
from hocket_client import Client
from hocket_daemon.dispatch.policies.cost import DEVICES
from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.settings import Constraint, DispatchSettings
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.runtime.sequences import measure
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_daemon.serving.mode import Facts
from hocket_daemon.serving.records.decisions import last
from hocket_lab.bench.dispatch import inputs
from hocket_lab.bench.live.raced import COLUMNS, claim, points, summary
from hocket_lab.bench.live.simulated import Simulated
from hocket_lab.bench.running.running import SIDES, Tables, bench_pair
from hocket_lab.rehearsal.daemon import Rehearsal
from hocket_lab.rehearsal.held import Hold
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.picture import draw
from hocket_lab.reporting.report import Report, Row
from hocket_lab.reporting.sources import digest
from hocket_tools import console

SETTLE_S = 6.0  # several of the link's pings
BURST_PROMPTS = 20  # that the constrained side may be ahead of its budget
TASK: Task = "answer"


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    prompts: Annotated[int, Option("Questions of each phase.", min=1)] = 100
    trace: Annotated[str, Option("The server, by the stem of its file.")] = "perplexity_70b"
    device: Annotated[str, Option("The phone.", choices=tuple(DEVICES))] = "pixel-560m"
    rtts_ms: Annotated[Sequence[int], Option("Emulated round trips at budget 1, ms.", name="--rtt", min=0)] = (
        0, 100, 300,
    )  # fmt: skip
    budget: Annotated[float, Option("The other budget.", min=0, max=1)] = 0.5
    budget_rtt_ms: Annotated[int, Option("Its round trip, ms.", min=0)] = 100
    tokens: Annotated[int, Option("Tokens of an answer.", min=1)] = 4
    longest: Annotated[int, Option("Tokens of the longest prompt.", min=8)] = 64
    seed: Annotated[int, Option("Chooses prompts and first tokens.", min=0)] = 0


class Phase(NamedTuple):
    """A phase; `script` names the side that answers alone, and is empty where both race."""

    constraint: Constraint
    budget: float
    rtt_ms: int
    script: str

    @property
    def key(self) -> Row:
        """The key of its rows."""
        return dict(self._asdict())


class Cases(NamedTuple):
    """The questions, their prompts' tokens, and both sides' times in seconds; `cloud_s` to its n-th first token."""

    questions: list[str]
    lengths: list[int]
    cloud_s: list[float]
    line: DeviceTtft
    decode_s: tuple[float, float]


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Measure every phase that is not in the report yet; tells whether no claim misses."""
    cases = _cases(data, settings)
    report = Report(asdict(settings) | {"inputs": digest([*cases.questions, *map(str, cases.cloud_s)])}, json_path)
    missing = [phase for phase in phases(settings) if report.find(**phase.key) is None]
    with Progress(console=console.err(), transient=True) as bar:
        task = bar.add_task("racing", total=len(missing) * settings.prompts)
        for phase in missing:
            report.extend(_measured(phase, cases, settings, lambda: bar.advance(task)))
    report.summary = summary(report.rows)
    claim(report)
    if json_path is not None:
        title = "mean seconds to the first token"
        draw(json_path.with_suffix(".png"), points(report.summary), "phase", "ttft_s", "what", title=title)
    return report.finish(COLUMNS)


def phases(settings: Settings) -> list[Phase]:
    """Return the phases: both sides alone, both racing at budget 1, and at the other budget."""
    constraints: tuple[Constraint, ...] = ("device", "server")
    alone = [Phase("device", 1.0, rtt_ms, "cloud") for rtt_ms in settings.rtts_ms]
    whole = [Phase(constraint, 1.0, rtt_ms, "") for constraint in constraints for rtt_ms in settings.rtts_ms]
    part = [Phase(constraint, settings.budget, settings.budget_rtt_ms, "") for constraint in constraints]
    return list(dict.fromkeys([Phase("device", 1.0, 0, "device"), *alone, *whole, *part]))


def _cases(data: Path, settings: Settings) -> Cases:
    """Draw cases from the recorded times. Raises BadRequest for an unknown trace."""
    inputs.files(data)
    found = next((trace for trace in inputs.traces(data) if trace.name == settings.trace), None)
    if found is None:
        raise BadRequest(f"no trace '{settings.trace}'", "name a file under ttft_llmperf/individual by its stem")
    phone, source = DEVICES[settings.device], inputs.generator(settings.trace, settings.seed)
    texts = json.loads((data / inputs.ALPACA).read_text(encoding="utf-8"))
    model = open_model(ModelSettings(name=BUNDLED), "device")
    questions: list[str] = []
    lengths: list[int] = []
    for place in source.permutation(len(texts)).tolist():
        text = f"{texts[place]['instruction']}\n{texts[place]['input']}".strip()
        length = measure(model, Prompt(query=text), [], task=TASK, room=0)[0]
        if length <= settings.longest:
            questions.append(text)
            lengths.append(length)
        if len(questions) == settings.prompts:
            break
    decode_s = 1 / phone.decode_rate, found.between_s
    cloud_s = source.choice(found.ttft_s, settings.prompts).tolist()
    return Cases(questions, lengths, cloud_s, DeviceTtft(1 / phone.prefill_rate, decode_s[0]), decode_s)


def dispatch(phase: Phase, cases: Cases) -> DispatchSettings:
    """Return the settings of the device's [dispatch]."""
    burst = round(BURST_PROMPTS * fmean(cases.lengths))
    return DispatchSettings(constraint=phase.constraint, budget=phase.budget, burst_tokens=burst, migration="off")


def _measured(phase: Phase, cases: Cases, settings: Settings, done: Callable[[], None]) -> list[Row]:
    """Return a row for each question, and one of what both engines counted."""
    dispatched = dispatch(phase, cases)
    simulated = Simulated(dispatched, cases.line, cases.cloud_s, phase.rtt_ms / 1000, phase.script)
    expected = [simulated.ask(length, settings.tokens) for length in cases.lengths]
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
        answers, counted, records = _answers(Path(folder), phase, cases, settings, done)
    rows: list[Row] = []
    for at, ((live_s, answer), first) in enumerate(zip(answers, expected, strict=True)):
        record = records[answer.request.hex()]
        rows.append(
            phase.key
            | {
                "kind": "answer", "question": at, "prompt": cases.lengths[at], "live_s": live_s,
                "simulated_s": first.ttft_s, "winner": record["winner"], "simulated_winner": first.winner,
                "loser_steps": record["loser_steps"],
                **{f"wait_{side}_s": record["wait_s"].get(side) for side in SIDES},
                **{f"{what}_{side}": record[what][side] for side in SIDES for what in ("prefilled", "decoded")},
            }
        )  # fmt: skip
    return [*rows, phase.key | {"kind": "engine", **counted}]


class _Answers(NamedTuple):
    """Answers with the seconds to their first token as their reader saw it, counts of engines, records by number."""

    answers: list[tuple[float, Done]]
    counted: dict[str, int]
    records: dict[str, Facts]


def _answers(folder: Path, phase: Phase, cases: Cases, settings: Settings, done: Callable[[], None]) -> _Answers:
    sides: dict[Side, Tables] = {"device": _device(folder, phase, cases)}
    with bench_pair(cases.decode_s, sides=sides, rehearsals=_rehearsals(cases)) as pair:
        pair.set_rtt(phase.rtt_ms / 1000)
        with closing(pair.client("device")) as client, pair.led(phase.script):
            time.sleep(SETTLE_S)  # the device's measured round trip must be the new one
            answers = []
            for seed, question in enumerate(cases.questions):
                answers.append(_asked(client, question, seed, settings.tokens))
                done()
            metrics = {"device": client.status().metrics, "cloud": pair.cloud_metrics()}
    found: dict[str, int] = {}
    for side, prefix in (("device", ""), ("cloud", "hocket_")):
        found[f"prefilled_{side}"] = int(metrics[side][f"{prefix}read_tokens"])
        found[f"decoded_{side}"] = int(metrics[side][f"{prefix}batch_steps"])
    return _Answers(answers, found, {each.id: each.record for each in last(folder / "decisions.db", len(answers))})


def _asked(client: Client, question: str, seed: int, tokens: int) -> tuple[float, Done]:
    began_s = time.monotonic()
    stream = client.ask(
        question, mode="dispatch", task=TASK, seed=seed, max_tokens=tokens, documents=0, ignore_eos=True
    )  # fmt: skip
    next(iter(stream))
    return time.monotonic() - began_s, stream.result()


def _rehearsals(cases: Cases) -> dict[Side, Rehearsal]:
    """Return each side's holds; the decode step of a first token is part of its time."""
    held_s = [max(0.0, each - cases.decode_s[1]) for each in cases.cloud_s]
    return {
        "device": Rehearsal(prompts=[Hold(each_s=cases.line.k)] * len(cases.questions)),
        "cloud": Rehearsal(prompts=[Hold(seconds=each) for each in held_s]),
    }


def _device(folder: Path, phase: Phase, cases: Cases) -> Tables:
    """Return what else the device's configuration file holds."""
    outcome = dispatch(phase, cases)
    return {
        "": {"decisions": str(folder / "decisions.db")},
        "dispatch": {
            "constraint": outcome.constraint, "budget": outcome.budget, "burst_tokens": outcome.burst_tokens,
            "migration": outcome.migration,
        },
    }  # fmt: skip
