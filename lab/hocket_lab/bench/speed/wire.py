"""`hocket bench wire`: what a draft weighs on the wire, and what encoding, decoding and aggregating cost.

Distributions, over shuffled ids: peaked, 97 % on a geometric head; mixed, 40 to 95 % on such a head; the rest of both,
and all of flat, follows Zipf with exponent 1. The probabilities have just been written, as a softmax leaves them, which
is not timed.
Bytes with headers are those of a whole draft message and of ZeroMQ's frames (one flag byte, and one byte of length or
eight from 256 bytes on), unencrypted. Between machines CURVE makes each frame 33 bytes longer: those stand beside.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from hocket_bus import messages, wire
from hocket_daemon.aggregation.exchange.sampler import target
from hocket_daemon.engine.sampling import distribution as codec
from hocket_daemon.engine.sampling.distribution import Distribution, truncate
from hocket_daemon.engine.sampling.drawing import Rule, sample
from hocket_lab.link.tap import CURVE_BYTES
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, percentile
from hocket_tools import console

SHAPES = ("peaked", "mixed", "flat")
SIZES = (10, 100, 1_000, 16_000)
RULE = Rule(seed=1, temperature=1.0, top_p=1.0)
TOKEN_BYTES = 3  # ids are below 2^18
Vector = NDArray[np.float32]
T = TypeVar("T")

# The published DRAGON code at wire mass 0.8, as measured with its source unmodified on two shared CPU cores:
# ids kept and bytes of a message with its headers, means; µs of encoding + decoding and of one aggregation, p50. Its
# distributions were made alike but are not these: compare bytes beside the ids. It packs ids as 16 bits less 30,000
# (wrong above 62,767), values as 16-bit floats, leaves the crossing id out, and sends all of it pickled behind LZ4.
PUBLISHED = {
    (50_272, "peaked"): (3.2, 101, 3_423, 1_960),
    (50_272, "mixed"): (193, 797, 3_386, 2_106),
    (50_272, "flat"): (6_763, 16_075, 3_876, 2_352),
    (151_936, "peaked"): (3.3, 102, 11_536, 5_100),
    (151_936, "mixed"): (1_033, 3_119, 11_548, 5_456),
    (151_936, "flat"): (16_386, 35_869, 12_108, 5_914),
}


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; each figure is over `draws` distributions."""

    vocabularies: Annotated[Sequence[int], Option("Sizes of the vocabulary.", min=1, max=codec.VOCABULARY_LIMIT)] = (
        50_272,
        151_936,
    )
    wire_masses: Annotated[Sequence[float], Option("Wire masses.", name="--masses", min=0, max=1)] = (0.8, 0.98)
    draws: Annotated[int, Option("Distributions of each kind.", min=2)] = 200
    seed: Annotated[int, Option("Seed of the distributions.", min=0)] = 0


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; returns whether every target holds."""
    report = Report(asdict(settings), json_path)
    cells = [(v, mass, shape) for v in settings.vocabularies for mass in settings.wire_masses for shape in SHAPES]
    for vocabulary, mass, shape in track(cells, "measuring", console=console.err(), transient=True):
        key: Row = {"vocabulary": vocabulary, "wire_mass": mass, "shape": shape}
        if report.find(**key) is None:
            report.add(key | _cell(settings, vocabulary, mass, shape))
    for size in SIZES:
        if report.find(shape=f"{size} ids") is None:
            report.add({"vocabulary": None, "wire_mass": None, "shape": f"{size} ids", **_aggregation(settings, size)})
    report.claims.clear()
    _claim(report)
    if json_path is not None:
        report.plot(json_path.with_suffix(".png"), "shape", "bytes", "vocabulary", title="bytes of a draft")
    return report.finish()


def made(shape: str, vocabulary: int, rng: np.random.Generator) -> Vector:
    """Return a distribution of the shape as a model gives it, [vocabulary], summing to 1."""
    ranks = np.arange(vocabulary, dtype=float)
    tail = 1 / (ranks + 1)
    head = rng.uniform(0.4, 0.75) ** ranks
    share = {"peaked": 0.97, "mixed": rng.uniform(0.4, 0.95), "flat": 0.0}[shape]
    return rng.permutation(share * head / head.sum() + (1 - share) * tail / tail.sum()).astype(np.float32)


def message_of(head: Distribution, token: int, step: int) -> messages.Draft:
    """Return a draft as a session in its middle sends it."""
    return messages.Draft(
        session=os.urandom(16), epoch=0, step=step, prefix=(1 << 63) + step, confirmed=step, digest=(1 << 63) + step,
        token=token, log_h=1.2345, decode_s=0.0251234, likelihoods=None, payload=codec.encode(head),
    )  # fmt: skip


def framed_bytes(frames: Sequence[bytes], more: int = 0) -> int:
    """Return the bytes of a message's frames on the wire (ZMTP 3), each with `more` bytes of encryption."""
    bodies = [len(frame) + more for frame in frames]
    return sum(body + (2 if body < 256 else 9) for body in bodies)


@dataclass(frozen=True)
class _Cost:
    """A draft: ids, bytes of distribution and token id, of the message on the wire, of the encrypted one, µs."""

    ids: int
    bare: int
    whole: int
    curve: int
    codec_us: float
    aggregate_us: float


def _cell(settings: Settings, vocabulary: int, mass: float, shape: str) -> Row:
    rng = np.random.default_rng(settings.seed)
    other = truncate(made(shape, vocabulary, rng), mass)
    drawn = [made(shape, vocabulary, rng) for _ in range(settings.draws)]  # beforehand: drawing is not what is timed
    costs = [_cost(p, mass, step, other) for step, p in enumerate(drawn)]
    dense = json.dumps([round(float(value), 6) for value in made(shape, vocabulary, rng)])
    return {
        "ids": fmean(cost.ids for cost in costs),
        "bytes_bare": fmean(cost.bare for cost in costs),
        "bytes": fmean(cost.whole for cost in costs),
        "bytes_curve": fmean(cost.curve for cost in costs),
        **_percentiles("codec", [cost.codec_us for cost in costs]),
        **_percentiles("aggregate", [cost.aggregate_us for cost in costs]),
        "json_bytes": len(dense),
        "fp16_bytes": 2 * vocabulary,
        **_published(vocabulary, mass, shape),
    }


def _cost(p: Vector, mass: float, step: int, other: Distribution) -> _Cost:
    written = p.copy()
    head, cut_us = _timed(lambda: truncate(written, mass))
    token = sample(RULE, step, head)
    frames, encode_us = _timed(lambda: wire.encode(message_of(head, token, step)))
    received, decode_us = _timed(lambda: _decoded(frames))
    _, aggregate_us = _timed(lambda: target(RULE, step, other, received, (1.0, 1.0)))
    bare = len(frames[-1]) + TOKEN_BYTES
    whole, curve = framed_bytes(frames), framed_bytes(frames, CURVE_BYTES)
    return _Cost(len(head.ids), bare, whole, curve, cut_us + encode_us + decode_us, aggregate_us)


def _percentiles(what: str, times_us: Sequence[float]) -> Row:
    return {f"{what}_p{share}_us": percentile(times_us, share / 100) for share in (50, 95)}


def _decoded(frames: Sequence[bytes]) -> Distribution:
    message = wire.decode(frames)
    assert isinstance(message, messages.Draft)
    return codec.decode(message.payload)


def _aggregation(settings: Settings, size: int) -> Row:
    """Measure aggregations of two distributions of `size` ids each, half of them common."""
    rng = np.random.default_rng(settings.seed)
    times = [
        _aggregate(step, *(truncate(_on(rng, size, at), 1.0) for at in (0, size // 2)))
        for step in range(settings.draws)
    ]
    return {"ids": float(size), **_percentiles("aggregate", times)}


def _aggregate(step: int, device: Distribution, cloud: Distribution) -> float:
    return _timed(lambda: target(RULE, step, device, cloud, (1.0, 1.0)))[1]


def _on(rng: np.random.Generator, size: int, first: int) -> Vector:
    p = np.zeros(2 * max(SIZES), np.float32)
    p[first : first + size] = rng.dirichlet(np.ones(size))
    return p


def _published(vocabulary: int, mass: float, shape: str) -> Row:
    """Return the published code's figures, where there are any: they are theirs, not measured here."""
    theirs = PUBLISHED.get((vocabulary, shape)) if mass == 0.8 else None
    names = ("published_ids", "published_bytes", "published_codec_us", "published_aggregate_us")
    return dict(zip(names, theirs or (None,) * 4, strict=True))


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    started_s = time.perf_counter()
    found = work()
    return found, (time.perf_counter() - started_s) * 1e6


def _claim(report: Report) -> None:
    for row in report.rows:
        if row["wire_mass"] == 0.8:
            _claim_bytes(report, row)
            _claim_at_most(report, row, "codec", 1_500 if row["shape"] == "flat" else 200)
    for size, limit in ((1_000, 100), (16_000, 1_000)):
        if found := report.find(shape=f"{size} ids"):
            _claim_at_most(report, found, "aggregate", limit)


def _claim_bytes(report: Report, row: Row) -> None:
    where = f"{row['shape']}, {row['vocabulary']}"
    named = f"bytes with all headers, without CURVE's ({float(row['bytes_curve'] or 0):.0f} with them), {where}"
    bare, whole, theirs = (float(row[name] or 0) for name in ("bytes_bare", "bytes", "published_bytes"))
    if row["shape"] == "peaked":
        report.claim(f"bytes without headers, {where}", "< 60", bare, bare < 60)
        report.claim(named, "< 100", whole, whole < 100)
    elif theirs:
        goal = f"<= {theirs:.0f}, the published code's"
        report.claim(named, goal, whole, whole <= theirs)


def _claim_at_most(report: Report, row: Row, what: str, limit_us: float) -> None:
    for share in ("p50", "p95"):
        value = float(row[f"{what}_{share}_us"] or 0)
        where = f"{row['shape']}, {row['vocabulary']}" if row["vocabulary"] else row["shape"]
        report.claim(f"{what}, {where}, {share} µs", f"<= {limit_us}", value, value <= limit_us)
