"""Real pages: how expected the rest of a lead is, and how similar generated text is to it, by kind of reference.

- vanilla: nothing but the typed text
- rag: the best passages for the typed text, whole
- rag cut: the same, cut to as many tokens as memory has
- memory: what the daemon remembers when the text was typed word by word
- memory long: the nearest sentences, of no more tokens than rag has
- wrong-memory: the memory of another page
- ft: memory, by the model that was tuned with documents' own continuations
- ft-without: that model with nothing but the typed text
- it: memory, by the model that was tuned with other labels
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

from hocket_daemon.composition.completion import Path as Continuation
from hocket_daemon.composition.completion import Proposals, complete
from hocket_daemon.composition.completion import Row as Slot
from hocket_daemon.composition.reference import Reference, make_reference
from hocket_daemon.composition.window import Encoding, TokenTexts, Window
from hocket_daemon.engine.backends.automatic import resolved
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.runtime.sequences import at_once
from hocket_daemon.engine.settings import ModelSettings
from hocket_lab.bench.figures.frame import separate
from hocket_lab.forcing import Forced
from hocket_lab.reporting.report import Report, Row, bootstrap
from hocket_retrieval.collection import Collection
from hocket_retrieval.embedding.embedder import Embedder
from hocket_tools import console
from hocket_tools.replay import Shelf

from .library import Items, Library
from .likeness import Likeness
from .metrics import METRICS, words_of
from .pages import Corpus, Page

VANILLA, RAG, CUT, MEMORY, LONG, WRONG = "vanilla", "rag", "rag cut", "memory", "memory long", "wrong-memory"
FT, FT_WITHOUT, IT = "ft", "ft-without", "it"
SYSTEMS = (VANILLA, RAG, CUT, MEMORY, LONG, WRONG, FT, FT_WITHOUT, IT)
OF_FT, OF_IT = {FT: MEMORY, FT_WITHOUT: VANILLA}, {IT: MEMORY}  # systems of a tuned model, and whose references it has
BESIDE = {  # what each is compared with
    RAG: VANILLA, CUT: VANILLA, MEMORY: CUT, LONG: RAG, WRONG: VANILLA,
    FT: MEMORY, FT_WITHOUT: VANILLA, IT: FT,
}  # fmt: skip
CLAIMED = ((MEMORY, VANILLA), (MEMORY, WRONG), (FT, MEMORY), (FT, FT_WITHOUT))  # the better first
FEWEST = 10  # pages of which an interval says something
CONTEXT = 1024
WEIGHTS = ("reference_tokens", "reference_bytes")
NEARNESS = (*METRICS, "bertscore")
COLUMNS = ("system", "pages", "perplexity", "low", "high", *WEIGHTS, *NEARNESS, "beside", "saved_low", "saved_high")


@dataclass(frozen=True)
class How:
    """The share of a lead to type, and the numbers of tokens of its rest to score, and to generate for comparison."""

    share: float
    label_tokens: int
    written_tokens: int


class Writer:
    """A model that scores and generates text after references."""

    def __init__(self, model: str, how: How, likeness: Likeness) -> None:
        settings = ModelSettings(name=resolved(model), dtype="float32", slots=1, context=CONTEXT)
        self.model = TransformersModel(settings, "device")
        self._forced = Forced(self.model)
        self._how = how
        self._likeness = likeness
        self._token_texts = TokenTexts(self.model)
        self._slot = Slot(self.model)
        self._encoding = Encoding(self.model.continued, self._token_texts.can_spell)
        self.encode = self._encoding.ids

    def row(self, items: Items, typed: str, rest: str) -> Row:
        """Return the rest's mean nats per token after references and typed text, and the written text's likeness."""
        reference = make_reference(self.model, items, "", None)
        before, label = self.encode(typed), self.model.continued(rest)[: self._how.label_tokens]
        p = self._forced.score([*reference.ids, *before, *label], len(label))
        nats = -np.log(np.maximum(p[np.arange(len(label)), label].astype(np.float64), 1e-30))
        window = Window(typed, "", before)
        real, written = self._text(label), self._text(self._written(reference, window))
        near = {name: metric(words_of(real), words_of(written)) for name, metric in METRICS.items()}
        takeaways = [item.takeaway.text for item in reference.items]
        return {
            "nll": float(nats.mean()),
            "tokens": len(label),
            "reference_tokens": len(reference.ids),
            "reference_bytes": sum(len(text.encode()) for text in takeaways),
            **near,
            "bertscore": self._likeness(real, written),
        }

    def _written(self, reference: Reference, window: Window) -> Sequence[int]:
        maximum = self._how.written_tokens
        passes = complete(
            self._slot,
            reference.ids,
            Continuation(window),
            self._token_texts,
            eos=self.model.eos,
            proposals=Proposals([reference.ids, window.ids]),
            enough=lambda path: len(path.tokens) >= maximum,
        )
        return at_once(self.model, passes).tokens

    def _text(self, ids: Sequence[int]) -> str:
        return self._token_texts.text(ids[: self._how.written_tokens])


@dataclass(frozen=True)
class Models:
    """The device's model and the models tuned from it; an empty name means none."""

    base: str
    ft: str = ""
    it: str = ""

    def writers(self, how: How) -> list[tuple[Writer, Mapping[str, str]]]:
        """Return each model with its systems, mapped to the system whose references they have."""
        likeness = Likeness()
        own = {system: system for system in SYSTEMS if system not in (*OF_FT, *OF_IT)}
        named = ((self.base, own), (self.ft, OF_FT), (self.it, OF_IT))
        return [(Writer(name, how, likeness), systems) for name, systems in named if name]


def measure(report: Report, corpus: Corpus, models: Models, how: How, kind: str) -> None:
    """Score and generate after every reference of the pages that are not in the report yet."""
    todo = [page for page in corpus.pages if report.find(document=page.name) is None]
    if not todo:
        return
    writers, embedder = models.writers(how), Embedder()
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder, Collection(Path(folder) / "c", embedder) as read:
        read.add((name, "", text) for name, text in track(corpus.read.items(), "reading", console=console.err()))
        for page in track(todo, "pages", console=console.err()):
            other = corpus.pages[(corpus.pages.index(page) + len(corpus.pages) // 2) % len(corpus.pages)]
            shelf = Shelf(read, embedder, corpus.hidden(page, other))
            items = _references(Library(shelf, writers[0][0].encode), page, other, how.share)
            report.extend(
                {
                    "corpus": kind,
                    "system": system,
                    "document": page.name,
                    **writer.row(items[referred], *page.cut(how.share)),
                }
                for writer, systems in writers
                for system, referred in systems.items()
            )


def _references(library: Library, page: Page, other: Page, share: float) -> Mapping[str, Items]:
    typed = page.cut(share)[0]
    memory, rag = library.remembered(typed), library.passages(typed)
    return {
        VANILLA: (),
        RAG: rag,
        CUT: library.cut(rag, _tokens(memory)),
        MEMORY: memory,
        LONG: library.sentences(typed, _tokens(rag)),
        WRONG: library.remembered(other.cut(share)[0]),
    }


def _tokens(items: Items) -> int:
    return sum(item.tokens for item in items)


def perplexity(rows: Sequence[tuple[float, int]]) -> float:
    """Return the perplexity over all tokens, from pairs of (mean nats per token, tokens)."""
    return math.exp(_nats(rows))


def saved(worse: Sequence[tuple[float, int]], better: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """Return the 95 % interval of the nats per token that the second saves against the first, page by page."""
    pairs = [(one - other, tokens) for (one, tokens), (other, _) in zip(worse, better, strict=True)]
    return bootstrap(range(len(pairs)), lambda drawn: _nats([pairs[int(at)] for at in drawn]))


def _nats(rows: Sequence[tuple[float, int]]) -> float:
    return sum(nats * tokens for nats, tokens in rows) / sum(tokens for _, tokens in rows)


def _of(rows: Sequence[Row], system: str) -> list[tuple[float, int]]:
    mine = [row for row in rows if row["system"] == system]
    return [(float(row["nll"] or 0), int(row["tokens"] or 0)) for row in sorted(mine, key=lambda r: str(r["document"]))]


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return each system's perplexity, size of references, similarity, and the nats per token that it saves.

    The saving is against another system; all intervals are those of 95 %.
    """
    present = [system for system in SYSTEMS if _of(rows, system)]
    return [_summed(system, rows) for system in present]


def _summed(system: str, rows: Sequence[Row]) -> Row:
    scored, beside = _of(rows, system), BESIDE.get(system)
    low, high = bootstrap(range(len(scored)), lambda drawn: perplexity([scored[int(at)] for at in drawn]))
    mine = [row for row in rows if row["system"] == system]
    means = {name: fmean(float(row[name] or 0) for row in mine) for name in (*WEIGHTS, *NEARNESS)}
    saving = saved(_of(rows, beside), scored) if beside is not None else (None, None)
    return {
        "system": system, "pages": len(mine), "perplexity": perplexity(scored), "low": low, "high": high, **means,
        "beside": beside, "saved_low": saving[0], "saved_high": saving[1],
    }  # fmt: skip


def claim(report: Report) -> None:
    """Claim that memory is worth more than nothing and than another page's, and that tuning makes it worth more."""
    report.claims.clear()
    for better, worse in CLAIMED:
        ours, other = _of(report.rows, better), _of(report.rows, worse)
        name, target = f"{better} against {worse}, nats of a token saved", "interval above 0"
        if len(ours) < FEWEST or len(ours) != len(other):
            report.claim(name, target, f"{len(ours)} texts are too few", None)
            continue
        low, high = saved(other, ours)
        report.claim(name, target, f"[{low:.4f}, {high:.4f}]", separate(low, high))
