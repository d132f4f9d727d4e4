"""Figure 5: perplexity on WikiText-2 against documents per side, by teacher forcing in one process (paper §7.2, §7.3).

Distributions are not cut: a gold token outside the wire set would have probability 0. The share outside is reported as
well. The cloud's documents are the first half of the best 2n, the device's the second half, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from hocket_bus.errors import BadRequest
from hocket_daemon.aggregation.weights.relevance import query, weighed_by
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.sampling.distribution import truncate
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_daemon.engine.text.tokenizer import Layout
from hocket_lab.bench.running.product import RELEVANCE_TEMPERATURE
from hocket_lab.forcing import Forced
from hocket_lab.reporting.picture import draw
from hocket_lab.reporting.report import Report, Row, Value, bootstrap
from hocket_lab.reporting.sources import digest_of_files
from hocket_retrieval.embedding.embedder import Embedder
from hocket_tools import console

from .frame import Claim, Figure, separate
from .ranges import PAPERS_WEIGHTS
from .text import TEST, TRAIN, Library, held_out_text

NONE, OWN = "no documents", "dragon static"
FEWEST_WINDOWS = 10  # a bootstrap over fewer says little
UNRELATED = "drcg unrelated"  # a control: what context alone brings, whatever it says
RIVALS = ("crcg device", "crcg cloud", "drcg")
Floats = NDArray[np.float64]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of figure 5. Tokens are the model's.

    A model is "device" or "cloud" (the bundled ones), a folder, or a Hugging Face name.
    """

    windows: int = 60
    window: int = 1024
    query_share: float = 0.125
    documents: tuple[int, ...] = (1, 2, 4, 8, 16)
    document_tokens: int = 64
    context_tokens: int = 256
    chunk_words: int = 40
    weights: tuple[str, ...] = PAPERS_WEIGHTS
    refresh: int = 16
    relevance_temperature: float = RELEVANCE_TEMPERATURE
    wire_masses: tuple[float, ...] = (0.98, 0.8)
    wire_every: int = 8
    device_model: str = "device"
    cloud_model: str = "device"
    articles: int = 0


@dataclass(frozen=True)
class _Scored:
    """Probabilities over a window's documents by a side's model.

    `gold` is p(gold) [documents, places]; `sampled` is p [documents, some places, ids].
    """

    gold: Floats
    sampled: NDArray[np.float32]


class _Bench:
    """Models, library and embedder; turns a window into rows."""

    def __init__(self, settings: Settings, data: Path) -> None:
        self._settings = settings
        self._embedder = Embedder()
        self._library = Library(data, settings.chunk_words, settings.articles)
        self._device = _load(settings.device_model, settings)
        same = settings.cloud_model == settings.device_model
        self._cloud = self._device if same else _load(settings.cloud_model, settings)
        self._forced = {model.folder: Forced(model) for model in (self._device, self._cloud)}
        self._layout: Layout = self._device.layout("complete")
        self._ids = list(self._device.tokenizer(held_out_text(data), add_special_tokens=False)["input_ids"])

    def rows(self, number: int) -> list[Row]:
        """Return all methods' rows of a window: mean nats per token after the query, shares outside the wire set."""
        made = self._window(number)
        return [{"window": number, **row} for row in made]

    def _window(self, number: int) -> Iterator[Row]:
        settings = self._settings
        ids, asked, question = self._cut(number)
        texts = self._library.search(question, 2 * max(settings.documents)) or [""]
        documents, unrelated = self._laid_out(texts), self._unrelated(number)
        gold = np.array(ids[asked:])
        yield _row(NONE, 0, self._gold(self._device, self._context([]), ids, gold))
        for count in settings.documents:
            for method, model, chosen in (
                ("crcg device", self._device, documents[count : 2 * count]),
                ("crcg cloud", self._cloud, documents[:count]),
                ("drcg", self._device, documents[: 2 * count]),
                (UNRELATED, self._device, unrelated[: 2 * count]),
            ):
                yield _row(method, count, self._gold(model, self._context(chosen), ids, gold))
        yield from self._dragon(question, texts, documents, ids, gold)

    def _cut(self, number: int) -> tuple[list[int], int, str]:
        """Return window `number`: its ids, how many of them are the query, and the query as text."""
        room = max(0, len(self._ids) - self._settings.window)
        start = room * number // max(1, self._settings.windows - 1)
        ids = self._ids[start : start + self._settings.window]
        asked = max(1, round(len(ids) * self._settings.query_share))
        return ids, asked, str(self._device.tokenizer.decode(ids[:asked]))

    def _laid_out(self, texts: list[str]) -> list[list[int]]:
        return [self._layout.document(text) for text in texts]

    def _unrelated(self, number: int) -> list[list[int]]:
        """Return as many documents of the same length, but those of a window far away."""
        windows = self._settings.windows
        question = self._cut((number + windows // 2) % windows)[2]
        return self._laid_out(self._library.search(question, 2 * max(self._settings.documents)))

    def _dragon(
        self, question: str, texts: list[str], documents: list[list[int]], ids: list[int], gold: NDArray[np.int64]
    ) -> Iterator[Row]:
        settings = self._settings
        rows = [document[: settings.document_tokens + len(self._layout.bos)] for document in documents]
        device = self._scored(self._device, rows, ids, gold)
        cloud = device if self._cloud is self._device else self._scored(self._cloud, rows, ids, gold)
        for weights in settings.weights:
            scores = self._scores(weights, question, texts, ids[len(ids) - len(gold) :])
            for count in settings.documents:
                sides = [(device, slice(count, 2 * count)), (cloud, slice(0, count))]
                p = _mixed([(side.gold[own], scores[own]) for side, own in sides])
                cut = [(side.sampled[own], scores[own, :: settings.wire_every]) for side, own in sides]
                outside = _outside(cut, gold[:: settings.wire_every], settings.wire_masses)
                yield _row(f"dragon {weights}", count, p) | outside

    def _context(self, documents: list[list[int]]) -> list[int]:
        """Return the ids of context aggregation: documents one after another, cut at the budget."""
        bos = list(self._layout.bos)
        maximum = self._settings.document_tokens
        joined = [token for document in documents for token in document[len(bos) :][:maximum]]
        return bos + joined[: self._settings.context_tokens]

    def _gold(self, model: TransformersModel, before: list[int], ids: list[int], gold: NDArray[np.int64]) -> Floats:
        return self._score(model, before, ids, len(gold))[np.arange(len(gold)), gold].astype(np.float64)

    def _score(self, model: TransformersModel, before: list[int], ids: list[int], last: int) -> NDArray[np.float32]:
        between = list(model.tokenizer(self._layout.between, add_special_tokens=False)["input_ids"])
        return self._forced[model.folder].score(before + between + ids, last)

    def _scored(
        self, model: TransformersModel, rows: list[list[int]], ids: list[int], gold: NDArray[np.int64]
    ) -> _Scored:
        golds, sampled = [], []
        for row in rows:
            p = self._score(model, row, ids, len(gold))
            golds.append(p[np.arange(len(gold)), gold].astype(np.float64))
            sampled.append(p[:: self._settings.wire_every].copy())
        return _Scored(np.array(golds), np.array(sampled))

    def _scores(self, weights: str, question: str, texts: list[str], answer: list[int]) -> Floats:
        """Return R(d, x_<t)/τ, shape [documents, places]; 0 throughout when weights are off."""
        shape = (len(texts), len(answer))
        if weights == "off":
            return np.zeros(shape)
        vectors = self._embedder.documents(texts)
        lengths = [weighed_by(step, self._settings.refresh) if weights == "dynamic" else 0 for step in range(shape[1])]
        tokenizer = self._device.tokenizer
        asked = {n: query(question, str(tokenizer.decode(answer[:n]))) if n else question for n in set(lengths)}
        found = {n: vectors @ self._embedder.query(text) for n, text in asked.items()}
        return np.stack([found[n] for n in lengths], axis=1).astype(np.float64) / self._settings.relevance_temperature


def _softmax(scores: Floats) -> Floats:
    weights = np.exp(scores - scores.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))


def _mixed(sides: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return p_t(gold): η and the sides' own weights are one softmax over all documents (paper Eq. 2 and 4)."""
    gold, scores = (np.concatenate(parts) for parts in zip(*sides, strict=True))
    return np.asarray((_softmax(scores) * gold).sum(axis=0))


def _outside(
    sides: Sequence[tuple[NDArray[np.float32], Floats]], gold: NDArray[np.int64], masses: Sequence[float]
) -> Row:
    """Return, for each wire mass, the share of gold tokens that neither side would send."""
    mixed = [np.einsum("dp,dpv->pv", _softmax(scores), p.astype(np.float64)) for p, scores in sides if len(p)]
    found: Row = {}
    for mass in masses:
        inside = [any(token in truncate(p[at], mass).ids for p in mixed) for at, token in enumerate(gold)]
        found[f"outside_{mass:g}"] = 1 - fmean(inside)
    return found


def _row(method: str, documents: int, p: Floats) -> Row:
    return {"method": method, "documents": documents, "nats": float(-np.log(np.maximum(p, 1e-30)).mean())}


def _load(name: str, settings: Settings) -> TransformersModel:
    bundled = name in ("device", "cloud")
    longest = settings.window + settings.context_tokens + settings.document_tokens
    how = ModelSettings(name=BUNDLED if bundled else name, context=longest, slots=1, dtype="float32")
    model = TransformersModel(how, "cloud" if name == "cloud" else "device")
    if model.slots.context < longest:
        raise BadRequest(
            f"a window of {settings.window} tokens behind {settings.context_tokens} is more than the model's "
            f"{model.slots.context}",
            "set a smaller window",
        )
    return model


def _inputs(settings: Settings, data: Path) -> Mapping[str, Value]:
    """Return digests of everything that is read, and what the bundled weights were trained on."""
    facts: dict[str, Value] = {}
    for side, name in (("device", settings.device_model), ("cloud", settings.cloud_model)):
        folder = Path(_load(name, settings).tokenizer.name_or_path)
        facts[side] = digest_of_files(sorted(folder.glob("*.safetensors"))) or name
        if name in ("device", "cloud"):
            facts["trained on"] = "made-up facts, real questions and WikiText-2 train: the documents retrieved here"
    return facts | {"corpus": digest_of_files([data / TRAIN, data / TEST])}


def _measure(report: Report, settings: Settings, data: Path) -> None:
    todo = [number for number in range(settings.windows) if report.find(window=number) is None]
    if not todo:
        return
    bench = _Bench(settings, data)
    for number in track(todo, "windows", console=console.err(), transient=True):
        report.extend(bench.rows(number))


def _values(rows: Sequence[Row], method: str, documents: int, name: str = "nats") -> list[float]:
    """Return one value for each window, in the order of windows."""
    own = [row for row in rows if (row["method"], row["documents"]) == (method, documents) and name in row]
    return [float(row[name] or 0) for row in sorted(own, key=lambda row: int(row["window"] or 0))]


def _summary(rows: Sequence[Row]) -> list[Row]:
    base = _values(rows, NONE, 0)
    cells = dict.fromkeys((str(row["method"]), int(row["documents"] or 0)) for row in rows)
    methods = dict.fromkeys(method for method, _ in cells if method != NONE)
    found = []
    for method, count in sorted([(method, 0) for method in methods] + [cell for cell in cells if cell[0] != NONE]):
        nats = _values(rows, method, count) if count else base
        low, high = bootstrap(nats)
        gain_low, gain_high = bootstrap([without - own for without, own in zip(base, nats, strict=True)])
        cell: Row = {
            "method": method,
            "documents": count,
            "perplexity": math.exp(fmean(nats)),
            "ppl_low": math.exp(low),
            "ppl_high": math.exp(high),
            "gain_nats": fmean(base) - fmean(nats),
            "gain_low": gain_low,
            "gain_high": gain_high,
        }
        names = [name for name in rows[-1] if name.startswith("outside")] if rows else []
        shares = {name: _values(rows, method, count, name) for name in names}
        found.append(cell | {name: fmean(values) if values else None for name, values in shares.items()})
    return found


def _judge(rows: Sequence[Row]) -> list[Claim]:
    """Judge the growth with documents and the order of methods, only where the paired 95 % interval leaves out 0."""
    counts = sorted({int(row["documents"] or 0) for row in rows} - {0})
    base = _values(rows, NONE, 0)
    maximum, minimum = _values(rows, OWN, counts[-1]), _values(rows, OWN, counts[0])
    claims = [
        _better(f"{OWN}: {counts[-1]} documents a side against none", base, maximum),
        _better(f"{OWN}: {counts[-1]} documents a side against {counts[0]}", minimum, maximum),
    ]
    for count in counts:
        for rival in RIVALS:
            name = f"{OWN} against {rival}, {count} a side"
            claims.append(_better(name, _values(rows, rival, count), _values(rows, OWN, count)))
    return claims


def _better(name: str, worse: Sequence[float], better: Sequence[float]) -> Claim:
    """Claim how many nats per token the second saves against the first, window by window."""
    if len(better) < FEWEST_WINDOWS or len(better) != len(worse):
        return Claim(f"{name}, nats saved", "interval above 0", f"{len(better)} windows are too few", None)
    low, high = bootstrap([one - other for one, other in zip(worse, better, strict=True)])
    return Claim(f"{name}, nats saved", "interval above 0", f"[{low:.4f}, {high:.4f}]", separate(low, high))


def _draw(png: Path, rows: Sequence[Row], settings: Settings) -> None:
    title = f"WikiText-2, {settings.windows} windows of {settings.window} tokens"
    draw(png, rows, "documents", "perplexity", "method", title=title, interval=("ppl_low", "ppl_high"))


FIGURE = Figure(
    title="perplexity on WikiText-2 against documents a side; the bundled models have read WikiText-2 train",
    paper="output aggregation over both sides gains with every document and is at least as good as every rival",
    settings=Settings,
    inputs=_inputs,
    measure=_measure,
    summary=_summary,
    judge=_judge,
    draw=_draw,
)
