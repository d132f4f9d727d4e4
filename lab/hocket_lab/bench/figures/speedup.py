"""Figure 4: the speed-up of Algorithm 1 over token-wise synchronisation: Theorem 6.2, simulated, and measured.

The measured part runs the pair over the emulated link with forward passes held at equal times on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import msgspec

from hocket_lab.bench.running.product import DOCUMENTS
from hocket_lab.bench.speed import aggregation
from hocket_lab.reporting.picture import draw
from hocket_lab.reporting.report import Report, Row, Value
from hocket_lab.simulator.recording import Rates, drawn
from hocket_lab.simulator.roundtrip import Sinusoid
from hocket_lab.simulator.simulation import simulate
from hocket_lab.simulator.strategies import STRATEGIES

from .frame import Claim, Figure, together
from .running import FEWEST_ANSWERS, ratio_interval

SLACK = 1.05  # the theorem knows no first token, no window and no cost of aggregation
SYSTEMS = ("sync", "independent")


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of figure 4: the simulated grid, and the round trips at which a running pair is measured, if any."""

    device_ms: tuple[float, ...] = (5, 25, 50, 100, 200, 300, 400)
    cloud_ms: float = 25.0
    rtts_ms: tuple[float, ...] = (100, 300)
    accept_cloud: tuple[float, ...] = (0.5, 0.8, 0.95)
    accept_device: float = 0.55
    tokens: int = 100
    sequences: int = 60
    seed: int = 0
    measured_rtts_ms: tuple[int, ...] = (100, 300)
    hold_ms: float = 25.0
    prompts: int = 60
    prompt_tokens: int = 20


def speedup(c_device: float, c_cloud: float, rtt: float, alpha_cloud: float) -> float:
    """Return S of Theorem 6.2 (Eq. 9): aggregation on the device, l = device and r = cloud."""
    if c_device <= c_cloud:
        inverse = 1 - alpha_cloud * rtt / (rtt + c_cloud)
    elif c_device <= c_cloud + rtt:
        inverse = 1 - (1 - c_device / (c_cloud + rtt)) * alpha_cloud
    else:
        inverse = 1.0
    return 1 / inverse


def _inputs(settings: Settings, data: Path) -> Mapping[str, Value]:
    running = _running(settings)
    return aggregation.inputs(data, running.prompts, running.corpus_articles) if settings.measured_rtts_ms else {}


def _measure(report: Report, settings: Settings, data: Path) -> None:
    for device_ms in settings.device_ms:
        for rtt_ms in settings.rtts_ms:
            for alpha in settings.accept_cloud:
                key: Row = {"device_ms": device_ms, "rtt_ms": rtt_ms, "alpha_cloud": alpha}
                if report.find(source="simulated", **key) is None:
                    report.add({"source": "simulated", **key, **_simulated(settings, device_ms, rtt_ms, alpha)})
    cells: list[Row] = [
        {"system": system, "rtt_ms": rtt_ms, "hold_ms": settings.hold_ms}
        for rtt_ms in settings.measured_rtts_ms
        for system in SYSTEMS
        if report.find(system=system, rtt_ms=rtt_ms, hold_ms=settings.hold_ms) is None
    ]
    if cells:
        prompts = aggregation.fixed_prompts(data, settings.prompts)
        aggregation.measure(report, data, _running(settings), prompts, cells)


def _simulated(settings: Settings, device_ms: float, rtt_ms: float, alpha: float) -> Row:
    rates = Rates((settings.accept_device, alpha), decode_s=(device_ms / 1000, settings.cloud_ms / 1000))
    sequences = drawn(rates, settings.tokens, settings.sequences, settings.seed).sequences
    rtt = Sinusoid(rtt_ms / 1000, jitter=0.0)
    sync, own = (
        [fmean(simulate(sequence, STRATEGIES[name], rtt).gaps_s) for sequence in sequences]
        for name in ("sync", "device")
    )
    taken = [bit for sequence in sequences for bit in sequence.independent.cloud[:-1]]
    return {
        "cloud_ms": settings.cloud_ms,
        "alpha_drawn": fmean(taken),
        **_compared(sync, own),
    }


def _compared(sync: Sequence[float], own: Sequence[float]) -> Row:
    """Return the ratio of means with its 95 % interval, over the same sequences or prompts."""
    low, high = ratio_interval(sync, own)
    return {"speedup": fmean(sync) / fmean(own), "low": low, "high": high, "answers": len(own)}


def _running(settings: Settings) -> aggregation.Settings:
    return aggregation.Settings(
        rtts_ms=list(settings.measured_rtts_ms),
        systems=list(SYSTEMS),
        hold_ms=[settings.hold_ms],
        prompts=settings.prompts,
        tokens=settings.prompt_tokens,
        temperature=1.0,
        documents=DOCUMENTS,
        corpus_articles=40,
        seed=settings.seed,
    )


def _summary(rows: Sequence[Row]) -> list[Row]:
    """Return every simulated and measured speed-up beside the theory, at the acceptance that was drawn or seen."""
    simulated = [
        {"curve": f"simulated, rtt {row['rtt_ms']:g}, accepted {row['alpha_cloud']:g}"} | row | _theory(row)
        for row in rows
        if row.get("source") == "simulated"
    ]
    return simulated + [found | _theory(found) for found in _measured(rows)]


def _measured(rows: Sequence[Row]) -> Iterator[Row]:
    pairs = {(row.get("system"), row["rtt_ms"]): row for row in rows if "system" in row}
    for (system, rtt_ms), own in pairs.items():
        sync = pairs.get(("sync", rtt_ms))
        if system != "independent" or sync is None:
            continue
        yield {
            "curve": f"measured, rtt {rtt_ms}",
            "source": "measured",
            "device_ms": own["hold_ms"],
            "rtt_ms": rtt_ms,
            "alpha_cloud": own["accept_cloud"],
            "cloud_ms": own["hold_ms"],
            "alpha_drawn": own["accept_cloud"],
            **_compared(_each_ms(sync), _each_ms(own)),
        }


def _theory(row: Row) -> Row:
    return {"theory": speedup(*(_number(row, name) for name in ("device_ms", "cloud_ms", "rtt_ms", "alpha_drawn")))}


def _each_ms(row: Row) -> list[float]:
    return [float(ms) for ms in str(row["each_ms"]).split()]


def _number(row: Row, name: str) -> float:
    value = row[name]
    assert isinstance(value, int | float)
    return float(value)


def _judge(rows: Sequence[Row]) -> list[Claim]:
    """Judge, by region of the theorem, whether its value lies within 5 % of every speed-up."""
    found = _summary(rows)
    regions = {
        "simulated, device no slower than the cloud": [row for row in found if _simulated_where(row, -1)],
        "simulated, device slower": [row for row in found if _simulated_where(row, 1)],
        "measured on a running pair": [row for row in found if row["source"] == "measured"],
    }
    return [_near(name, own) for name, own in regions.items()]


def _simulated_where(row: Row, sign: int) -> bool:
    slower = _number(row, "device_ms") > _number(row, "cloud_ms")
    return row["source"] == "simulated" and slower == (sign > 0)


def _near(name: str, rows: Sequence[Row]) -> Claim:
    target = "Theorem 6.2 within 5 % of the speed-up in every cell, known to 5 %"
    if not rows:
        return Claim(name, target, "not measured", None)
    near = [_is_near(row) for row in rows]
    open_cells = f", {near.count(None)} cannot be told" if None in near else ""
    return Claim(name, target, f"{near.count(True)} of {len(near)} cells{open_cells}", together(near))


def _is_near(row: Row) -> bool | None:
    """Tell whether the theorem is near a speed-up; None where too little is known.

    A theorem that is far from all of the interval is a miss, however wide the interval is.
    """
    theory, ratio, low, high = (_number(row, name) for name in ("theory", "speedup", "low", "high"))
    if _number(row, "answers") < FEWEST_ANSWERS:
        return None
    if not low / SLACK <= theory <= high * SLACK:
        return False
    if (high - low) / 2 > (SLACK - 1) * ratio:
        return None
    return ratio / SLACK <= theory <= ratio * SLACK


def _draw(png: Path, rows: Sequence[Row], settings: Settings) -> None:
    exact = [row | dict.fromkeys(("speedup", "low", "high"), row["theory"]) for row in rows]
    named = [row | {"curve": str(row["curve"]).replace("simulated", "theory")} for row in exact]
    shown = [row for row in named if row["source"] == "simulated"]
    title = f"speed-up over synchronisation; cloud {settings.cloud_ms:g} ms"
    pairs = sorted([*rows, *shown], key=lambda row: str(row["curve"]).partition(", ")[2])
    draw(png, pairs, "device_ms", "speedup", "curve", title=title, interval=("low", "high"))


FIGURE = Figure(
    title="speed-up of Algorithm 1 on the device over token-wise synchronisation: Theorem 6.2, simulated and measured",
    paper="the speed-up is the theorem's: highest while the device is no slower than the cloud, then falling to 1",
    settings=Settings,
    inputs=_inputs,
    measure=_measure,
    summary=_summary,
    judge=_judge,
    draw=_draw,
)
