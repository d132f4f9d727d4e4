"""Figure 9: a snapshot of the generation pipeline with the scheduler's decisions, 15 tokens at 500 ms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from hocket_lab.reporting.report import Report, Row, Value
from hocket_lab.simulator.pipeline import draw_pipeline
from hocket_lab.simulator.recording import Rates, Recording, drawn, load
from hocket_lab.simulator.roundtrip import Sinusoid
from hocket_lab.simulator.simulation import Outcome, simulate
from hocket_lab.simulator.strategies import STRATEGIES

from .frame import Claim, Figure


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of figure 9; without `recording`, a file of `hocket simulate record`, the rates draw the decisions."""

    recording: str = ""
    sequence: int = 0
    tokens: int = 15
    rtt_ms: float = 500.0
    jitter: float = 0.2
    strategy: str = "scheduler"
    accept: tuple[float, float] = (0.75, 0.55)
    decode_ms: tuple[float, float] = (132.0, 20.0)
    seed: int = 0


def _tape(settings: Settings) -> Recording:
    if settings.recording:
        return load(Path(settings.recording))
    decode_s = (settings.decode_ms[0] / 1000, settings.decode_ms[1] / 1000)
    rates = Rates(settings.accept, settings.accept, decode_s)
    return drawn(rates, settings.tokens, settings.sequence + 1, settings.seed)


def _outcome(settings: Settings) -> Outcome:
    sequences = _tape(settings).sequences
    sequence = sequences[settings.sequence % len(sequences)]
    rtt = Sinusoid(settings.rtt_ms / 1000, settings.jitter)
    return simulate(sequence, STRATEGIES[settings.strategy], rtt, settings.seed)


def _inputs(settings: Settings, _data: Path) -> Mapping[str, Value]:
    return {"decisions": _tape(settings).source, "stream": "replayed by the simulator"}


def _measure(report: Report, settings: Settings, _data: Path) -> None:
    """Add one row for each aggregation: its side, what the scheduler knew, and the side of the next aggregation."""
    moments = _outcome(settings).moments[: settings.tokens]
    sides = [moment.side for moment in moments]
    report.rows.clear()
    report.extend(
        {
            "step": step,
            "s": moment.now_s,
            "side": moment.side,
            "rtt_ms": moment.rtt_s * 1000,
            "delta_z_ms": moment.delta_s * 1000,
            "accepted_device": moment.alpha_device,
            "accepted_cloud": moment.alpha_cloud,
            "next_side": following,
        }
        for step, (moment, following) in enumerate(zip(moments, [*sides[1:], None], strict=True))
    )


def _judge(rows: Sequence[Row]) -> list[Claim]:
    """Judge whether the next aggregation is on the side that the sign of ΔZ names; ΔZ = 0 changes nothing."""
    decided = [row for row in rows if row["next_side"] is not None and abs(_delta(row)) > 1e-9]
    if not decided:
        return [Claim("decisions with a difference to tell", "> 0", 0, None)]
    right = sum(row["next_side"] == ("cloud" if _delta(row) > 0 else "device") for row in decided)
    return [Claim("next aggregations on the side that ΔZ names", str(len(decided)), right, right == len(decided))]


def _delta(row: Row) -> float:
    return float(row["delta_z_ms"] or 0)


def _draw(png: Path, _rows: Sequence[Row], settings: Settings) -> None:
    source = f"replayed by the simulator, decisions {_tape(settings).source}"
    title = f"{settings.strategy} at {settings.rtt_ms:g} ms; {source}"
    draw_pipeline(png, _outcome(settings), settings.tokens, title)


FIGURE = Figure(
    title="a snapshot of the pipeline with the scheduler's decisions; simulated",
    paper="the scheduler aggregates on the side whose latency per token is lower by Eq. 8",
    settings=Settings,
    inputs=_inputs,
    measure=_measure,
    judge=_judge,
    draw=_draw,
)
