"""The answers of the bundled models to fixed questions, as token ids in a file: `python golden.py` writes it anew.

A change that is to keep every token keeps this file.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness import ListRetrieval, pair

import hocket_models
from exact import on_cpu
from hocket_bus.messages import Passage, Passages, Search
from hocket_client import Client
from waiting import WAIT_S

FILE = Path(__file__).with_name("golden.json")
METHODS = ("coupled", "independent", "sync", "sync-both")
TEMPERATURES = (0.0, 1.0)
AT_ONCE = 4


class Shelf(ListRetrieval):
    """A retrieval daemon whose documents are the file's, ranked by the words that they share with a query."""

    def __init__(self, endpoint: str, side: str, texts: Sequence[str]) -> None:
        self._texts = texts
        super().__init__(endpoint, side)

    def score(self, query: str, document: str, scorer: str) -> float:
        asked, words = set(_words(query)), set(_words(self._texts[int(document)]))
        return len(asked & words) / (1 + len(asked))

    def answer(self, search: Search) -> Passages:
        ranked = sorted(range(len(self._texts)), key=lambda at: -self.score(search.query, str(at), ""))
        passages = [
            Passage(
                document=str(at), title="", ordinal=0, text=self._texts[at], score=self.score(search.query, str(at), "")
            )
            for at in ranked[: search.k]
        ]
        return Passages(
            request=search.request, passages=passages, scorer="list", scorers=["list"], seconds=0.0,
            documents_total=len(self._texts),
        )  # fmt: skip


def key(method: str, temperature: float) -> str:
    """The name of a row of the file."""
    return f"{method} at {temperature:g}"


def read() -> dict[str, object]:
    """The file."""
    return json.loads(FILE.read_text())  # type: ignore[no-any-return]


@contextmanager
def opened(documents: dict[str, list[str]], **device: object) -> Iterator[Client]:
    """A pair of the bundled models with these documents; `device` is what else is set there."""
    models = {side: hocket_models.path(side) for side in ("device", "cloud")}  # type: ignore[arg-type]
    with (
        on_cpu(),
        tempfile.TemporaryDirectory(prefix="hk") as folder,
        pair(Path(folder), models, start=False) as made,
    ):
        for side, texts in documents.items():
            made.stack.callback(Shelf(made.endpoint(f"{side}-retrieval"), side, texts).close)
        made.start_cloud()
        made.start_device(**device)
        client = made.client()
        client.ask(".", max_tokens=1, require_cloud=True, deadline_s=WAIT_S).result()
        yield client


def answers(
    client: Client,
    questions: Sequence[str],
    numbers: Sequence[int],
    method: str,
    temperature: float,
    mode: str = "aggregation",
) -> list[list[int]]:
    """The token ids of these questions' answers, some asked at once."""
    ids: list[list[int]] = []
    for first in range(0, len(numbers), AT_ONCE):
        streams = [
            client.ask(
                questions[n], mode=mode,
                aggregation=method, temperature=temperature, top_p=1.0 if n % 2 else 0.9, seed=4000 + n,
                weights="dynamic", max_tokens=20, ignore_eos=n % 3 == 0, documents=1 + n % 2, require_cloud=True,
                deadline_s=WAIT_S,
            )
            for n in numbers[first : first + AT_ONCE]
        ]  # fmt: skip
        ids += [stream.result().token_ids for stream in streams]
    return ids


def write() -> None:
    """Ask everything and write the file."""
    given = json.loads(Path(sys.argv[1]).read_text()) if len(sys.argv) > 1 else read()
    documents, questions = given["documents"], given["questions"]
    with opened(documents) as client:
        ids = {
            key(method, temperature): answers(client, questions, range(len(questions)), method, temperature)
            for method in METHODS
            for temperature in TEMPERATURES
        }
    rows = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in ids.items()]
    head = {"documents": documents, "questions": questions}
    text = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}") + ',\n "ids": {\n'
    FILE.write_text(text + ",\n".join(rows) + "\n }\n}\n")


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


if __name__ == "__main__":
    write()
