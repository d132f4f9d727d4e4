"""Leaks of summaries: five words in a row of a private sentence, and whether a document is among those shared.

Membership: half of a domain's source documents are shared, the other half is not. Whoever holds the summaries guesses
that a document is shared if they have many of its names and terms. One bound separates the documents guessed to be
shared. The advantage is the largest difference, over all bounds, between the shares of shared and of other documents
above it; 0 is blind guessing, 1 is certainty.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from hocket_bus.messages import Summaries, Summary
from hocket_bus.wire import encode
from hocket_lab.bench.graph.collections import summaries_of
from hocket_lab.bench.graph.sets import Sets
from hocket_lab.bench.privacy.canaries import canaries, documents, grams
from hocket_lab.reporting.report import Report, Row
from hocket_retrieval.embedding.embedder import Embedder
from hocket_retrieval.graph.summary_index import Summary as PathCache
from hocket_retrieval.graph.summary_index import SummaryIndex
from hocket_retrieval.text.phrases import mentions
from hocket_tools.train.wikitext import Document

MIN_DOCUMENTS = (1, 2, 3, 5)
DOMAINS = "mtrag-"
COLUMNS = ("part", "min_documents", "domain", "documents", "advantage", "first")


def measure(report: Report, sets: Sets, embedder: Embedder, number: int, seed: int) -> None:
    """Add rows for the canaries, and for each domain and `min_documents`."""
    if report.find(part="canaries") is None:
        report.add(_canaries(number, seed))
    domains = [name for name in sets.documents if name.startswith(DOMAINS)]
    for minimum in MIN_DOCUMENTS:
        shared: dict[str, list[str]] = {}
        for domain in domains:
            sources = by_source(sets.documents[domain])
            if report.find(part="membership", min_documents=minimum, domain=domain) is None:
                report.add(_membership(domain, sources, minimum, seed))
            if report.find(part="matching", min_documents=minimum) is None:
                shared[domain] = summaries_of(sources.values(), minimum)
        if shared:
            report.add(_matching(sets, shared, minimum, embedder))


def claim(report: Report) -> None:
    """Claim the aims of the issue."""
    row = report.find(part="canaries") or {}
    leaked = int(row["told"] or 0)
    report.claim("sentences with five words in a row in a frame", "0", leaked, leaked == 0)
    of = {minimum: _mean_advantage(report, minimum) for minimum in MIN_DOCUMENTS}
    ratio = of[5] / of[1] if of[1] else 0.0
    report.claim("membership advantage at 5 over that at 1", "≤ 0.6", ratio, ratio <= 0.6)


def by_source(passages: Iterable[Document]) -> dict[str, Document]:
    """Return the passages of each source as one document."""
    texts: dict[str, list[str]] = {}
    for passage in passages:
        texts.setdefault(passage.name.partition("-")[0], []).append(passage.text)
    return {source: Document(source, "", "\n\n".join(parts)) for source, parts in texts.items()}


def advantage(members: Sequence[float], others: Sequence[float]) -> float:
    """Return the largest difference between the shares of both that reach one bound."""
    bounds = sorted({*members, *others})
    reach = [(_share(members, bound), _share(others, bound)) for bound in bounds]
    return max(inside - outside for inside, outside in reach)


def _canaries(number: int, seed: int) -> Row:
    """Check the frames that would carry the summaries of made-up private sentences for five of their words in a row."""
    private = canaries(number, seed)
    texts = summaries_of([Document(name, "", text) for name, text in documents(private).items()], 1)
    message = [Summary(id=id, version=1, text=text) for id, text in enumerate(texts)]
    frames = [b"".join(encode(Summaries(store="bench", summaries=[each]))) for each in message]
    seen = [grams(frame.decode("utf-8", "replace")) for frame in frames]
    leaked = sum(any(grams(each.text) & words for words in seen) for each in private)
    return {"part": "canaries", "documents": number, "summaries": len(texts), "told": leaked}


def _membership(domain: str, sources: dict[str, Document], minimum: int, seed: int) -> Row:
    names = sorted(sources)
    random.Random(seed).shuffle(names)
    inside, outside = names[: len(names) // 2], names[len(names) // 2 :]
    seen_text = "\n".join(summaries_of([sources[name] for name in inside], minimum)).lower()
    scores = [[_known(sources[name].text, seen_text) for name in part] for part in (inside, outside)]
    row: Row = {"part": "membership", "min_documents": minimum, "domain": domain, "documents": len(names)}
    return row | {"advantage": advantage(*scores)}


def _known(text: str, seen_text: str) -> float:
    """Return the share of a document's names and terms that the summaries have."""
    own = {mention.lower() for mention in mentions(text)}
    return sum(mention in seen_text for mention in own) / len(own) if own else 0.0


def _matching(sets: Sets, shared: dict[str, list[str]], minimum: int, embedder: Embedder) -> Row:
    """Measure how often the right domain is first, by the summaries of all of its documents."""
    with tempfile.TemporaryDirectory() as folder:
        index = SummaryIndex(Path(folder) / "summaries.sqlite", embedder)
        for domain, texts in shared.items():
            index.keep(domain, "bench", [PathCache(id, 1, text) for id, text in enumerate(texts)])
        asked = [question for question in sets.questions if question.device in shared]
        first = [index.match(question.text, list(shared))[:1] for question in asked]
        index.close()
    right = [bool(best) and best[0].device == question.device for best, question in zip(first, asked, strict=True)]
    return {"part": "matching", "min_documents": minimum, "documents": len(asked), "first": sum(right) / len(right)}


def _mean_advantage(report: Report, minimum: int) -> float:
    rows = [row for row in report.rows if row["part"] == "membership" and row["min_documents"] == minimum]
    return sum(float(row["advantage"] or 0) for row in rows) / max(1, len(rows))


def _share(scores: Sequence[float], bound: float) -> float:
    return sum(score >= bound for score in scores) / len(scores)
