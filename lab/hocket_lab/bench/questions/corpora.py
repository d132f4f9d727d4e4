"""Real documents for the retrieval benchmark, read from the open corpora; knows their layouts and nothing of search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hocket_lab.data_folder import require
from hocket_tools.train.wikitext import Document, wikitext

FOLDERS = ("wikitext2", "scifact", "lihua_world", "nq_open", "squad", "clapnq", "mtrag_un", "comp_enron_aeslc")
SQUAD = "squad/squad2_dev_half.json"
NEEDED = (
    *("wikitext2/wiki.train.tokens", "wikitext2/wiki.valid.raw", "wikitext2/wiki.test.raw", "scifact/corpus.jsonl"),
    *("scifact/queries.jsonl", "lihua_world/chats.jsonl", "nq_open/nq-open-oracle.jsonl", "nq_open/NQ-open.dev.jsonl"),
    *(SQUAD, "mtrag_un/reference.jsonl"),
)  # of the files, those whose names are known


def files(data: Path) -> list[Path]:
    """Return every file of the corpora that are read here, in a fixed order."""
    return [path for folder in FOLDERS for path in sorted((data / folder).rglob("*")) if path.is_file()]


def documents(data: Path) -> Iterator[Document]:
    """Yield every document: WikiText-2, SciFact, LiHua-World, NQ-open's gold passages, SQuAD, CLAP-NQ, MTRAG, AESLC."""
    for split in ("train.tokens", "valid.raw", "test.raw"):
        yield from wikitext(data / "wikitext2" / f"wiki.{split}")
    for row in json_lines(data / "scifact/corpus.jsonl"):
        yield Document(f"scifact/{row['_id']}", row["title"], row["text"])
    for row in json_lines(data / "lihua_world/chats.jsonl"):
        yield Document(f"lihua/{row['id']}", row["id"], row["text"])
    for number, row in enumerate(json_lines(data / "nq_open/nq-open-oracle.jsonl")):
        yield Document(f"nq/{number}", row["ctxs"][0]["title"], row["ctxs"][0]["text"])
    yield from _questions(data)
    yield from _mails(data / "comp_enron_aeslc")


def reading_questions(data: Path, number: int) -> list[tuple[str, str]]:
    """Return (question, passage that answers it): the first answerable one of each of SQuAD's first paragraphs.

    Raises BadRequest if the corpus is missing.
    """
    require(data, SQUAD)
    articles = json.loads((data / SQUAD).read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    answerable = ([qa for qa in paragraph["qas"] if not qa["is_impossible"]] for paragraph in paragraphs)
    pairs = [(qas[0]["question"], own["context"]) for own, qas in zip(paragraphs, answerable, strict=True) if qas]
    return pairs[:number]


def window(document: Document, words: int) -> Document:
    """Return the document from its word number `words` on: its chunks overlap the original's."""
    start = next((m.end() for n, m in enumerate(re.finditer(r"\S+\s*", document.text), 1) if n == words), None)
    return Document(f"{document.name}+{words}", document.title, document.text[start:] if start else "")


def json_lines(path: Path) -> Iterator[Any]:
    """Yield the objects of a JSON-lines file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _questions(data: Path) -> Iterator[Document]:
    articles = json.loads((data / SQUAD).read_text(encoding="utf-8"))["data"]
    for number, article in enumerate(articles):
        text = "\n\n".join(paragraph["context"] for paragraph in article["paragraphs"])
        yield Document(f"squad/{number}", article["title"], text)
    for kind in ("answerable", "unanswerable"):
        for row in json_lines(data / f"clapnq/clapnq_dev_{kind}.jsonl"):
            yield Document(f"clapnq/{row['id']}", row["passages"][0]["title"], row["passages"][0]["text"])
    passages = {c["document_id"]: c for row in json_lines(data / "mtrag_un/reference.jsonl") for c in row["contexts"]}
    for name, passage in passages.items():
        yield Document(f"mtrag/{name}", passage.get("title") or name, passage["text"])


def _mails(folder: Path) -> Iterator[Document]:
    for split in ("dev", "test"):
        for row in json_lines(folder / f"{split}.jsonl"):
            yield Document(f"mail/{row['id']}", row["subject"], row["body"])
