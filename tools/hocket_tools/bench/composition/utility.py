"""Real pages: how expected the rest of a lead is, and how near to it what is written is, with each kind of reference.

- vanilla: nothing but the typed text
- rag: the best passages for the typed text, whole
- rag cut: the same, cut to as many tokens as memory has
- memory: what the daemon remembers when the text was typed word by word
- memory long: the nearest sentences, of no more tokens than rag has
- wrong-memory: the memory of another page
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
from rich.progress import track

from hocket_daemon.composition.completion import Row as Slot
from hocket_daemon.composition.completion import complete
from hocket_daemon.composition.lookup import Lookup
from hocket_daemon.composition.path import Path as Continuation
from hocket_daemon.composition.pieces import Pieces
from hocket_daemon.composition.reference import Reference, make_reference
from hocket_daemon.composition.window import Encoding, Window
from hocket_daemon.engine.published import resolved
from hocket_daemon.engine.sequences import at_once
from hocket_daemon.engine.settings import ModelSettings
from hocket_daemon.engine.transformers_voice import TransformersVoice
from hocket_retrieval.collection import Collection
from hocket_retrieval.embedder import Embedder
from hocket_tools import console
from hocket_tools.bench.figures.frame import separate
from hocket_tools.bench.report import Report, Row, bootstrap

from .library import Items, Library
from .metrics import METRICS, words_of
from .pages import pages

VANILLA, RAG, CUT, MEMORY, LONG, WRONG = "vanilla", "rag", "rag cut", "memory", "memory long", "wrong-memory"
SYSTEMS = (VANILLA, RAG, CUT, MEMORY, LONG, WRONG)
WORSE = (VANILLA, WRONG)  # than memory
BESIDE = {RAG: VANILLA, CUT: VANILLA, MEMORY: CUT, LONG: RAG, WRONG: VANILLA}  # what each is compared with
FEWEST = 10  # pages of which an interval says something
CONTEXT = 1024
WEIGHTS = ("reference_tokens", "reference_bytes")
COLUMNS = ("system", "pages", "perplexity", "low", "high", *WEIGHTS, *METRICS, "beside", "saved_low", "saved_high")


@dataclass(frozen=True)
class How:
    """How much of a lead is typed, and how many tokens of its rest are scored, and written to be compared with it."""

    share: float
    label_tokens: int
    written_tokens: int


class Writer:
    """A model that scores and writes behind references."""

    def __init__(self, model: str, how: How) -> None:
        settings = ModelSettings(name=resolved(model), dtype="float32", slots=1, context=CONTEXT)
        self.voice = TransformersVoice(settings, "device")
        self._how = how
        self._pieces = Pieces(self.voice)
        self._slot = Slot(self.voice)
        self._encoding = Encoding(self.voice.continued, self._pieces.can_spell)
        self.encode = self._encoding.ids

    def row(self, reference: Reference, typed: str, rest: str) -> Row:
        """The rest's mean nats of a token behind reference and typed text, and how near what is written is to it."""
        before, label = self.encode(typed), self.voice.continued(rest)[: self._how.label_tokens]
        p = self.voice.score([*reference.ids, *before, *label], len(label))
        nats = -np.log(np.maximum(p[np.arange(len(label)), label].astype(np.float64), 1e-30))
        window = Window(typed, "", before)
        real, written = (words_of(text) for text in (self._text(label), self._text(self._written(reference, window))))
        near = {name: metric(real, written) for name, metric in METRICS.items()}
        takeaways = [item.takeaway.text for item in reference.items]
        return {
            "nll": float(nats.mean()),
            "tokens": len(label),
            "reference_tokens": len(reference.ids),
            "reference_bytes": sum(len(text.encode()) for text in takeaways),
            **near,
        }

    def _written(self, reference: Reference, window: Window) -> Sequence[int]:
        most = self._how.written_tokens
        passes = complete(
            self._slot,
            reference.ids,
            Continuation(window),
            self._pieces,
            eos=self.voice.eos,
            lookup=Lookup([reference.ids, window.ids]),
            enough=lambda path: len(path.tokens) >= most,
        )
        return at_once(self.voice, passes).tokens

    def _text(self, ids: Sequence[int]) -> str:
        return self._pieces.text(ids[: self._how.written_tokens])


def measure(report: Report, data: Path, count: int, model: str, how: How) -> None:
    """Score and write behind every reference of the pages that are not in the report yet."""
    found = pages(data, count)
    todo = [page for page in found if report.find(document=page.name) is None]
    if not todo:
        return
    writer = Writer(model, how)
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder, Collection(Path(folder) / "c", Embedder()) as read:
        read.add((page.name, "", page.sections) for page in track(found, "reading", console=console.err()))
        library = Library(read, writer.encode)
        for page in track(todo, "pages", console=console.err()):
            other = found[(found.index(page) + len(found) // 2) % len(found)]
            typed, rest = page.cut(how.share)
            items = _references(library, typed, other.cut(how.share)[0])
            report.extend(
                {
                    "corpus": "wikitext2",
                    "system": system,
                    "document": page.name,
                    **writer.row(make_reference(writer.voice, items[system], "", None), typed, rest),
                }
                for system in SYSTEMS
            )


def _references(library: Library, typed: str, other: str) -> Mapping[str, Items]:
    memory, rag = library.remembered(typed), library.passages(typed)
    return {
        VANILLA: (),
        RAG: rag,
        CUT: library.cut(rag, _tokens(memory)),
        MEMORY: memory,
        LONG: library.sentences(typed, _tokens(rag)),
        WRONG: library.remembered(other),
    }


def _tokens(items: Items) -> int:
    return sum(item.tokens for item in items)


def perplexity(rows: Sequence[tuple[float, int]]) -> float:
    """Of the tokens of all (mean nats of a token, tokens)."""
    return math.exp(_nats(rows))


def saved(worse: Sequence[tuple[float, int]], better: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """The 95 % interval of the nats of a token that the second saves against the first, page by page."""
    pairs = [(one - other, tokens) for (one, tokens), (other, _) in zip(worse, better, strict=True)]
    return bootstrap(range(len(pairs)), lambda drawn: _nats([pairs[int(at)] for at in drawn]))


def _nats(rows: Sequence[tuple[float, int]]) -> float:
    return sum(nats * tokens for nats, tokens in rows) / sum(tokens for _, tokens in rows)


def _of(rows: Sequence[Row], system: str) -> list[tuple[float, int]]:
    mine = [row for row in rows if row["system"] == system]
    return [(float(row["nll"] or 0), int(row["tokens"] or 0)) for row in sorted(mine, key=lambda r: str(r["document"]))]


def summary(rows: Sequence[Row]) -> list[Row]:
    """Each system's perplexity over pages, what its references weigh, how near it writes, and the nats of a token that
    it saves against another one; all intervals are those of 95 %.
    """
    present = [system for system in SYSTEMS if _of(rows, system)]
    return [_summed(system, rows) for system in present]


def _summed(system: str, rows: Sequence[Row]) -> Row:
    scored, beside = _of(rows, system), BESIDE.get(system)
    low, high = bootstrap(range(len(scored)), lambda drawn: perplexity([scored[int(at)] for at in drawn]))
    mine = [row for row in rows if row["system"] == system]
    means = {name: fmean(float(row[name] or 0) for row in mine) for name in (*WEIGHTS, *METRICS)}
    saving = saved(_of(rows, beside), scored) if beside is not None else (None, None)
    return {
        "system": system, "pages": len(mine), "perplexity": perplexity(scored), "low": low, "high": high, **means,
        "beside": beside, "saved_low": saving[0], "saved_high": saving[1],
    }  # fmt: skip


def claim(report: Report) -> None:
    """That memory is worth more than nothing, and more than another page's."""
    report.claims.clear()
    memory = _of(report.rows, MEMORY)
    for worse in WORSE:
        other = _of(report.rows, worse)
        name, target = f"{MEMORY} against {worse}, nats of a token saved", "interval above 0"
        if len(memory) < FEWEST or len(memory) != len(other):
            report.claim(name, target, f"{len(memory)} pages are too few", None)
            continue
        low, high = saved(other, memory)
        report.claim(name, target, f"[{low:.4f}, {high:.4f}]", separate(low, high))
