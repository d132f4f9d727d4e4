"""Greedy (or coupled, temperature 1) decoding of many questions at once, each over rows of several models."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerBase

LONGEST = 56


@dataclass(frozen=True)
class Row:
    """One passage read by one side."""

    side: str
    passage: str
    weight: float


@dataclass(frozen=True)
class Request:
    """A question with the rows that answer it; the weights sum to one."""

    question: str
    rows: tuple[Row, ...]


@dataclass
class Written:
    """The text, and how often each side's own draw was the one taken."""

    text: str
    accepted: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """Both models in fp32 with their tokenizer."""

    models: dict[str, LlamaForCausalLM]
    tokenizer: PreTrainedTokenizerBase


def load(folders: dict[str, Path]) -> Pair:
    """Read both sides' folders."""
    models = {s: AutoModelForCausalLM.from_pretrained(f, dtype=torch.float32).eval() for s, f in folders.items()}
    return Pair(models, AutoTokenizer.from_pretrained(folders["device"]))


def prompt_ids(tokenizer: PreTrainedTokenizerBase, passage: str, question: str) -> list[int]:
    """The product's layout: the parts are tokenised apart."""

    def ids(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False)) if text else []

    return [0, *ids(passage.strip()), *ids(f"\n\nQuestion: {question}\nAnswer:")]


class _Side:
    """The rows of one model: left-padded prompts, then one token at a time."""

    def __init__(self, model: LlamaForCausalLM, prompts: Sequence[list[int]]) -> None:
        self.model = model
        longest = max(map(len, prompts))
        self.ids = torch.tensor([[2] * (longest - len(p)) + p for p in prompts])
        self.mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
        self.positions = (self.mask.cumsum(1) - 1).clamp(min=0)
        self.cache: object = None

    def step(self) -> Tensor:
        """The next-token distributions, [rows, vocabulary]."""
        out = self.model(
            input_ids=self.ids, attention_mask=self.mask, position_ids=self.positions, past_key_values=self.cache,
            use_cache=True, logits_to_keep=1,
        )  # fmt: skip
        self.cache = out.past_key_values
        return out.logits[:, -1].softmax(-1)

    def feed(self, tokens: Tensor) -> None:
        """Append one token to every row."""
        self.ids = tokens[:, None]
        self.mask = torch.cat([self.mask, torch.ones_like(self.ids)], 1)
        self.positions = self.positions[:, -1:] + 1


@torch.inference_mode()
def write(pair: Pair, requests: Sequence[Request], coupled_seed: int | None = None, batch: int = 64) -> list[Written]:
    """Answer all requests; with a seed by the exponential race at temperature 1, else greedily."""
    out: list[Written] = []
    for start in range(0, len(requests), batch):
        out += _write(pair, requests[start : start + batch], coupled_seed)
    return out


def _write(pair: Pair, requests: Sequence[Request], seed: int | None) -> list[Written]:
    flat = [(i, row, r.question) for i, r in enumerate(requests) for row in r.rows]
    sides, owners, weights = {}, {}, {}
    for side in sorted({row.side for _, row, _ in flat}):
        mine = [(i, row, q) for i, row, q in flat if row.side == side]
        sides[side] = _Side(pair.models[side], [prompt_ids(pair.tokenizer, row.passage, q) for _, row, q in mine])
        owners[side] = torch.tensor([i for i, _, _ in mine])
        weights[side] = torch.tensor([row.weight for _, row, _ in mine])
    generator = torch.Generator().manual_seed(seed or 0)
    done = torch.zeros(len(requests), dtype=torch.bool)
    tokens: list[Tensor] = []
    hits: dict[str, list[Tensor]] = {s: [] for s in sides}
    while not done.all() and len(tokens) < LONGEST:
        shares = {}
        for side, rows in sides.items():
            shares[side] = torch.zeros(len(requests), len(pair.tokenizer)).index_add_(
                0, owners[side], rows.step()[:, : len(pair.tokenizer)] * weights[side][:, None]
            )
        mixed = sum(shares.values())
        noise = (
            torch.empty_like(mixed).exponential_(generator=generator) if seed is not None else torch.ones_like(mixed)
        )
        token = (noise / mixed).argmin(1)
        for side, share in shares.items():
            hits[side].append(((noise / share).argmin(1) == token) & ~done)
            sides[side].feed(token[owners[side]])
        tokens.append(torch.where(done, 1, token))
        done |= token == 1
    return _collect(pair, tokens, hits)


def _collect(pair: Pair, tokens: list[Tensor], hits: dict[str, list[Tensor]]) -> list[Written]:
    out = []
    for i, ids in enumerate(torch.stack(tokens, 1).tolist()):
        length = ids.index(1) + 1 if 1 in ids else len(ids)
        text = pair.tokenizer.decode(ids[:length], skip_special_tokens=True).strip()
        out.append(Written(text, {s: sum(bool(h[i]) for h in each) / length for s, each in hits.items()}))
    return out
