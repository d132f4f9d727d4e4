"""`hocket bench vllm`: a step of rows on vLLM beside vLLM's own step of as many requests, of one model on one machine.

A row's step is a whole `read`: one token is put in place of vLLM's, and the likeliest ids come back as arrays. vLLM's
own step draws greedily and tells no probabilities. Each engine has a process of its own, one after the other.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated

from hocket_bus.errors import BadRequest
from hocket_daemon.engine.backends.automatic import place_of
from hocket_daemon.engine.backends.vllm.vllm_engine import check_version, prepare
from hocket_daemon.engine.segments import Segment, in_passes
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_lab.bench.running.product import DTYPE
from hocket_lab.bench.speed.gpu import SHAPES, save
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report

TOKEN, SPARE_TOKENS = 7, 64
MANY, MAX_RATIO = 64, 1.25
MIXED_ROWS, MAX_MORE_MS = 32, 10.0  # beside which a prompt is read


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    models: Annotated[Sequence[str], Option(f"Models by name or folder, or shapes: {', '.join(SHAPES)}.")] = (BUNDLED,)
    rows: Annotated[Sequence[int], Option("Rows that decode together.", min=1)] = (1, 8, MIXED_ROWS, MANY)
    length: Annotated[int, Option("Tokens in each row.", min=1)] = 512
    prompt: Annotated[int, Option("Tokens of a prompt that is read beside rows.", min=1)] = 1000
    steps: Annotated[int, Option("Steps of each measurement; the median counts.", min=3)] = 24
    dtype: Annotated[str, Option("Precision of the weights, as under [model].")] = DTYPE


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses. Raises BadConfiguration, BadRequest."""
    check_version()
    if settings.length + settings.prompt + settings.steps > 4096:
        raise BadRequest("rows and prompts are too long together", "lower --length or --prompt")
    report = Report(asdict(settings), json_path)
    for model in settings.models:
        if report.find(model=model) is None:
            for rows, bare, own, mixed in _measured(model, settings):
                report.add({"model": model, "rows": rows, "vllm_ms": bare, "rows_ms": own, "mixed_ms": mixed})
    report.claims.clear()
    for model in settings.models:
        _claim(report, model)
    return report.finish()


def _measured(model: str, settings: Settings) -> list[tuple[int, float, float, float | None]]:
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
        if model in SHAPES:
            save(SHAPES[model], folder)
        place = folder if model in SHAPES else place_of(model, "cloud")
        bare, own = _alone(bare_ms, place, settings), _alone(rows_ms, place, settings)
    mixed = [own[-1] if rows == MIXED_ROWS else None for rows in settings.rows]
    return list(zip(settings.rows, bare, own[:-1], mixed, strict=True))


def _alone(measure: object, place: str, settings: Settings) -> list[float]:
    """Measure in a process that ends afterwards: two engines in one share what they should not."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found: list[float] = pool.apply(measure, (place, settings))  # type: ignore[arg-type]
    return found


def bare_ms(place: str, settings: Settings) -> list[float]:
    """Return the ms of vLLM's step for each number of requests."""
    prepare(ModelSettings().compute_threads)
    from vllm import SamplingParams
    from vllm.engine.arg_utils import EngineArgs
    from vllm.v1.engine.llm_engine import LLMEngine

    engine = LLMEngine.from_engine_args(
        EngineArgs(
            model=place, dtype=settings.dtype, max_model_len=_context(settings), max_num_seqs=max(settings.rows),
            max_num_batched_tokens=2048, enable_prefix_caching=False, async_scheduling=False, skip_tokenizer_init=True,
            disable_log_stats=True, use_tqdm_on_load=False, kv_cache_memory_bytes=ModelSettings().kv_bytes,
        )
    )  # fmt: skip
    params = SamplingParams(max_tokens=_context(settings), temperature=0.0, ignore_eos=True, detokenize=False)
    found = []
    for rows in settings.rows:
        names = [f"{rows}.{row}" for row in range(rows)]
        for name in names:
            engine.add_request(name, {"prompt_token_ids": [TOKEN] * settings.length}, params)
        reading = set(names)
        while reading:
            reading -= {output.request_id for output in engine.step()}
        found.append(_median_ms(engine.step, settings.steps))
        engine.abort_request(names)
    return found


def rows_ms(place: str, settings: Settings) -> list[float]:
    """Return the ms of a step for each number of rows, and last of MIXED_ROWS with parts of a prompt beside."""
    from hocket_daemon.engine.backends.vllm.vllm_model import VllmModel

    slots = max(*settings.rows, MIXED_ROWS) + 1
    model = VllmModel(
        ModelSettings(name=place, engine="vllm", slots=slots, context=_context(settings), dtype=settings.dtype), "cloud"
    )

    def opened(number: int) -> list[int]:
        rows = model.slots.take(number)
        for segment in in_passes(rows, [[TOKEN] * settings.length] * number, model.prefill_tokens):
            model.read([segment])
        model.read([Segment(rows, [[TOKEN]] * number)])
        return rows

    found = []
    for number in settings.rows:
        rows = opened(number)
        found.append(_median_ms(lambda rows=rows: model.read([Segment(rows, [[TOKEN]] * len(rows))]), settings.steps))
        model.slots.give_back(rows)
    rows, (other,) = opened(MIXED_ROWS), model.slots.take(1)
    parts = list(in_passes([other], [[TOKEN + 1] * settings.prompt], model.prefill_tokens))
    times = [
        _median_ms(lambda part=part: model.read([Segment(rows, [[TOKEN]] * len(rows)), part]), 1) for part in parts
    ]
    return [*found, max(times)]


def _median_ms(step: object, steps: int) -> float:
    took_s = []
    for _ in range(steps):
        began_s = perf_counter()
        step()  # type: ignore[operator]
        took_s.append(perf_counter() - began_s)
    return 1000 * median(took_s)


def _context(settings: Settings) -> int:
    return max(settings.length + settings.steps, settings.prompt) + SPARE_TOKENS


def _claim(report: Report, model: str) -> None:
    many, mixed = report.find(model=model, rows=MANY), report.find(model=model, rows=MIXED_ROWS)
    if many is not None:
        ratio = float(many["rows_ms"] or 0) / float(many["vllm_ms"] or 1)
        report.claim(f"a step of {MANY} rows over vLLM's own, {model}", f"<= {MAX_RATIO:g}", ratio, ratio <= MAX_RATIO)
    if mixed is not None and model in SHAPES:
        more_ms = float(mixed["mixed_ms"] or 0) - float(mixed["rows_ms"] or 0)
        name = f"a part of a prompt beside {MIXED_ROWS} rows, ms more than a step, {model}"
        report.claim(name, f"<= {MAX_MORE_MS:g}", more_ms, more_ms <= MAX_MORE_MS)
