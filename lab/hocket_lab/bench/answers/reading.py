"""`hocket bench reading`: how many passages of how many words a model should read, by right answers and by cost.

The questions are those of `hocket bench newcomer`, answered greedily. Each is asked twice: what the second answer reads
was computed by the first, so it comes from stored KV.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from rich.progress import track

from hocket_bus.messages import Done, Turn
from hocket_client import Client
from hocket_daemon.engine.settings import AUTO
from hocket_lab.bench.answers.newcomer import OUTCOMES, outcome
from hocket_lab.bench.running.running import SIDES, bench_pair
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row
from hocket_lab.reporting.sources import digest
from hocket_tools import console


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    model: Annotated[str, Option("Both sides' model: a published name, a folder or a .gguf file.")] = AUTO
    words: Annotated[Sequence[int], Option("Longest passages.", min=1)] = (64, 128, 192)
    passages: Annotated[Sequence[int], Option("Passages of each side.", min=1)] = (2, 3, 4)
    questions: Annotated[int, Option("The first so many; 0: all.", min=0)] = 0
    max_tokens: Annotated[int, Option("Longest answer.", min=1)] = 48


def run(settings: Settings, json_path: Path | None) -> bool:
    """Ask all questions with each budget and show a table; it makes no claim."""
    text = (resources.files("hocket_lab") / "bench" / "answers" / "newcomer.json").read_text(encoding="utf-8")
    data = json.loads(text)
    report = Report(asdict(settings) | {"inputs": {"questions": digest([text])}}, json_path)
    questions = data["questions"][: settings.questions or None]
    for words in settings.words:
        if any(len(_of(report.rows, words, each)) < len(questions) for each in settings.passages):
            _measure(report, data, questions, words, settings)
    detail, report.rows = report.rows, summary(report.rows)
    report.show()
    report.rows = detail
    report.write()
    return True


def _measure(report: Report, data: Any, questions: Sequence[Any], words: int, settings: Settings) -> None:  # noqa: ANN401
    """Ask a pair with forward passes of twice `words` tokens: models read half as many words (engine/reading.py)."""
    with bench_pair(stored=True, model={"name": settings.model, "prefill_tokens": 2 * words}) as pair:
        for side in SIDES:
            pair.ingest(side, {document["name"]: document["text"] for document in data[side]})
        with pair.client("device") as client:
            for passages in settings.passages:
                for question in track(questions, f"{passages} x {words}", console=console.err(), transient=True):
                    if report.find(id=question["id"], words=words, passages=passages) is None:
                        report.add(_row(client, question, words, passages, settings))


def _row(client: Client, question: Mapping[str, Any], words: int, passages: int, settings: Settings) -> Row:
    turns = list[Turn]()
    if "after" in question:
        turns.append(
            Turn(query=question["after"], answer=_asked(client, question["after"], [], passages, settings)[0].text)
        )
    done, first_s = _asked(client, question["question"], turns, passages, settings)
    _, again_s = _asked(client, question["question"], turns, passages, settings)
    return {
        "id": question["id"],
        "words": words,
        "passages": passages,
        "outcome": outcome(question, done),
        "text": done.text.strip(),
        "first_ms": first_s * 1000,
        "first_stored_ms": again_s * 1000,
    }


def _asked(client: Client, question: str, turns: list[Turn], passages: int, settings: Settings) -> tuple[Done, float]:
    """Return an answer, and the seconds to its first token, or to its end if it has none."""
    began_s = time.monotonic()
    stream = client.ask(
        question, turns=turns, documents=passages, temperature=0.0, max_tokens=settings.max_tokens, unknown="say"
    )
    times_s = [time.monotonic() - began_s for _ in stream]
    return stream.result(), times_s[0] if times_s else time.monotonic() - began_s


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return the number of questions by outcome and the median times to the first token, by budget."""
    found = list[Row]()
    for words, passages in dict.fromkeys((row["words"], row["passages"]) for row in rows):
        mine = _of(rows, words, passages)
        row: Row = {"words": words, "passages": passages, "questions": len(mine)}
        row |= {each: sum(one["outcome"] == each for one in mine) for each in OUTCOMES}
        row |= {
            each: statistics.median(float(one[each] or 0) for one in mine) for each in ("first_ms", "first_stored_ms")
        }
        found.append(row)
    return found


def _of(rows: Sequence[Row], words: object, passages: object) -> list[Row]:
    return [row for row in rows if (row["words"], row["passages"]) == (words, passages)]
