"""Trains one stage: the trunk from nothing, or device / cloud from the trunk down to a learning rate of zero.

A token of a value that the passage holds weighs more than its frame, and one that it does not hold less: frames are
soon known, what is missing can only be guessed, and finding is what takes long to learn.

Muon for the matrices, AdamW for embedding and norms, bf16 autocast, an average of the weights. A checkpoint holds
weights, optimizers, the average and the step, which is also the position in the data: a killed run
goes on where it was.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from model import build, grow, save
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.optim import AdamW, Muon
from transformers import LlamaForCausalLM

BATCH = 12
MUON_LR, ADAM_LR = 0.02, 3e-3
ROLE_WEIGHTS = (0.5, 2.0, 0.5)  # of FRAME, FOUND and MISSING tokens, see prepare.py
WARMUP = 100
PROSE_WEIGHT, PROSE_EVERY = 0.3, 6
AVERAGE = 0.995
CHECKPOINT_EVERY = 200


@dataclass(frozen=True)
class Run:
    """One stage's settings; `first_row` is where it starts in the packed rows."""

    stage: str
    steps: int
    first_step: int
    decay_from: int
    peak: float
    out: Path
    device: str

    def rate(self, step: int) -> float:
        """Fraction of the full learning rate: warm-up, plateau at `peak`, linear decay to zero."""
        warm = (step - self.first_step + 1) / WARMUP
        return self.peak * min(1.0, warm, (self.steps - step) / max(1, self.steps - self.decay_from))


class Data:
    """Batches by number: shards in order, over again after the last."""

    def __init__(self, folder: Path, shards: Sequence[int], device: str) -> None:
        self.prose = np.load(folder / "prose.npy", mmap_mode="r")
        self.paths = [folder / f"shard_{i:03}.npy" for i in shards]
        self.loaded: tuple[int, np.ndarray] = (-1, np.empty(0))
        self.device = device

    def reading(self, step: int) -> Tensor:
        """[BATCH, CHANNELS, ROW] of step `step`."""
        per_shard = 9600 // BATCH
        number = step // per_shard % len(self.paths)
        if self.loaded[0] != number:
            self.loaded = (number, np.load(self.paths[number]))
        start = step % per_shard * BATCH
        return torch.from_numpy(self.loaded[1][start : start + BATCH].astype(np.int64)).to(self.device)

    def long_prose(self, step: int) -> Tensor:
        """[1, LONG_ROW] of step `step`; every sixth step has one, the others [0, LONG_ROW]."""
        rows = [step // PROSE_EVERY % len(self.prose)] if step % PROSE_EVERY == 0 else []
        return torch.from_numpy(self.prose[rows].astype(np.int64)).to(self.device)


def visible(rows: Tensor) -> Tensor:
    """[B, 1, T, T]: own document, not later, and of other branches nothing."""
    document, branch = rows[:, 1], rows[:, 2]
    same = document[:, :, None] == document[:, None, :]
    open_ = (branch[:, None, :] == 0) | (branch[:, :, None] == branch[:, None, :])
    causal = torch.ones(rows.shape[2], rows.shape[2], dtype=torch.bool, device=rows.device).tril()
    return (same & open_ & causal)[:, None]


def losses(model: LlamaForCausalLM, trunk: Callable[..., object], rows: Tensor, prose: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy on the answers, and on every token of the prose."""
    target = rows[:, 4].flatten()
    learned = target >= 0
    read = trunk(input_ids=rows[:, 0], position_ids=rows[:, 3], attention_mask=visible(rows)).last_hidden_state
    weights = rows.new_tensor(ROLE_WEIGHTS, dtype=torch.float32)[rows[:, 5].flatten()[learned]]
    each = cross_entropy(model.lm_head(read.flatten(0, 1)[learned]).float(), target[learned], reduction="none")
    answers = (each * weights).sum() / weights.sum()
    if not len(prose):
        return answers, answers.new_tensor(float("nan"))
    told = trunk(input_ids=prose).last_hidden_state
    story = cross_entropy(model.lm_head(told[0, :-1]).float(), prose[0, 1:])
    return answers, story


def optimizers(model: LlamaForCausalLM) -> tuple[torch.optim.Optimizer, ...]:
    """Muon on the layers' matrices, AdamW on everything else."""
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and ".layers." in n]
    others = [p for n, p in model.named_parameters() if p.ndim != 2 or ".layers." not in n]
    return (
        Muon(matrices, lr=MUON_LR, momentum=0.95, weight_decay=0.01),
        AdamW(others, lr=ADAM_LR, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    )


class Trainer:
    """The state of a run and its loop."""

    def __init__(self, run: Run, model: LlamaForCausalLM) -> None:
        self.run, self.model = run, model.to(run.device)
        self.optimizers = optimizers(model)
        self.average = {k: v.detach().clone() for k, v in model.state_dict().items()}
        self.step = run.first_step
        self.seconds = 0.0
        self.path = run.out / f"{run.stage}.pt"

    def resume(self) -> None:
        """Take up the checkpoint, where there is one."""
        if self.path.exists():
            kept = torch.load(self.path, map_location=self.run.device, weights_only=True)
            self.model.load_state_dict(kept["model"])
            for optimizer, state in zip(self.optimizers, kept["optimizers"], strict=True):
                optimizer.load_state_dict(state)
            self.average, self.step, self.seconds = kept["average"], kept["step"], kept["seconds"]

    def checkpoint(self) -> None:
        """Write everything a resumed run needs, whole or not at all."""
        partial = self.path.with_suffix(".partial")
        torch.save(
            {"model": self.model.state_dict(), "optimizers": [o.state_dict() for o in self.optimizers],
             "average": self.average, "step": self.step, "seconds": self.seconds}, partial,
        )  # fmt: skip
        partial.rename(self.path)

    def update(self, rows: Tensor, prose: Tensor, trunk: Callable[..., object]) -> tuple[float, float]:
        """One step; returns both losses."""
        kind = "cuda" if self.run.device.startswith("cuda") else "cpu"
        with torch.autocast(kind, torch.bfloat16):
            answers, story = losses(self.model, trunk, rows, prose)
        (answers + PROSE_WEIGHT * story if len(prose) else answers).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer, full in zip(self.optimizers, (MUON_LR, ADAM_LR), strict=True):
            optimizer.param_groups[0]["lr"] = full * self.run.rate(self.step)
            optimizer.step()
            optimizer.zero_grad()
        state = self.model.state_dict()
        torch._foreach_lerp_(list(self.average.values()), [state[k] for k in self.average], 1 - AVERAGE)
        return float(answers.detach()), float(story.detach())

    def log(self, answers: float, story: float) -> None:
        """One line of progress: mean losses since the last."""
        row = {"stage": self.run.stage, "step": self.step, "answers": round(answers, 4), "prose": round(story, 4)}
        with (self.run.out / f"{self.run.stage}.jsonl").open("a") as log:
            log.write(json.dumps(row | {"seconds": round(self.seconds, 1)}) + "\n")

    def loop(self, data: Data) -> None:
        """Train to the last step, with a line of progress every 50."""
        on_gpu = self.run.device.startswith("cuda")
        trunk = torch.compile(self.model.model, dynamic=False) if on_gpu else self.model.model
        recent: list[tuple[float, float]] = []
        while self.step < self.run.steps:
            began = time.monotonic()
            recent.append(self.update(data.reading(self.step), data.long_prose(self.step), trunk))
            self.step += 1
            self.seconds += time.monotonic() - began
            if self.step % 50 == 0:
                self.log(*np.nanmean(recent, axis=0).tolist())
                recent = []
            if self.step % CHECKPOINT_EVERY == 0 or self.step == self.run.steps:
                self.checkpoint()

    def export(self, folder: Path) -> None:
        """Save the averaged weights while the rate is high, the weights themselves after the decay."""
        decayed = self.run.decay_from < self.run.steps
        save(self.model, self.model.state_dict() if decayed else self.average, self.run.out / "tokenizer", folder)


def start(run: Run, weights: Path | None, seed: int) -> LlamaForCausalLM:
    """A fresh trunk, a model grown from the finished one, or exported weights to train further."""
    if weights:
        return LlamaForCausalLM.from_pretrained(weights, dtype=torch.float32, attn_implementation="sdpa")
    if run.stage == "trunk":
        return build("trunk", seed)
    kept = torch.load(run.out / "trunk.pt", map_location="cpu", weights_only=True)
    return grow(kept["model"], run.stage, seed)


def main() -> None:
    """python train.py trunk --steps 4000; python train.py device --first-step 4000 --steps 6000"""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=("trunk", "device", "cloud"))
    parser.add_argument("--steps", type=int, required=True, help="last step, counted from the trunk's first")
    parser.add_argument("--first-step", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="folder made by prepare.py")
    parser.add_argument("--start", type=Path, help="folder of exported weights to train further")
    parser.add_argument("--peak", type=float, default=1.0, help="share of the full learning rate")
    parser.add_argument("--shards", type=int, nargs="+", default=range(12), help="numbers of the shards to read")
    parser.add_argument("--export", type=Path, help="folder for the weights")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    decay_from = args.steps if args.stage == "trunk" else args.first_step
    run = Run(args.stage, args.steps, args.first_step, decay_from, args.peak, args.out, device)
    trainer = Trainer(run, start(run, args.start, args.seed))
    trainer.resume()
    trainer.loop(Data(args.out, args.shards, device))
    if args.export:
        trainer.export(args.export)


if __name__ == "__main__":
    main()
