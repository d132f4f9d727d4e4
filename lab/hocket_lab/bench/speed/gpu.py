"""`hocket bench gpu`: passes of the transformers backend on a GPU, for models of published shapes and random weights.

A pass is a whole `read`: planned, computed, cut and handed over. Its floor is the time in which the weights can be
copied. A final norm makes distributions about as wide as a real model's, so that heads are as long. Without a GPU the
claims say so.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from types import MappingProxyType
from typing import Annotated

import torch
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from hocket_bus.errors import BadRequest
from hocket_daemon.engine.backends.automatic import place_of
from hocket_daemon.engine.backends.transformers.captured import PART_TOKENS
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.segments import Segment, in_passes
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_lab.bench.speed.engine import QWEN2, copied_bytes_per_s
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row

SHAPES: Mapping[str, Qwen2Config] = MappingProxyType({
    "1.5B": QWEN2,
    "7B": Qwen2Config(
        vocab_size=152_064, hidden_size=3584, intermediate_size=18_944, num_hidden_layers=28, num_attention_heads=28,
        num_key_value_heads=4, max_position_embeddings=4096, tie_word_embeddings=False,
    ),
})  # fmt: skip
SPREAD = 5.0  # of the logits: some hundreds of ids hold the wire's mass, as with a real model
STEP_ROWS, MAX_STEP_MS = 64, 8.0  # of the 1.5B shape
MAX_MIXED = 2.0  # times a step
MIXED_ROWS = 32
TOKEN = 7


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    shapes: Annotated[Sequence[str], Option(f"Shapes of models: {', '.join(SHAPES)}.")] = ("1.5B",)
    rows: Annotated[Sequence[int], Option("Rows that decode together, of two for each session.", min=1)] = (
        1,
        8,
        MIXED_ROWS,
        STEP_ROWS,
    )
    length: Annotated[int, Option("Tokens in each row.", min=1)] = 512
    prompt: Annotated[int, Option("Tokens of a prompt that is read alone.", min=1)] = 1000
    steps: Annotated[int, Option("Passes of each measurement; the median counts.", min=3)] = 24


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses. Raises BadRequest."""
    if unknown := [shape for shape in settings.shapes if shape not in SHAPES]:
        raise BadRequest(f"there is no shape {unknown[0]}", f"use some of: {', '.join(SHAPES)}")
    report = Report(asdict(settings), json_path)
    for shape in settings.shapes:
        if torch.cuda.is_available() and report.find(shape=shape) is None:
            for row in measured(SHAPES[shape], settings):
                report.add({"shape": shape, **row})
    report.claims.clear()
    for shape in settings.shapes:
        _claim(report, shape)
    return report.finish()


def measured(config: Qwen2Config, settings: Settings) -> list[Row]:
    """Return a row for each number of rows, one for a pass with part of a prompt beside, and one for a prompt alone."""
    model = _model(config, settings)
    passes = _Passes(model, settings)
    about: Row = {
        "device": model.compute,
        "floor_ms": 1000 * model.weight_bytes / copied_bytes_per_s(model.device),
        "part_tokens": model.prefill_tokens,
    }
    steps: list[Row] = [{"kind": "step", "rows": rows, "ms": passes.step_ms(rows)} for rows in settings.rows]
    mixed: Row = {"kind": "mixed", "rows": MIXED_ROWS, "ms": passes.step_ms(MIXED_ROWS, beside=model.prefill_tokens)}
    prompt: Row = {"kind": "prompt", "rows": 1, "ms": passes.prompt_ms(settings.prompt)}
    return [about | row for row in (*steps, mixed, prompt)]


class _Passes:
    """Passes over rows of equal length, and one row beside them that is empty; all are restored after each pass."""

    def __init__(self, model: TransformersModel, settings: Settings) -> None:
        self._model, self._length, self._steps = model, settings.length, settings.steps
        self._rows = model.slots.take(max(*settings.rows, MIXED_ROWS))
        (self._other,) = model.slots.take(1)
        for segment in in_passes(self._rows, [[TOKEN] * self._length] * len(self._rows), model.prefill_tokens):
            model.read([segment])

    def step_ms(self, rows: int, beside: int = 0) -> float:
        """Return the ms of a pass with one token for each of `rows` rows, and `beside` tokens of a prompt."""
        groups = [self._rows[at : min(at + 2, rows)] for at in range(0, rows, 2)]
        segments = [Segment(group, [[TOKEN]] * len(group)) for group in groups]
        part = [Segment([self._other], [[TOKEN] * beside])] if beside else []
        return self._timed_ms(lambda: self._model.read([*segments, *part]))

    def prompt_ms(self, tokens: int) -> float:
        """Return the ms of a prompt alone, in its parts."""

        def read() -> None:
            for segment in in_passes([self._other], [[TOKEN] * tokens], self._model.prefill_tokens):
                self._model.read([segment])

        return self._timed_ms(read)

    def _timed_ms(self, job: Callable[[], object]) -> float:
        took_s = []
        for _ in range(self._steps):
            began_s = perf_counter()
            job()
            took_s.append(perf_counter() - began_s)
            for row in self._rows:
                self._model.slots.roll_back(row, self._length)
            self._model.slots.roll_back(self._other, 0)
        return 1000 * median(took_s)


def _model(config: Qwen2Config, settings: Settings) -> TransformersModel:
    context = settings.length + max(settings.prompt, *PART_TOKENS) + 1
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
        save(config, folder)
        slots = max(*settings.rows, MIXED_ROWS) + 1
        return TransformersModel(ModelSettings(name=folder, slots=slots, context=context, kv_bytes=0), "cloud")


def save(config: Qwen2Config, folder: str) -> None:
    """Save a model of random weights.

    Its logits are of about SPREAD, since a normed state of this width meets rows of an embedding of 0.02.
    """
    AutoTokenizer.from_pretrained(place_of(BUNDLED, "cloud")).save_pretrained(folder)
    _widen(Path(folder) / "tokenizer.json", config.vocab_size)
    torch.manual_seed(0)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = Qwen2ForCausalLM(config).bfloat16()
    with torch.no_grad():
        model.model.norm.weight.fill_(SPREAD / (config.initializer_range * config.hidden_size**0.5))
    model.save_pretrained(folder)


def _widen(tokenizer: Path, size: int) -> None:
    """Give a tokenizer `size` pieces: all ids of a distribution count, not those alone that a text is made of."""
    spec = json.loads(tokenizer.read_text(encoding="utf-8"))
    fragments = spec["model"]["vocab"]
    fragments |= {f"<{number}>": number for number in range(len(fragments), size)}
    tokenizer.write_text(json.dumps(spec), encoding="utf-8")


def _claim(report: Report, shape: str) -> None:
    step = report.find(shape=shape, kind="step", rows=STEP_ROWS)
    beside, mixed = report.find(shape=shape, kind="step", rows=MIXED_ROWS), report.find(shape=shape, kind="mixed")
    if shape == "1.5B":
        name, target = f"a step of {STEP_ROWS} rows, {shape}, ms", f"<= {MAX_STEP_MS:g}"
        value = None if step is None else float(step["ms"] or 0)
        report.claim(name, target, "no GPU was present" if value is None else value, _holds(value, MAX_STEP_MS))
    name = f"{MIXED_ROWS} rows and a part of a prompt over {MIXED_ROWS} rows, {shape}"
    ratio = None if beside is None or mixed is None else float(mixed["ms"] or 0) / float(beside["ms"] or 1)
    report.claim(name, f"<= {MAX_MIXED:g}", "no GPU was present" if ratio is None else ratio, _holds(ratio, MAX_MIXED))


def _holds(value: float | None, maximum: float) -> bool | None:
    return None if value is None else value <= maximum
