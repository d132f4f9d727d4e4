"""Makes the training data: the tokenizer, long rows of prose, and shards of packed readings.

A document is a passage and several branches behind it; a branch sees the passage and itself, not its siblings, exactly
as the product lays out stored passages. Rows hold several documents. Per position: token, document, branch, position,
the next token where it is to be learned (-1 elsewhere), and what that next token is part of.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import prose
import reading
import tokenizer
from passages import EASY, FULL, MIDDLE, Level, Reading, Writer
from tokenizers import Tokenizer
from values import Source

ROW = 384
LONG_ROW = 1024
ROWS_PER_SHARD = 9600


@dataclass(frozen=True)
class Mixture:
    """What a shard is made of: the level, shares of real names and of notes among readings, shares of other kinds."""

    level: Level
    names: float
    notes: float
    recital: float
    copying: float
    real: float
    prose: float


# From easy to hard: heads that copy and match form on short passages with short names, and then generalise.
MIXTURES = (
    Mixture(EASY, names=0.9, notes=0.1, recital=0.2, copying=0.35, real=0.0, prose=0.0),
    Mixture(MIDDLE, names=0.6, notes=0.25, recital=0.3, copying=0.12, real=0.04, prose=0.02),
    Mixture(FULL, names=0.45, notes=0.4, recital=0.45, copying=0.03, real=0.08, prose=0.04),
)


CHANNELS = 6
FRAME, FOUND, MISSING = 0, 1, 2  # what a learned token belongs to: a value in the passage, one that is not, the rest


@dataclass(frozen=True)
class Branch:
    """What is asked behind the passage, what is to be learned, and its values with whether the passage holds each."""

    prompt: str
    target: str
    values: tuple[tuple[str, bool], ...] = ()
    values_only: bool = False

    def roles(self, offsets: Sequence[tuple[int, int]]) -> list[int]:
        """FRAME, FOUND or MISSING of every target token, from the tokens' places in the target."""
        out, at = [FRAME] * len(offsets), 0
        for value, found in self.values:
            start = self.target.index(value, at)
            at = start + len(value)
            for i, (a, b) in enumerate(offsets):
                if a < at and b > start:
                    out[i] = FOUND if found else MISSING
        return out


@dataclass(frozen=True)
class Document:
    """Passage text and branches behind it."""

    passage: str
    branches: tuple[Branch, ...]


@cache
def corpus(data: Path) -> tuple[prose.Prose, list[Reading]]:
    """Prose and real reading, read once per process."""
    return prose.load(data / "wikitext2" / "wiki.train.tokens"), reading.load(data)


def of_reading(item: Reading) -> Document:
    """Question branches as the product asks them."""
    return Document(
        item.passage,
        tuple(Branch(f"\n\nQuestion: {a.question}\nAnswer:", f" {a.answer}<|eos|>", a.values) for a in item.asked),
    )


def recital(writer: Writer) -> Document:
    """A passage and all its facts told three times, in any order and among others, to learn nothing but the values.

    Twice as many values to find for the same number of tokens as behind questions.
    """
    item = writer.recital()
    return Document(item.passage, tuple(Branch("\n\nAnswer:", f" {a.answer}", a.values, True) for a in item.asked))


def copying(rng: random.Random, sentences: Sequence[str]) -> Document:
    """A span of real text, half of the time with its words shuffled, to be repeated."""
    words = " ".join(rng.sample(sentences, 2)).split()
    words = words[: rng.randint(5, 30)]
    if rng.random() < 0.5:
        rng.shuffle(words)
    return Document(" ".join(words), (Branch("\n\n", " ".join(words) + "<|eos|>"),))


def continued(rng: random.Random, articles: Sequence[str]) -> Document:
    """A chunk of an article behind which another text goes on."""

    def piece(words: int) -> list[str]:
        text = rng.choice(articles).split(" ")
        start = rng.randrange(max(1, len(text) - words))
        return text[start : start + words]

    return Document(" ".join(piece(60)), (Branch("\n\n", " ".join(piece(rng.randint(30, 90)))),))


def documents(rng: random.Random, data: Path, shard: int) -> Iterator[Document]:
    """An endless stream in the shard's mixture."""
    text, real = corpus(data)
    mix = MIXTURES[min(shard, len(MIXTURES) - 1)]
    source = Source(rng, text.capitals, text.plain, held_out=False, real=mix.names)
    writer = Writer(source, text.sentences, level=mix.level, notes=mix.notes)
    while True:
        form = rng.random()
        if form < mix.copying:
            yield copying(rng, text.sentences)
        elif form < mix.copying + mix.real:
            yield of_reading(rng.choice(real))
        elif form < mix.copying + mix.real + mix.prose:
            yield continued(rng, text.articles)
        elif form > 1 - mix.recital:
            yield recital(writer)
        else:
            yield of_reading(writer.reading(rng.choice((3, 4, 5))))


def encode(batch: Sequence[Document], tok: Tokenizer) -> Iterator[np.ndarray]:
    """Each document as an array [CHANNELS, length]; the document's number is filled in later."""
    parts = [t for d in batch for t in (d.passage.strip(), *(x for b in d.branches for x in (b.prompt, b.target)))]
    encoded = iter(tok.encode_batch(parts))
    for d in batch:
        passage = [0, *next(encoded).ids]
        columns = [(t, 0, 0, i, -1, 0) for i, t in enumerate(passage)]
        for number, branch in enumerate(d.branches, 1):
            asked, target = next(encoded).ids, next(encoded)
            roles = branch.roles(target.offsets)
            wanted = [-1 if branch.values_only and r == FRAME else t for t, r in zip(target.ids, roles, strict=True)]
            learned = [-1] * (len(asked) - 1) + wanted + [-1]
            roles = [0] * (len(asked) - 1) + roles + [0]
            rest = enumerate(zip(asked + target.ids, learned, roles, strict=True), len(passage))
            columns += [(t, 0, number, i, n, r) for i, (t, n, r) in rest]
        yield np.array(columns, np.int16).T


def packed(fragments: Iterator[np.ndarray], rows: int) -> np.ndarray:
    """Fill rows with documents, a few rows open at a time; [rows, CHANNELS, ROW]."""
    out = np.full((rows, CHANNELS, ROW), -1, np.int16)
    out[:, [0, 2, 3, 5]] = (2,), (0,), (0,), (0,)
    used, count = np.zeros(rows, int), np.zeros(rows, int)
    first = 0
    while first < rows:
        piece = next(fragments)
        size = piece.shape[1]
        if size > ROW:
            continue
        window = range(first, min(first + 12, rows))
        row = next((r for r in window if used[r] + size <= ROW), None)
        if row is None:
            first += 1
            continue
        piece[1] = count[row]
        out[row, :, used[row] : used[row] + size] = piece
        used[row] += size
        count[row] += 1
    return out


def make_shard(data: Path, out: Path, shard: int, seed: int) -> None:
    """Write one shard; the same seed gives the same bytes."""
    rng = random.Random(f"{seed}/{shard}")
    tok = Tokenizer.from_file(str(out / "tokenizer" / "tokenizer.json"))
    stream = documents(rng, data, shard)

    def fragments() -> Iterator[np.ndarray]:
        while True:
            yield from encode([next(stream) for _ in range(400)], tok)

    rows = packed(fragments(), ROWS_PER_SHARD)
    np.random.default_rng(seed + shard).shuffle(rows)
    partial = out / f"shard_{shard:03}.partial.npy"
    np.save(partial, rows)
    partial.rename(out / f"shard_{shard:03}.npy")


def make_base(data: Path, out: Path, seed: int) -> None:
    """Write the tokenizer and the long rows of prose."""
    text, _ = corpus(data)
    stream = documents(random.Random(seed), data, shard=9)
    made = [
        t
        for d in (next(stream) for _ in range(6000))
        for t in (d.passage, *(x for b in d.branches for x in (b.prompt, b.target)))
    ]
    tok = tokenizer.train([*text.articles, *made])
    tokenizer.save(tok, out / "tokenizer")
    ids = [t for e in tok.encode_batch([a + "<|eos|>" for a in text.articles]) for t in (0, *e.ids)]
    rows = np.array(ids[: len(ids) // (LONG_ROW - 1) * (LONG_ROW - 1)], np.int16).reshape(-1, LONG_ROW - 1)
    rows = np.pad(rows, ((0, 0), (1, 0)))
    np.random.default_rng(seed).shuffle(rows)
    np.save(out / "prose.npy", rows)


def main() -> None:
    """python prepare.py --data ../../../shared/data --out build"""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with wikitext2, squad and nq_open")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if not (args.out / "prose.npy").exists():
        make_base(args.data, args.out, args.seed)
    todo = [i for i in range(args.shards) if not (args.out / f"shard_{i:03}.npy").exists()]
    with ProcessPoolExecutor(args.processes) as pool:
        for job in [pool.submit(make_shard, args.data, args.out, i, args.seed) for i in todo]:
            job.result()


if __name__ == "__main__":
    main()
