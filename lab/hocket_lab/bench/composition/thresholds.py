"""Limits on the age of memory (Figure 5): real pages typed with each τ, and the requests and bytes that each takes.

Memory arrives as soon as it is requested, so only τ makes it old. A text is typed up to a random place; what follows is
scored and generated there.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean

from msgspec.structs import replace
from rich.progress import track

from hocket_bus.messages import MemoryRequest
from hocket_bus.wire import encode
from hocket_daemon.composition.coordinator import Threshold
from hocket_daemon.composition.settings import CompositionSettings
from hocket_lab.bench.figures.frame import separate
from hocket_lab.reporting.report import Report, Row
from hocket_retrieval.collection import Collection
from hocket_retrieval.embedding.embedder import Embedder
from hocket_tools import console
from hocket_tools.embedding import RememberingEmbedder
from hocket_tools.replay import Replay, Shelf

from . import waits
from .library import Library
from .likeness import Likeness
from .pages import Corpus
from .utility import How, Writer, perplexity, saved

AUTO, DEFAULT = "auto", str(CompositionSettings().distance)
SHARES = (0.25, 0.75)  # of a lead that is typed
KEY_S = 0.15  # from one key to the next
SAVED = 0.25  # of the default's requests, by which another τ is worth to be the default
COLUMNS = (
    "tau", "pages", "perplexity", "gleu", "bertscore", "requests", "requests_a_minute", "bytes_a_minute",
    "saved_low", "saved_high", "waiting_ms", "as_it_comes_ms", "ratio",
)  # fmt: skip
LIVE = 4  # pages that are typed into running pairs, too


def threshold(word: str) -> Threshold:
    """Return τ as the configuration has it."""
    return "auto" if word == AUTO else int(word)


def settings_for(word: str) -> CompositionSettings:
    """Return the settings of a device with this τ."""
    return replace(CompositionSettings(), distance=threshold(word))


def measure(report: Report, corpus: Corpus, taus: Sequence[str], model: str, how: How) -> None:
    """Measure what is not in the report yet: all pages in a replay, and the first ones in running pairs as well.

    The first pages' own sections are all that those pairs read.
    """
    writer, embedder = Writer(model, how, Likeness()), RememberingEmbedder()
    with _library(corpus, writer, embedder) as library:
        _score(report, corpus, taus, library, writer)
    live = corpus.first(LIVE)
    with _library(live, writer, embedder) as library:
        replayed = {
            (tau, page.name): len(library.typed(waits.beginning(page), settings_for(tau)).queries)
            for tau in taus
            for page in live.pages
        }
    waits.count(report, live, {tau: threshold(tau) for tau in taus}, model)
    waits.wait(report, live, model)
    report.claims.clear()
    claim(report)
    waits.claim(report, replayed)


@contextmanager
def _library(corpus: Corpus, writer: Writer, embedder: Embedder) -> Iterator[Library]:
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder, Collection(Path(folder) / "c", embedder) as read:
        read.add((name, "", text) for name, text in track(corpus.read.items(), "reading", console=console.err()))
        yield Library(Shelf(read, embedder), writer.encode)


def _score(report: Report, corpus: Corpus, taus: Sequence[str], library: Library, writer: Writer) -> None:
    rng = random.Random(0)
    shares = {page.name: rng.uniform(*SHARES) for page in corpus.pages}
    for page in track(corpus.pages, "pages", console=console.err()):
        typed, rest = page.cut(shares[page.name])
        for tau in taus:
            if report.find(tau=tau, document=page.name) is None:
                replay = library.typed(typed, settings_for(tau))
                found = writer.row(replay.items, typed, rest)
                report.add({"tau": tau, "document": page.name, **asked(replay, typed), **found})


def asked(replay: Replay, typed: str) -> Row:
    """Return the number and bytes of requests for a text, and the minutes that it takes to type."""
    settings = CompositionSettings()
    requests = [
        MemoryRequest(session=bytes(16), query=query, k=settings.passages, takeaways=settings.takeaways)
        for query in replay.queries
    ]
    return {
        "requests": len(requests),
        "bytes": sum(len(frame) for request in requests for frame in encode(request)),
        "minutes": len(typed) * KEY_S / 60,
    }


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return each τ's means, the 95 % interval of the nats per token saved against the default, and the waits."""
    taus = list(dict.fromkeys(str(row["tau"]) for row in rows if "tau" in row))
    return [*(_summed(tau, rows) for tau in taus), *waits.summary(rows)]


def _summed(tau: str, rows: Sequence[Row]) -> Row:
    mine = _of(rows, tau)
    low, high = _saved(rows, tau)
    minutes = _sum(mine, "minutes")
    return {
        "tau": tau, "pages": len(mine), "perplexity": perplexity(_scored(mine)),
        "gleu": fmean(float(row["gleu"] or 0) for row in mine),
        "bertscore": fmean(float(row["bertscore"] or 0) for row in mine),
        "requests": int(_sum(mine, "requests")), "requests_a_minute": _sum(mine, "requests") / minutes,
        "bytes_a_minute": _sum(mine, "bytes") / minutes, "saved_low": low, "saved_high": high,
    }  # fmt: skip


def claim(report: Report) -> None:
    """Claim that the τ that sets itself asks for much less than the default and is as good, so it should replace it."""
    auto, default = _of(report.rows, AUTO), _of(report.rows, DEFAULT)
    if not auto or len(auto) != len(default):
        return
    fewer = 1 - _sum(auto, "requests") / _sum(default, "requests")
    low, high = saved(_scored(default), _scored(auto))
    report.claim(f"{AUTO}: requests saved against τ = {DEFAULT}", f">= {SAVED:g}", fewer, fewer >= SAVED)
    is_worse = separate(low, high) is False
    report.claim(f"{AUTO}: nats of a token saved", "interval not below 0", f"[{low:.4f}, {high:.4f}]", not is_worse)


def _saved(rows: Sequence[Row], tau: str) -> tuple[float, float] | tuple[None, None]:
    mine, default = _of(rows, tau), _of(rows, DEFAULT)
    if tau == DEFAULT or len(mine) != len(default):
        return None, None
    return saved(_scored(default), _scored(mine))


def _of(rows: Sequence[Row], tau: str) -> list[Row]:
    return sorted((row for row in rows if row.get("tau") == tau), key=lambda row: str(row["document"]))


def _scored(rows: Sequence[Row]) -> list[tuple[float, int]]:
    return [(float(row["nll"] or 0), int(row["tokens"] or 0)) for row in rows]


def _sum(rows: Sequence[Row], column: str) -> float:
    return sum(float(row[column] or 0) for row in rows)
