"""Citations of an answer: its sources with their texts, and the sentences that come from each.

Shares are those of device and cloud: a passage's part in the probability of the tokens that were chosen. A sentence is
annotated with the passage that has the largest part in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hocket_bus.messages import Done, Origin

from .marks import Marks
from .sentences import first_letter, sentences

MIN_SHARE = 0.0005  # what is less is shown as 0.0 %


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer comes from. `spans` are the sentences of the answer that it contributes most to."""

    origin: Origin
    url: str
    text: str  # of the passage; empty where it is not this device's
    spans: tuple[tuple[int, int], ...]

    @property
    def title(self) -> str:
        """Return the document's name and the place in it."""
        origin = self.origin
        return f"{origin.document}, {origin.place or f'part {origin.ordinal + 1}'}"

    def source(self) -> dict[str, Any]:
        """Return the citation as Open WebUI's event."""
        origin = self.origin
        metadata = {"source": self.url, "name": self.title, "side": origin.side, "share": origin.share}
        source = {"name": self.title, "url": self.url}
        data = {"source": source, "document": [self.text or self.title], "metadata": [metadata]}
        return {"type": "source", "data": data}

    def annotations(self) -> list[dict[str, Any]]:
        """Return the citation as OpenAI's annotations, one for each sentence."""
        named = {"url": self.url, "title": self.title}
        return [
            {"type": "url_citation", "url_citation": {**named, "start_index": start, "end_index": end}}
            for start, end in self.spans
        ]

    def result(self) -> dict[str, Any]:
        """Return the citation as Perplexity's search result, with its side and share."""
        origin = self.origin
        return {
            "title": self.title,
            "url": self.url,
            "snippet": self.text,
            "side": origin.side,
            "document": origin.document,
            "ordinal": origin.ordinal,
            "share": origin.share,
        }


def cited(
    done: Done, texts: Sequence[str], words: Mapping[tuple[str, int], str], base: str, marks: Marks
) -> list[Citation]:
    """Return an answer's sources: those that its marks name, by number, then the others, the largest share first.

    `texts` are those of its tokens, `words` the passages that are here; this device's documents are below `base`.
    """
    spans = _spans(done, texts)
    found = [
        Citation(
            origin,
            _url(origin, base if (origin.document, origin.ordinal) in words else ""),
            words.get((origin.document, origin.ordinal), "") if _is_own(origin) else "",
            tuple((marks.shifted(start), marks.shifted(end)) for start, end in spans.get(index, ())),
        )
        for index, origin in enumerate(done.sources)
        if _is_cited(origin, marks)
    ]
    return sorted(found, key=lambda citation: marks.number(citation.origin) or len(found) + 1)


def named(done: Done, marks: Marks) -> list[Origin]:
    """Return the sources that will be cited."""
    return [origin for origin in done.sources if _is_cited(origin, marks)]


def _is_cited(origin: Origin, marks: Marks) -> bool:
    return bool(origin.document) and (origin.share >= MIN_SHARE or marks.number(origin) is not None)


def _is_own(origin: Origin) -> bool:
    return origin.side == "device" and not origin.device


def document_url(base: str, name: str) -> str:
    """Return the URL at which the gateway at `base` shows a document of this device."""
    return f"{base}/documents/{quote(name, safe='')}"


def _url(origin: Origin, base: str) -> str:
    """Return the URL at which the document is shown, or a name for one that is not here."""
    passage = f"#passage-{origin.ordinal}"
    if base and _is_own(origin):
        return document_url(base, origin.document) + passage
    return f"hocket://{quote(origin.device or origin.side, safe='')}/{quote(origin.document, safe='')}{passage}"


def _spans(done: Done, texts: Sequence[str]) -> dict[int, list[tuple[int, int]]]:
    """Return the sentences by the index of the source that contributes most to each."""
    found: dict[int, list[tuple[int, int]]] = {}
    for start, end in sentences("".join(texts)):
        shares = _sums(_shares_within(done, texts, start, end))
        if shares:
            best = max(range(len(shares)), key=shares.__getitem__)
            found.setdefault(best, []).append((start, end))
    return found


def _shares_within(done: Done, texts: Sequence[str], start: int, end: int) -> list[Sequence[float]]:
    """Return the shares of the tokens that belong to a sentence."""
    at, found = 0, list[Sequence[float]]()
    for text, shares in zip(texts, done.token_sources, strict=False):
        if start <= at + first_letter(text) < end:
            found.append(shares)
        at += len(text)
    return found


def _sums(rows: Sequence[Sequence[float]]) -> list[float]:
    return [sum(column) for column in zip(*rows, strict=True)]
