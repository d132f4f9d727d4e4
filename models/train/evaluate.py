"""Measures a pair: reading on held-out names, phrasings, kinds and notes, the mixture, the benchmark, prose."""

import argparse
import json
import math
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import prose
import torch
from decode import Pair, Request, Row, load, prompt_ids, write
from decontaminate import BENCH, TOOLS
from passages import Asked, Writer
from phrasings import Fact
from torch.nn.functional import cross_entropy
from values import Source

SIDES = ("device", "cloud")
Record = dict[str, float | int | str]


@dataclass(frozen=True)
class Case:
    """Two facts with a passage that holds each, and passages that hold neither."""

    passages: tuple[str, str]
    singles: tuple[Asked, Asked]
    both: Asked
    strangers: tuple[str, str]


def cases(writer: Writer, count: int) -> list[Case]:
    """Fresh held-out cases."""
    return [_case(writer) for _ in range(count)]


def _held(writer: Writer) -> tuple[str, Fact]:
    while True:
        text, facts = writer.passage()
        if facts:
            return text, writer.rng.choice(facts)


def _case(writer: Writer) -> Case:
    (p, a), (q, b) = _held(writer), _held(writer)
    both = writer.two_part((a, True), (b, True))
    return Case((p, q), (writer.single(a, True), writer.single(b, True)), both, (_held(writer)[0], _held(writer)[0]))


def right(text: str, accepted: Iterable[str]) -> bool:
    """Whether an accepted string stands in the text as whole words."""
    return any(re.search(rf"(?<!\w){re.escape(a.lower())}(?!\w|[.,:]\d)", text.lower()) for a in accepted)


def share(hits: Sequence[bool]) -> float:
    """Fraction of true."""
    return round(sum(hits) / max(1, len(hits)), 3)


@torch.inference_mode()
def spread(pair: Pair, side: str, passages: Sequence[str], asked: Sequence[Asked]) -> float:
    """Mean entropy in nats of the distribution at the first token of the value."""
    total = 0.0
    for passage, question in zip(passages, asked, strict=True):
        before = " " + question.answer[: question.answer.index(question.values[0][0])].rstrip()
        ids = prompt_ids(pair.tokenizer, passage, question.question) + pair.tokenizer.encode(
            before, add_special_tokens=False
        )
        p = pair.models[side](input_ids=torch.tensor([ids])).logits[0, -1].softmax(-1)
        total += float(-(p * p.clamp_min(1e-20).log()).sum())
    return round(total / len(asked), 2)


def alone(pair: Pair, side: str, passages: Sequence[str], questions: Sequence[str]) -> list[str]:
    """One side's greedy answers."""
    return [
        w.text
        for w in write(pair, [Request(q, (Row(side, p, 1.0),)) for p, q in zip(passages, questions, strict=True)])
    ]


def reading(pair: Pair, side: str, sample: Sequence[Case]) -> Record:
    """One side by itself: the right passage, a wrong one, and the entropy at the value."""
    asked = [c.singles[0] for c in sample]
    known, other = [c.passages[0] for c in sample], [c.strangers[0] for c in sample]
    texts = alone(pair, side, known, [a.question for a in asked])
    lost = alone(pair, side, other, [a.question for a in asked])
    return {
        "side": side,
        "exact_match": share([t == a.answer for t, a in zip(texts, asked, strict=True)]),
        "value_right": share([right(t, [a.values[0][0]]) for t, a in zip(texts, asked, strict=True)]),
        "value_right_wrong_passage": share([right(t, [a.values[0][0]]) for t, a in zip(lost, asked, strict=True)]),
        "entropy_right_passage": spread(pair, side, known, asked),
        "entropy_wrong_passage": spread(pair, side, other, asked),
    }


def mixed(sample: Sequence[tuple[str, str, str, str, str]], two_rows: bool) -> list[Request]:
    """Requests for (question, device passage, cloud passage, stranger, stranger)."""
    if not two_rows:
        return [Request(q, (Row("device", d, 0.5), Row("cloud", c, 0.5))) for q, d, c, _, _ in sample]
    return [
        Request(q, (Row("device", d, 0.25), Row("device", x, 0.25), Row("cloud", c, 0.25), Row("cloud", y, 0.25)))
        for q, d, c, x, y in sample
    ]


def two_part(pair: Pair, sample: Sequence[Case], two_rows: bool) -> Record:
    """Halves on different sides: the pair, and each side alone."""
    rows = [(c.both.question, *c.passages, *c.strangers) for c in sample]
    texts = [w.text for w in write(pair, mixed(rows, two_rows))]
    halves = [[right(t, [c.both.values[i][0]]) for t, c in zip(texts, sample, strict=True)] for i in (0, 1)]
    out: Record = {
        "first": share(halves[0]),
        "second": share(halves[1]),
        "both": share([a and b for a, b in zip(*halves, strict=True)]),
    }
    for i, side in enumerate(SIDES):
        lonely = alone(pair, side, [c.passages[i] for c in sample], [c.both.question for c in sample])
        out[f"both_{side}_alone"] = share(
            [all(right(t, [v]) for v, _ in c.both.values) for t, c in zip(lonely, sample, strict=True)]
        )
    return out


def one_sided(pair: Pair, sample: Sequence[Case], two_rows: bool) -> Record:
    """The device knows, the cloud reads something else: the pair beside the knowing side alone, and acceptance."""
    rows = [(c.singles[0].question, c.passages[0], c.strangers[0], c.strangers[1], c.passages[1]) for c in sample]
    values = [c.singles[0].values[0][0] for c in sample]
    texts = [w.text for w in write(pair, mixed(rows, two_rows))]
    lonely = alone(pair, "device", [c.passages[0] for c in sample], [c.singles[0].question for c in sample])
    sampled = write(pair, mixed(rows, two_rows), coupled_seed=1)
    return {
        "pair": share([right(t, [v]) for t, v in zip(texts, values, strict=True)]),
        "device_alone": share([right(t, [v]) for t, v in zip(lonely, values, strict=True)]),
        **{f"accept_{s}": round(sum(w.accepted[s] for w in sampled) / len(sampled), 3) for s in SIDES},
    }


def nearest(question: str, documents: Sequence[str], count: int = 2) -> list[str]:
    """The documents that share the rarest words with the question: a stand-in for the retrieval daemon."""
    bags = [set(re.findall(r"\w+", d.lower())) for d in documents]

    def score(bag: set[str]) -> float:
        words = set(re.findall(r"\w+", question.lower())) & bag
        return sum(math.log(len(bags) / sum(w in b for b in bags)) for w in words)

    order = sorted(range(len(bags)), key=lambda i: -score(bags[i]))
    return [" ".join(documents[i].split()[:72]) for i in order[:count]]


def bench(pair: Pair) -> list[Record]:
    """invented.json with the nearest documents of each side, two rows a side."""
    data = json.loads((BENCH / "invented.json").read_text("utf-8"))
    texts = {s: [d["text"] for d in data[s]] for s in SIDES}
    rows = {
        q["id"]: {s: [Row(s, t, 0.5) for t in nearest(q["question"], texts[s])] for s in SIDES}
        for q in data["questions"]
    }

    def answers(sides: Sequence[str]) -> dict[str, str]:
        requests = [
            Request(
                q["question"], tuple(Row(r.side, r.passage, 0.5 / len(sides)) for s in sides for r in rows[q["id"]][s])
            )
            for q in data["questions"]
        ]
        return {q["id"]: w.text for q, w in zip(data["questions"], write(pair, requests), strict=True)}

    results = {"pair": answers(SIDES), "device alone": answers(["device"]), "cloud alone": answers(["cloud"])}
    out: list[Record] = []
    for kind in ("device", "cloud", "two-part"):
        asked = [q for q in data["questions"] if q["kind"] == kind]
        row: Record = {"kind": kind}
        for name, texts_ in results.items():
            row[name] = share([all(right(texts_[q["id"]], p["answers"]) for p in q["parts"]) for q in asked])
        out.append(row)
    out.append({"kind": "texts", **{q["question"]: results["pair"][q["id"]] for q in data["questions"]}})
    return out


def demo(pair: Pair) -> list[Record]:
    """The demo's questions with the nearest documents."""
    folder = TOOLS / "demo"
    texts = {s: [p.read_text("utf-8") for p in sorted((folder / s).iterdir())] for s in SIDES}
    asked = json.loads((folder / "questions.json").read_text("utf-8"))
    requests = [
        Request(q["question"], tuple(Row(s, t, 0.25) for s in SIDES for t in nearest(q["question"], texts[s])))
        for q in asked
    ]
    return [
        {"question": q["question"], "answer": w.text, "right": int(all(right(w.text, [e]) for e in q["expect"]))}
        for q, w in zip(asked, write(pair, requests), strict=True)
    ]


@torch.inference_mode()
def perplexity(pair: Pair, side: str, path: Path, rows: int = 24) -> dict[str, float]:
    """Perplexity per token of held-out prose by position in a window of 1,024 tokens."""
    text = "\n\n".join(prose.load(path).articles)
    ids = pair.tokenizer.encode(text, add_special_tokens=False)
    windows = torch.tensor(ids[: rows * 1023]).view(rows, 1023)
    windows = torch.cat([torch.zeros(rows, 1, dtype=torch.long), windows], 1)
    logits = torch.cat([pair.models[side](input_ids=w).logits for w in windows.split(4)])
    losses = cross_entropy(logits[:, :-1].flatten(0, 1), windows[:, 1:].flatten(), reduction="none").view(rows, -1)
    edges = (0, 64, 128, 256, 512, 768, 1023)
    return {f"{a}-{b}": round(float(losses[:, a:b].mean().exp()), 1) for a, b in pairwise(edges)}


def evaluate(pair: Pair, data: Path, count: int) -> dict[str, object]:
    """All figures."""
    text = prose.load(data / "wikitext2" / "wiki.train.tokens")
    out: dict[str, object] = {"cases": count}
    for name in ("names", "phrasings", "kinds", "notes"):
        source = Source(random.Random(f"evaluate {name}"), text.capitals, text.plain, held_out=True)
        writer = Writer(
            source, text.sentences, name == "phrasings", name == "kinds", name == "notes",
            invents=False, notes=float(name == "notes"),
        )  # fmt: skip
        sample = cases(writer, count)
        out[name] = {
            "reading": [reading(pair, s, sample) for s in SIDES],
            **{f"{label}_{n}_rows": run(pair, sample, n == 2) for n in (1, 2)
               for label, run in (("two_part", two_part), ("one_sided", one_sided))},
        }  # fmt: skip
    out["bench"], out["demo"] = bench(pair), demo(pair)
    out["perplexity"] = {s: perplexity(pair, s, data / "wikitext2" / "wiki.valid.tokens") for s in SIDES}
    return out


def table(result: dict[str, object], indent: str = "") -> Iterable[str]:
    """The figures as lines."""
    for key, value in result.items():
        if isinstance(value, dict):
            yield f"{indent}{key}"
            yield from table(value, indent + "  ")
        elif isinstance(value, list):
            yield f"{indent}{key}"
            yield from (f"{indent}  {row}" for row in value if row.get("kind") != "texts")
        else:
            yield f"{indent}{key}: {value}"


def main() -> None:
    """python evaluate.py --data ../../../shared/data --models ../hocket_models --json figures.json"""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True, help="folder with device/ and cloud/")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    result = evaluate(load({s: args.models / s for s in SIDES}), args.data, args.count)
    print("\n".join(table(result)))  # noqa: T201
    if args.json:
        args.json.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
