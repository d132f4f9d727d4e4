"""A run of training from documents to weights; whatever an earlier run of equal settings has done is not done again."""

from __future__ import annotations

import json
import os
import random
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hocket_bus.errors import BadRequest
from hocket_tools import console

from .examples import Example, Examples
from .labels import OWN, SUPPORTED, Label, label_of, labelled
from .learner import Learner, Plan
from .reading import Reading
from .sections import sections
from .weights import Pupil

BATCH, LORA_BATCH = 8, 4
TIMES = 2  # that an example is learned from
SPARE = 6  # sections that are drawn for one whose continuation memory supports
RATE, LORA_RATE = 3e-4, 5e-4


@dataclass(frozen=True)
class Settings:
    """The settings that weights depend on, beside the documents."""

    model: str
    lora: bool
    labels: str = OWN  # or SUPPORTED, or a server's address
    server_model: str = ""
    steps: int = 300
    seed: int = 0

    @property
    def plan(self) -> Plan:
        """Return the run's plan; an adapter, which is for a large model with long steps, gets smaller batches."""
        return Plan(self.steps, LORA_BATCH, LORA_RATE) if self.lora else Plan(self.steps, BATCH, RATE)


def train(data: Path, out: Path, settings: Settings, key_file: Path | None = None) -> None:
    """Train a model; leave weights in `out`, and beside them the examples, the checkpoint, and the loss of each step.

    Raises BadRequest, BadConfiguration.
    """
    _claim(out, settings)
    if settings.labels == SUPPORTED:
        console.err().print("no large model labels: of each document's continuation, what memory supports is learned")
    pupil = Pupil(settings.model, lora=settings.lora, seed=settings.seed)
    reading = Reading(pupil.tokenizer)
    with _progress() as progress:
        label = label_of(settings.labels, settings.server_model, key_file)
        examples = _examples(data, out, settings, reading, label=label, progress=progress)
        facts = sum(example.is_fact for example in examples)
        progress.console.print(f"{len(examples)} examples have a label, {facts} of them are made-up facts")
        lessons = [reading.lesson(example) for example in examples]
        plan = settings.plan
        learner = Learner(pupil.model, plan, out / "checkpoint.pt")
        bar = progress.add_task("steps", total=plan.steps, completed=learner.step)

        def on_step(done: int, nats: float) -> None:
            progress.update(bar, completed=done, description=f"steps, {nats:.2f} nats a token")
            with (out / "losses.jsonl").open("a", encoding="utf-8") as losses:
                losses.write(json.dumps({"step": done, "nats": round(nats, 4)}) + "\n")

        learner.run(lessons, on_step)
    pupil.write(out / "weights")


def _claim(out: Path, settings: Settings) -> None:
    """Take the folder for this run. Raises BadRequest where it has the files of a run of other settings."""
    file = out / "settings.json"
    if not file.is_file():
        out.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(asdict(settings), indent=1) + "\n", encoding="utf-8")
    elif json.loads(file.read_text(encoding="utf-8")) != asdict(settings):
        raise BadRequest(f"{out} has a run of other settings", "name another --out, or remove it")


def _examples(
    data: Path, out: Path, settings: Settings, reading: Reading, *, label: Label, progress: Progress
) -> list[Example]:
    file = out / "examples.jsonl"
    if not file.is_file():
        count = -(-settings.steps * settings.plan.batch // TIMES)
        spare = SPARE if settings.labels == SUPPORTED else 1
        made = Examples(sections(data), count, random.Random(settings.seed), reading.encode, spare=spare)
        partial = file.with_suffix(".partial")
        with made.read(lambda read: progress.track(read, description="documents")) as drawn, partial.open("wb") as rows:
            for example in labelled(progress.track(drawn, total=made.count, description="examples"), label):
                rows.write(msgspec.json.encode(example) + b"\n")
        os.replace(partial, file)
    found = [msgspec.json.decode(row, type=Example) for row in file.read_bytes().splitlines()]
    if not found:
        raise BadRequest(f"no example in {file} has a label", "take more documents, or other --labels")
    return found


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"), MofNCompleteColumn(), TimeRemainingColumn(), console=console.err()
    )
