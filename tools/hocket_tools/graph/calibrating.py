"""The calibration of a device's gate by the user's own questions about the device's documents."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Passages, Search
from hocket_daemon.graph.calibration import calibrate
from hocket_daemon.graph.gate import Calibration, inputs, metric
from hocket_tools.caller import Caller

MIN_QUESTIONS = 20


class Labelled(NamedTuple):
    """A question, and the document that answers it; empty where none at home does."""

    question: str
    document: str


class Calibrated(NamedTuple):
    """A calibration, and its effect on the questions that it was made of."""

    calibration: Calibration
    kept: int
    kept_without: int
    questions: int


def read(path: Path) -> list[Labelled]:
    """Return the questions of a file, each line a JSON object with `question` and `document`. Raises BadRequest."""
    found = list(_lines(path))
    if len(found) < MIN_QUESTIONS:
        text = f"{path} has {len(found)} questions"
        raise BadRequest(text, f"give at least {MIN_QUESTIONS}, also some that no document here answers")
    return found


def calibrated(caller: Caller, questions: list[Labelled], passages: int, risk: float) -> Calibrated:
    """Search for each question and choose a threshold. Raises BadRequest where none keeps the risk."""
    given, labels, scorer = [], [], ""
    for question, document in questions:
        search = Search(request=os.urandom(16), query=question, k=passages)
        found = caller.ask(search, Passages, 30.0)
        scorer = found.scorer
        given.append(inputs(question, found))
        labels.append(bool(document) and any(_is(each.document, document) for each in found.passages))
    chosen = calibrate(scorer, given, labels, risk)
    if chosen.threshold == 1.0:
        text = f"no threshold keeps the risk at {risk:g} with 95 % confidence on {len(questions)} questions"
        raise BadRequest(text, f"give more questions; {sum(labels)} of these find their document now")
    kept = [metric(each, chosen) >= chosen.threshold for each in given]
    without = sum(each and not label for each, label in zip(kept, labels, strict=True))
    return Calibrated(chosen, sum(kept), without, len(questions))


def _lines(path: Path) -> Iterator[Labelled]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise BadRequest(f"{path}: {why}", "name a file of questions, one JSON object a line") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            question, document = row["question"], row.get("document") or ""
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            wanted = 'write {"question": "…", "document": "notes.txt"}, without a document where none answers it'
            raise BadRequest(f"{path}, line {number} is not a question", wanted) from error
        yield Labelled(str(question), str(document))


def _is(name: str, wanted: str) -> bool:
    """Tell whether `wanted` means a document, by its path or by the name of its file."""
    return name == wanted or PurePath(name).name == wanted
