"""Messages about what a collection holds, finds and takes in, each as long as a message may be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import msgspec

from hocket_bus import messages as m
from hocket_bus.faults import notice_text

from ..graph.tables import GraphInfo, SubgraphInfo
from ..ingestion.job import Progress, Report
from ..searching.bridges import Trail
from ..searching.recency import Older
from ..searching.search import Passage, SearchResult
from ..searching.sentences import Sentence
from ..searching.survey import Surveyed
from ..stores.records import Chunk, DocumentInfo

PAGE_DOCUMENTS = 200
PAGE_SUBGRAPHS = 200
PAGE_CHUNKS = 64
PAGE_BYTES = 2**19
MAX_SUFFIX_CHARS = 16
MAX_OLDER = 64  # that a message names
MAX_FAILURE_LINES = 200


def passages(request: bytes, found: SearchResult, scorers: list[str], seconds: float) -> m.Passages:
    """The passages found within `seconds`, best first."""
    return m.Passages(
        request=request,
        passages=list(map(_found, found.passages)),
        scorer=found.scorer,
        scorers=scorers,
        documents_total=found.documents_total,
        older=list(map(_older, found.older[:MAX_OLDER])),
        form=found.form,
        bridge=_bridge(found.trail),
        seconds=seconds,
    )


def _found(found: Passage) -> m.Passage:
    led = [
        m.Place(
            document=each.document,
            ordinal=each.ordinal,
            subgraph=each.subgraph,
            score=each.score,
            place=each.place,
        )
        for each in found.led
    ]
    return msgspec.structs.replace(passage(found, found.score, found.subgraph), led=led, rank=found.rank)


def passage(found: Passage | Chunk, score: float = 0.0, subgraph: int = 0) -> m.Passage:
    """Return a found passage, or a stored chunk, as a message."""
    return m.Passage(
        document=found.document,
        title=found.title,
        ordinal=found.ordinal,
        text=found.text,
        score=score,
        subgraph=subgraph,
        place=found.place,
    )


def trail(bridge: m.Bridge | None) -> Trail | None:
    """Make the second search that another side's best passage leads to; None without one."""
    return Trail(bridge.text, bridge.names, bridge.score) if bridge is not None else None


def _bridge(trail: Trail | None) -> m.Bridge | None:
    return m.Bridge(text=trail.text, names=trail.names, score=trail.score) if trail is not None else None


def _older(left: Older) -> m.Older:
    return m.Older(left.document, left.time.text, left.newer, left.newer_time.text)


def extracted(request: bytes, found: Sequence[Sentence], seconds: float) -> m.Extracted:
    """The sentences found within `seconds`, best first, each as long as a line may be."""
    sentences = [m.Sentence(document=each.document, text=notice_text(each.text), score=each.score) for each in found]
    return m.Extracted(request=request, sentences=sentences, seconds=seconds)


def documents(asked: m.ListDocuments, stored: Sequence[DocumentInfo]) -> m.Documents:
    """The page of all `stored` documents that was asked for."""
    page = [
        m.Document(name=document.name, title=document.title, chunks=document.chunks)
        for document in stored[asked.offset : asked.offset + PAGE_DOCUMENTS]
    ]
    return m.Documents(request=asked.request, documents=page, total=len(stored))


def surveyed(asked: m.Survey, found: Surveyed) -> m.Surveyed:
    """The documents that were found, with the names of the first PAGE_DOCUMENTS."""
    kinds = [m.Kind(suffix[:MAX_SUFFIX_CHARS], number) for suffix, number in found.kinds]
    return m.Surveyed(
        request=asked.request,
        total=len(found.names),
        kinds=kinds,
        names=found.names[:PAGE_DOCUMENTS],
        whole=found.whole,
        days=list(found.days[:PAGE_DOCUMENTS]),
        when=found.when,
    )


def subgraphs(asked: m.ListSubgraphs, store: str, graph: GraphInfo, page: Sequence[SubgraphInfo]) -> m.Subgraphs:
    """Return a page of the graph's subgraphs, and figures of the whole; `store` is the number of its document store."""
    return m.Subgraphs(
        request=asked.request,
        state=graph.state,
        building=graph.building,
        documents=graph.documents,
        entities=graph.entities,
        relations=graph.relations,
        modularity=graph.modularity,
        subgraphs=[m.Subgraph(**each._asdict()) for each in page],
        total=graph.subgraphs,
        store=store,
    )


def chunks(asked: m.ListChunks, version: int, following: Sequence[tuple[int, str]]) -> m.Chunks:
    """Return as many of the `following` chunks, (id, text), as PAGE_BYTES hold, but at least one."""
    sizes = accumulate(len(text.encode()) for _, text in following)
    page = [chunk for chunk, size in zip(following, sizes, strict=True) if size <= PAGE_BYTES] or following[:1]
    texts = [text for _, text in page]
    return m.Chunks(request=asked.request, version=version, texts=texts, last=page[-1][0] if page else asked.after)


def progress(made: Progress, request: bytes) -> m.Progress:
    """Return a job's progress as a message."""
    return m.Progress(
        request=request,
        files_done=made.files_done,
        files_total=made.files_total,
        chunks_done=made.chunks_done,
        chunks_total=made.chunks_total,
        current=notice_text(made.name),
        left_s=made.left_s,
        waiting=made.waiting,
    )


def _lines(said: Sequence[str]) -> list[str]:
    lines = [notice_text(line) for line in said[:MAX_FAILURE_LINES]]
    if len(said) > len(lines):
        lines[-1] = f"and {len(said) - len(lines) + 1} more"
    return lines


def ingested(report: Report, request: bytes) -> m.Ingested:
    """Return the result of a job as a message; of many failures, and of many notices, the first MAX_FAILURE_LINES."""
    return m.Ingested(
        request=request,
        added=report.added,
        unchanged=report.unchanged,
        replaced=report.replaced,
        skipped=report.skipped,
        chunks=report.chunks,
        embedded=report.embedded,
        seconds=report.seconds,
        embedding_s=report.embedding_s,
        failures=_lines([line for _, line in report.errors]),
        notices=_lines(report.notices),
        removed=report.removed,
    )
