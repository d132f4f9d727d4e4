"""`hocket bench engine`: a decode step of a batch beside the bare forward pass of the same model, batch and length.

Bare is transformers' own: its model, its cache, one token for each of `rows` sequences of equal length, nothing else.
Ours prepares the pass, decodes, and hands probabilities over. Both in turn on one thread, by its processor time, so
that others on the machine do not count. On a GPU also: a step of a model of 1.5 billion parameters beside the speed of
its memory.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import torch
from transformers import AutoModelForCausalLM, DynamicCache, PreTrainedModel, Qwen2Config, Qwen2ForCausalLM
from transformers.utils import logging

from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row

OVERHEAD, OVER_MEMORY = 1.10, 1.5
SESSION_ROWS = 2
QWEN2 = Qwen2Config(  # the shape of Qwen2.5-1.5B
    vocab_size=151_936, hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12,
    num_key_value_heads=2, max_position_embeddings=4096, tie_word_embeddings=True,
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    rows: Annotated[Sequence[int], Option("Rows that decode together, of two for each session.", min=1)] = (2, 8, 32)
    lengths: Annotated[Sequence[int], Option("Tokens in each row.", min=1)] = (128, 512)
    steps: Annotated[int, Option("Steps of each measurement.", min=3)] = 60


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses."""
    report = Report(asdict(settings), json_path)
    cells = [(rows, length) for rows in settings.rows for length in settings.lengths]
    missing = [cell for cell in cells if report.find(rows=cell[0], length=cell[1]) is None]
    if missing and not torch.cuda.is_available():  # processor time says nothing of a GPU
        context = max(settings.lengths) + 1
        how = ModelSettings(name=BUNDLED, dtype="float32", slots=max(settings.rows), context=context, kv_bytes=0)
        model = TransformersModel(how, "cloud")
        bare = _bare(model.folder)
        for rows, length in missing:
            report.add({"rows": rows, "length": length} | _compare(model, bare, rows, length, settings.steps))
    report.claims.clear()
    for row in report.rows:
        ratio = float(row["ratio"] or 0)
        name = f"decode step over bare pass, {row['rows']} rows of {row['length']} tokens"
        report.claim(name, f"<= {OVERHEAD}", ratio, ratio <= OVERHEAD)
    _claim_gpu(report, settings.steps)
    return report.finish()


def _bare(folder: str) -> PreTrainedModel:
    logging.disable_progress_bar()
    model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.eval()
    return model


@torch.inference_mode()
def _compare(model: TransformersModel, bare: PreTrainedModel, rows: int, length: int, steps: int) -> Row:
    """Return processor milliseconds of both and their ratio: medians over pairs of steps."""
    taken, before = model.slots.take(rows), [[7] * (length - 1)] * rows
    model.read([Segment(taken, before)])
    cache = DynamicCache(config=bare.config)
    bare(input_ids=torch.tensor(before, device=bare.device), past_key_values=cache, logits_to_keep=1)
    token = torch.full((rows, 1), 7, device=bare.device)
    sessions = [taken[first : first + SESSION_ROWS] for first in range(0, rows, SESSION_ROWS)]

    def ours() -> None:
        model.read([Segment(session, [[7]] * len(session)) for session in sessions])

    def theirs() -> None:
        bare(input_ids=token, past_key_values=cache, logits_to_keep=1)

    def roll_back() -> None:
        cache.crop(-1)
        for row in taken:
            model.slots.lengths[row] = length - 1

    pairs = []
    for _ in range(steps):
        pairs.append((_processor_ms(ours), _processor_ms(theirs)))
        roll_back()
    model.slots.give_back(taken)
    return {
        "step_ms": median(own for own, _ in pairs),
        "bare_ms": median(other for _, other in pairs),
        "ratio": median(own / other for own, other in pairs),
    }


def _processor_ms(job: Callable[[], None]) -> float:
    started_s = time.thread_time()
    job()
    return (time.thread_time() - started_s) * 1000


def _claim_gpu(report: Report, steps: int) -> None:
    name, target = "a step of 1.5 billion parameters over weight bytes / copy bandwidth", f"<= {OVER_MEMORY}"
    if not torch.cuda.is_available():
        report.claim(name, target, "no GPU was present", None)
        return
    ratio = over_memory(QWEN2, steps)
    report.claim(name, target, ratio, ratio <= OVER_MEMORY)


def over_memory(config: Qwen2Config, steps: int) -> float:
    """Return the time of a decode step of a model of random weights over that of copying its weights."""
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
        TransformersModel(ModelSettings(name=BUNDLED, slots=1), "cloud").tokenizer.save_pretrained(folder)
        Qwen2ForCausalLM(config).bfloat16().save_pretrained(folder)
        model = TransformersModel(ModelSettings(name=folder, slots=1, context=256), "cloud")
    rows = model.slots.take(1)
    model.read([Segment(rows, [[7] * 64])])
    step_s = median(_wall_s(lambda: model.read([Segment(rows, [[7]])])) for _ in range(min(steps, 150)))
    return step_s / (model.weight_bytes / copied_bytes_per_s(model.device))


def copied_bytes_per_s(device: torch.device) -> float:
    """Return the bytes read and written each second by copying within the device's memory."""
    source = torch.zeros(1 << (28 if device.type == "cuda" else 24), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)

    def copy() -> None:
        target.copy_(source)
        target[-1].item()  # waits for the device

    return 2 * len(source) / median(_wall_s(copy) for _ in range(20))


def _wall_s(job: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    job()
    return time.perf_counter() - started_s
