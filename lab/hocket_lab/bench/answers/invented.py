"""`hocket bench invented`: is the pair right where one side alone cannot be? Questions were fixed before training."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from rich.progress import track

from hocket_bus.messages import DEFAULT_WEIGHTS, Weights
from hocket_client import Client
from hocket_lab.bench.running.product import DOCUMENTS, TEMPERATURE
from hocket_lab.bench.running.running import bench_pair
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, Value
from hocket_lab.reporting.sources import digest
from hocket_tools import console

ASKERS = ("pair", "device alone", "cloud alone")
KNOWING = {"device": "device alone", "cloud": "cloud alone"}


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    max_tokens: Annotated[int, Option("Longest answer.", min=1)] = 48
    documents: Annotated[int, Option("Passages a side.", min=1)] = DOCUMENTS
    weights: Annotated[Weights, Option("How passages and sides are weighed.")] = DEFAULT_WEIGHTS
    limit: Annotated[int | None, Option("Only the first so many questions.", min=1)] = None


def run(settings: Settings, json_path: Path | None) -> bool:
    """Ask every question of the pair and of each side alone, greedily; tells whether no claim misses."""
    text = (resources.files("hocket_lab") / "bench" / "answers" / "invented.json").read_text(encoding="utf-8")
    data = json.loads(text)
    questions = data["questions"][: settings.limit]
    how = {
        "temperature": TEMPERATURE,
        "max_tokens": settings.max_tokens,
        "documents": settings.documents,
        "weights": settings.weights,
    }
    report = Report({"questions": len(questions), "inputs": {"questions": digest([text])}} | how, json_path)
    if len(report.rows) < len(questions) * len(ASKERS):
        _measure(report, data, questions, how)
    detail, report.rows = report.rows, _summary(report.rows)
    _claim(report)
    report.show()
    report.rows = detail
    report.write()
    return all(claim["holds"] is not False for claim in report.claims)


def _measure(report: Report, data: dict[str, Any], questions: Sequence[dict[str, Any]], how: dict[str, Any]) -> None:
    with bench_pair() as pair:
        for side in ("device", "cloud"):
            pair.ingest(side, {document["name"]: document["text"] for document in data[side]})
        with pair.client("device") as device, pair.client("cloud") as cloud:
            askers: dict[str, tuple[Client, bool]] = {
                "pair": (device, False),
                "device alone": (device, True),
                "cloud alone": (cloud, True),
            }
            for question in track(questions, "asking", console=console.err(), transient=True):
                for asker, (client, alone) in askers.items():
                    if report.find(id=question["id"], asker=asker) is None:
                        done = client.ask(question["question"], alone=alone, seed=0, **how).result()
                        report.add(_row(question, asker, done.text))


def _row(question: dict[str, Any], asker: str, text: str) -> Row:
    right = [holds(text, part["answers"]) for part in question["parts"]]
    return {
        "id": question["id"],
        "kind": question["kind"],
        "asker": asker,
        "text": text.strip(),
        "right": all(right),
        "first_right": right[0],
        "last_right": right[-1],
    }


def holds(text: str, accepted: Sequence[str]) -> bool:
    """Tell whether `text` contains one of the accepted values as whole words, ignoring case and spacing."""
    return any(re.search(rf"(?<!\w){re.escape(_plain(value))}(?!\w)", _plain(text)) for value in accepted)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _summary(rows: Sequence[Row]) -> list[Row]:
    kinds = ("device", "cloud", "two-part")
    return [
        {
            "kind": kind,
            "asker": asker,
            "questions": len(mine),
            "right": _share(mine, "right"),
            "first half": _share(mine, "first_right"),
            "second half": _share(mine, "last_right"),
        }
        for kind in kinds
        for asker in ASKERS
        if (mine := [row for row in rows if row["kind"] == kind and row["asker"] == asker])
    ]


def _share(rows: Sequence[Row], key: str) -> float:
    return sum(bool(row[key]) for row in rows) / len(rows)


def _claim(report: Report) -> None:
    """Add the claims from the summary's rows; kinds of questions that were not asked get no verdict."""

    def right(kind: str, asker: str) -> float:
        row = report.find(kind=kind, asker=asker)
        value: Value = row["right"] if row is not None else 0.0
        return float(value or 0.0)

    def claim(kind: str, name: str, target: str, measured: float | str, holds: bool) -> None:
        asked = report.find(kind=kind) is not None
        report.claim(f"{kind} questions, {name}", target, *((measured, holds) if asked else ("none asked", None)))

    for kind, knowing in KNOWING.items():
        alone, pair = right(kind, knowing), right(kind, "pair")
        ratio = pair / alone if alone else 0.0
        other = right(kind, ASKERS[1] if knowing == ASKERS[2] else ASKERS[2])
        claim(kind, "pair / knowing side alone", ">= 0.9", ratio, ratio >= 0.9)
        name = "pair right and the other side alone wrong"
        claim(kind, name, "pair > other", f"{pair:.2f} > {other:.2f}", pair > other)
    both = right("two-part", "pair")
    claim("two-part", "both halves right", ">= 0.5", both, both >= 0.5)
    for asker in ASKERS[1:]:
        share = right("two-part", asker)
        claim("two-part", asker, "<= 0.05", share, share <= 0.05)
