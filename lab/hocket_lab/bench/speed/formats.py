"""`hocket bench formats`: what a step and a prompt take in each format of a model, beside the plainest loop over it.

A GGUF file's peer is llama.cpp's own decoding of the same file with as many rows and threads, in turn with ours. The
pair of two GGUF models, a core each, is compared with both sides that answer alone at the same time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, NamedTuple

from hocket_bus.messages import Side
from hocket_daemon.engine.backends.llamacpp.gguf_model import GGUFModel
from hocket_daemon.engine.backends.llamacpp.llama import is_installed
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.catalog.store import place
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.settings import ModelSettings
from hocket_lab.bench.running.llama_loop import LlamaLoop
from hocket_lab.bench.running.running import SIDES, BenchPair, bench_pair
from hocket_lab.bench.running.stream import Run, ask
from hocket_lab.bench.speed.aggregation import articles as documents_of
from hocket_lab.bench.speed.aggregation import fixed_prompts, inputs, share_out
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row

DTYPES = ("float32", "bfloat16")  # of transformers
OVER_PEER, HALF_OVER_FLOAT, PAIR_OVER_ALONE, FIRST_MS = 1.10, 0.65, 1.15, 120.0
TOKEN = 7


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    model: Annotated[str, Option("Folder of the float weights; none leaves transformers out.")] = str(place("smollm2"))
    files: Annotated[Sequence[str], Option("GGUF files; the first is the pair's.")] = (
        str(place("smollm2") / "model.gguf"),
    )
    threads: Annotated[Sequence[int], Option("CPU threads of a forward pass.", min=1)] = (1, 2)
    rows: Annotated[Sequence[int], Option("Rows that decode together.", min=1)] = (1, 2, 8)
    length: Annotated[int, Option("Tokens in each row.", min=2)] = 256
    steps: Annotated[int, Option("Steps of each measurement.", min=3)] = 30
    prompts: Annotated[int, Option("Prompts of the pair; 0 leaves it out.", min=0)] = 20
    tokens: Annotated[int, Option("Tokens of each answer of the pair.", min=2)] = 30


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Measure every cell that is not in the report yet; tells whether no claim misses."""
    report = Report(asdict(settings) | {"inputs": dict(inputs(data, settings.prompts, 40))}, json_path)
    for threads in settings.threads:
        for kind in _kinds(settings):
            _model(report, settings, threads, kind)
    if settings.prompts and settings.files and is_installed() and report.find(model="pair") is None:
        _pair(report, data, settings)
    claim(report)
    return report.finish()


class _Kind(NamedTuple):
    name: str
    dtype: str
    file: str  # empty: the folder, by transformers


def _kinds(settings: Settings) -> list[_Kind]:
    floats = [_Kind("transformers", dtype, "") for dtype in DTYPES if settings.model]
    return floats + [_Kind(Path(file).name, "auto", file) for file in settings.files if is_installed()]


def _model(report: Report, settings: Settings, threads: int, kind: _Kind) -> None:
    key: Row = {"engine": kind.name, "dtype": kind.dtype, "threads": threads}
    missing = [rows for rows in settings.rows if report.find(**key, rows=rows) is None]
    if not missing:
        return
    how = ModelSettings(
        name=kind.file or settings.model, dtype=kind.dtype, threads=threads,
        context=settings.length + settings.steps + 2, slots=max(settings.rows), kv_bytes=0,
    )  # fmt: skip
    if kind.file:
        model = GGUFModel(how, Path(kind.file))
        for rows in missing:
            report.add(key | {"rows": rows} | _beside(model, Path(kind.file), rows, threads, settings))
        model.close()
    else:
        floats = TransformersModel(how, "device")
        for rows in missing:
            report.add(key | {"rows": rows} | _by_itself(floats, rows, settings))


def _by_itself(model: LanguageModel, rows: int, settings: Settings) -> Row:
    taken = model.slots.take(rows)
    prompt_s = _prompt_s(model, taken[0], settings.length)
    _fill(model, taken, settings.length)
    steps = [_seconds(lambda: model.read([Segment(taken, [[TOKEN]] * rows)])) for _ in range(settings.steps)]
    model.slots.give_back(taken)
    return {
        "decode_ms": median(steps) * 1000,
        "prefill_tokens_s": settings.length / prompt_s,
        "peer_decode_ms": None,
        "peer_prefill_tokens_s": None,
        "ratio": None,
    }


def _beside(model: GGUFModel, file: Path, rows: int, threads: int, settings: Settings) -> Row:
    """Run ours and llama.cpp's own loop in turn; return medians, and the median ratio of a pair of steps."""
    peer = LlamaLoop(file, rows, settings.length + settings.steps + 2, threads, model.prefill_tokens)
    taken = model.slots.take(rows)
    prompt_s, peer_prompt_s = _prompt_s(model, taken[0], settings.length), peer.prompt_s(settings.length)
    _fill(model, taken, settings.length)
    peer.fill(settings.length)
    pairs = [
        (_seconds(lambda: model.read([Segment(taken, [[TOKEN]] * rows)])), _seconds(peer.step))
        for _ in range(settings.steps)
    ]
    model.slots.give_back(taken)
    peer.close()
    return {
        "decode_ms": median(own for own, _ in pairs) * 1000,
        "prefill_tokens_s": settings.length / prompt_s,
        "peer_decode_ms": median(other for _, other in pairs) * 1000,
        "peer_prefill_tokens_s": settings.length / peer_prompt_s,
        "ratio": median(own / other for own, other in pairs),
    }


def _fill(model: LanguageModel, taken: list[int], length: int) -> None:
    for row in taken:
        _prompt_s(model, row, length)


def _prompt_s(model: LanguageModel, row: int, length: int) -> float:
    """Return the seconds for a prompt of `length` tokens in parts as the daemon reads them."""
    model.slots.roll_back(row, 0)
    parts = [min(model.prefill_tokens, length - at) for at in range(0, length, model.prefill_tokens)]
    return sum(_seconds(lambda part=part: model.read([Segment([row], [[TOKEN] * part])])) for part in parts)  # type: ignore[misc]


def _seconds(job: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    job()
    return time.perf_counter() - started_s


def _pair(report: Report, data: Path, settings: Settings) -> None:
    """Measure both sides alone at the same time, then together; documents' KV is stored by a first round."""
    prompts = fixed_prompts(data, settings.prompts)
    with bench_pair(stored=True, model={"name": settings.files[0]}) as pair:
        share_out(pair, documents_of(data, 40))
        _answers(pair, "device", prompts, settings, alone=False)
        alone: dict[Side, list[Run]] = {}
        sides = [threading.Thread(target=_alone, args=(alone, pair, side, prompts, settings)) for side in SIDES]
        for side in sides:
            side.start()
        for side in sides:
            side.join()
        runs = _answers(pair, "device", prompts, settings, alone=False)
    slower_ms = max(_ms_per_token(each) for each in alone.values())
    report.add(
        {
            "engine": "pair",
            "dtype": Path(settings.files[0]).name,
            "threads": 1,
            "rows": 2,
            "decode_ms": _ms_per_token(runs),
            "prefill_tokens_s": None,
            "peer_decode_ms": slower_ms,
            "peer_prefill_tokens_s": None,
            "ratio": _ms_per_token(runs) / slower_ms,
            "first_ms": median(run.times_s[0] for run in runs) * 1000,
        }
    )


def _alone(
    found: dict[Side, list[Run]], pair: BenchPair, side: Side, prompts: Sequence[str], settings: Settings
) -> None:
    found[side] = _answers(pair, side, prompts, settings, alone=True)


def _answers(pair: BenchPair, side: Side, prompts: Sequence[str], settings: Settings, *, alone: bool) -> list[Run]:
    options = {"alone": alone, "require_cloud": not alone, "max_tokens": settings.tokens, "documents": 2}
    with pair.client(side) as client:
        return [ask(client, prompt, seed=seed, **options) for seed, prompt in enumerate(prompts)]


def _ms_per_token(runs: Sequence[Run]) -> float:
    return median(run.ms_per_token or 0.0 for run in runs)


def claim(report: Report) -> None:
    """Claim limits of each step over its peer, half precision over float32, and the pair over the slower side."""
    report.claims.clear()
    for row in report.rows:
        if row["ratio"] is not None and row["engine"] != "pair":
            name = f"a step of {row['rows']} row(s), {row['threads']} thread(s), {row['engine']}, over llama.cpp's loop"
            report.claim(name, f"<= {OVER_PEER}", float(row["ratio"]), float(row["ratio"]) <= OVER_PEER)
        if row["dtype"] == "bfloat16":
            floats = report.find(model="transformers", dtype="float32", threads=row["threads"], rows=row["rows"])
            assert floats is not None
            ratio = float(row["decode_ms"] or 0) / float(floats["decode_ms"] or 1)
            name = f"transformers, a step of {row['rows']} row(s), {row['threads']} thread(s): bfloat16 over float32"
            report.claim(name, f"<= {HALF_OVER_FLOAT}", ratio, ratio <= HALF_OVER_FLOAT)
    pair = report.find(model="pair")
    if pair is not None:
        ratio, first_ms = float(pair["ratio"] or 0), float(pair["first_ms"] or 0)
        report.claim("the pair over the slower side alone", f"<= {PAIR_OVER_ALONE}", ratio, ratio <= PAIR_OVER_ALONE)
        report.claim("first token with stored KV, ms", f"<= {FIRST_MS:g}", first_ms, first_ms <= FIRST_MS)
