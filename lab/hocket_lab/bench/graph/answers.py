"""Correctness of answers by both gates: SQuAD's questions at a device that has their passage, or has not.

A cloud without documents and two devices run on this machine, and hold the paragraphs of the same articles in turn. All
questions are asked at the first device: by `auto` with either gate, by the device alone, and always of the other
device.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean, median

from rich.progress import track

from hocket_bus.messages import Done, Passages, Search
from hocket_client import Client
from hocket_client.question import Options
from hocket_daemon.graph.settings import GateSettings
from hocket_lab.bench.graph import family
from hocket_lab.bench.graph.gate import auroc
from hocket_lab.bench.questions.question_sets import Question, questions
from hocket_lab.bench.questions.wording import contains
from hocket_lab.reporting.report import Report, Row, bootstrap
from hocket_tools import console
from hocket_tools.caller import Caller
from hocket_tools.pair import trial
from hocket_tools.pair.home import NAMES, Home
from hocket_tools.pair.processes import stop
from hocket_tools.pair.temporary import temporary_home

GATES = ("evidence", "answers")
TOKENS = 40
PLACES = {"squad device": "home", "squad cloud": "another device"}
GREEDY: Options = {"temperature": 0, "max_tokens": TOKENS}
WAYS: Mapping[str, Options] = {"home": {"alone": True, **GREEDY}, "devices": {"mode": "graph", **GREEDY}}
AUTO: Options = {"mode": "auto", **GREEDY}
COLUMNS = ("who", "asked", "number", "right", "low", "high", "kept", "found", "risk", "first_token_s", "of", "auroc")


def measure(report: Report, data: Path, model: str, number: int, half: str) -> None:
    """Add a row for each question and each way of asking it."""
    asked = questions(data, half, {"squad device": number, "squad cloud": number, "two-sided": 0, "chats": 0}, 0)
    for gate in GATES:
        ways = {f"auto, {gate}": AUTO, **(WAYS if gate == GATES[0] else {})}
        if all(report.find(id=at, who=who) for at in range(len(asked)) for who in ways):
            continue
        with _running(gate, model, asked[0]) as device:
            _ask_all(report, device, asked, ways)


def summary(report: Report) -> list[Row]:
    """Return right answers with their interval and the share kept at home, by way and place, then the gates' AUROC."""
    rows = [
        _line(who, place, own)
        for who in dict.fromkeys(str(row["who"]) for row in report.rows)
        for place in PLACES.values()
        if (own := [row for row in report.rows if (row["who"], row["asked"]) == (who, place)])
    ]
    return [*rows, *(_separation(report.rows, gate, of) for gate in GATES for of in ("found", "home right"))]


def _line(who: str, place: str, own: Sequence[Row]) -> Row:
    right = [float(bool(row["right"])) for row in own]
    low, high = bootstrap(right)
    kept = [row for row in own if row["way"] == "home"]
    chose = any(row["metric"] is not None for row in own)
    return {
        "who": who,
        "asked": place,
        "number": len(own),
        "right": fmean(right),
        "low": low,
        "high": high,
        "kept": len(kept) / len(own) if chose else None,
        "found": fmean(float(bool(row["found"])) for row in own),
        "risk": fmean(float(not row["found"]) for row in kept) if chose and kept else None,
        "first_token_s": median(float(row["first_token_s"] or 0) for row in own),
    }


def _separation(rows: Sequence[Row], gate: str, of: str) -> Row:
    """Return how well a gate's metric separates the questions that home can answer.

    Home can answer a question if it found the evidence, or if its answer is right, as `of` says.
    """
    good = {row["id"] for row in rows if row["who"] == "home" and row["found" if of == "found" else "right"]}
    metrics = [(row["id"] in good, float(row["metric"] or 0)) for row in rows if row["who"] == f"auto, {gate}"]
    ours, others = ([value for is_good, value in metrics if is_good is wanted] for wanted in (True, False))
    return {"who": f"auto, {gate}", "of": of, "auroc": auroc(ours, others) if ours and others else None}


@contextmanager
def _running(gate: str, model: str, dealt: Question) -> Iterator[Home]:
    """Run a cloud and two devices; yield the asking device, whose gate is `gate`."""
    with temporary_home() as home, ExitStack() as stack:
        named = {"model.name": model}
        trial.prepare(home, 2, named, named | {"gate.gate": gate})
        devices = trial.devices(home)
        for each in (home, *devices):
            stack.callback(stop, each, list(NAMES))
        family.start(home, devices)
        for device, texts in zip(devices, (dealt.device, dealt.cloud), strict=True):
            family.read(device, "device", _documents(texts))
        family.wait_shared(devices)
        yield devices[0]


def _documents(texts: Sequence[str]) -> dict[str, str]:
    return {f"{at:04}.txt": text for at, text in enumerate(texts)}


def _ask_all(report: Report, device: Home, asked: Sequence[Question], ways: Mapping[str, Options]) -> None:
    with Client(device.listening("device")) as client, Caller(device.listening("device-retrieval")) as retrieval:
        for at, question in track(list(enumerate(asked)), "questions", console=console.err()):
            found = _found(retrieval, question)
            for who, options in ways.items():
                if report.find(id=at, who=who) is None:
                    done = client.ask(question.text, **options).result()
                    report.add(_row(at, question, done) | {"who": who, "found": found})


def _found(retrieval: Caller, question: Question) -> bool:
    """Tell whether a passage that the gate looks at has the answer and is of the paragraph known to have it."""
    search = Search(request=os.urandom(16), query=question.text, k=GateSettings().passages)
    passages = retrieval.ask(search, Passages).passages
    (part,) = question.parts
    return any(each.text in part.gold and contains(each.text, part.answers) for each in passages)


def _row(at: int, question: Question, done: Done) -> Row:
    gate = done.routing.gate if done.routing else None
    return {
        "id": at,
        "asked": PLACES[question.of],
        "right": contains(done.text, question.parts[0].answers),
        "way": done.routing.way if done.routing else None,
        "metric": gate.metric if gate else None,
        "reason": gate.reason if gate else None,
        "first_token_s": done.ttft_s,
        "text": done.text.strip(),
    }
