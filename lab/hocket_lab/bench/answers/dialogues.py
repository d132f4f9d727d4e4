"""`hocket bench dialogues`: does a turn of a conversation over somebody's own notes find the note that it is about?

40 dialogues of 5 turns were written for it, over 71 notes of a household, its club and its firm, many of which resemble
each other. Each turn after the first is searched in three ways, as in found.py: the last turn alone, all turns joined,
and as the product does. With `answers`, a running pair is also asked that many of the last dialogues, and each of their
turns again without those before it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from rich.progress import track

from hocket_bus.messages import Done, Prompt, Turn
from hocket_client import Client, Options
from hocket_daemon.engine.settings import AUTO
from hocket_daemon.serving.search.follow_up import search_texts
from hocket_lab.bench.answers.invented import holds
from hocket_lab.bench.running.product import EMBEDDER, EMBEDDING_PRECISION, EMBEDDING_THREADS
from hocket_lab.bench.running.running import SIDES, bench_pair
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, bootstrap
from hocket_lab.reporting.sources import digest
from hocket_retrieval.config import Precision
from hocket_tools import console

LAST, JOINED, PRODUCT = "last alone", "all joined", "product"
ALONE, CONVERSATION = "asked alone", "in conversation"
KINDS = ("pronoun", "ellipsis", "back", "change", "correction")
ALL = "all kinds"
HALVES = {"all": slice(None), "tuning": slice(20), "reported": slice(20, None)}
AMONG = (2, 4)
OUTCOMES = ("right", "do not know", "wrong")
COLUMNS = ("kind", "way", "turns", "first", *(f"among_{number}" for number in AMONG), *OUTCOMES, "low", "high")

Dialogue = Sequence[Mapping[str, Any]]


def _as_asked(before: Sequence[str], last: str) -> list[str]:
    return search_texts(Prompt(query=last, turns=[Turn(query=each, answer="") for each in before]))


WAYS: dict[str, Callable[[Sequence[str], str], list[str]]] = {
    LAST: lambda _, last: [last],
    JOINED: lambda before, last: [" ".join([*before, last])],
    PRODUCT: _as_asked,
}


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    half: Annotated[str, Option("Of the dialogues; follow-ups are tuned on the first.", choices=tuple(HALVES))] = "all"
    answers: Annotated[int, Option("The last so many are asked of a running pair, too.", min=0)] = 0
    model: Annotated[str, Option("Both sides' model: a published name, a folder or a .gguf file.")] = AUTO
    max_tokens: Annotated[int, Option("Longest answer.", min=1)] = 48
    embedder: Annotated[str, Option("A name, or a folder of sentence-transformers.")] = EMBEDDER
    threads: int = EMBEDDING_THREADS
    precision: Precision = EMBEDDING_PRECISION


def run(settings: Settings, json_path: Path | None) -> bool:
    """Search, and ask, what is not in the report yet; tells whether no claim misses."""
    text = (resources.files("hocket_lab") / "bench" / "answers" / "dialogues.json").read_text(encoding="utf-8")
    data = json.loads(text)
    chosen = dict(list(enumerate(data["dialogues"], 1))[HALVES[settings.half]])
    report = Report(asdict(settings) | {"inputs": {"dialogues": digest([text])}}, json_path)
    if report.find(way=PRODUCT) is None:
        report.extend(_searched(data, chosen, settings))
    asked = dict(list(chosen.items())[max(0, len(chosen) - settings.answers) :])
    if missing := {at: turns for at, turns in asked.items() if report.find(dialogue=at, way=CONVERSATION) is None}:
        _ask(report, data, missing, settings)
    report.summary = summary(report.rows)
    claim(report)
    if json_path is not None:
        title = "The right note is found first"
        report.plot(json_path.with_suffix(".png"), "kind", "first", "way", title=title, interval=("low", "high"))
    return report.finish(COLUMNS)


def _searched(data: Mapping[str, Any], dialogues: Mapping[int, Dialogue], settings: Settings) -> Iterator[Row]:
    """Yield a row by turn and way; all notes are one collection, read and searched with the product's defaults."""
    from hocket_retrieval.collection import Collection
    from hocket_retrieval.embedding.embedder import Embedder

    embedder = Embedder(settings.embedder, settings.threads, settings.precision)
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder, Collection(Path(folder), embedder) as collection:
        collection.add((note["name"], "", note["text"]) for side in SIDES for note in data[side])
        for at, turns in track(dialogues.items(), "searching", console=console.err(), transient=True):
            for number, turn in enumerate(turns[1:], 1):
                before = [each["question"] for each in turns[:number]]
                for way, texts in WAYS.items():
                    query, *others = texts(before, turn["question"])
                    found = collection.search(query, max(AMONG), others=tuple(others)).passages
                    right = [passage.document in turn["notes"] for passage in found]
                    place = right.index(True) + 1 if any(right) else 0
                    yield _row(at, number, turn, way) | {"place": place}


def _ask(report: Report, data: Mapping[str, Any], dialogues: Mapping[int, Dialogue], settings: Settings) -> None:
    """Ask a running pair; the household's and the club's notes are on the device, the firm's in the cloud."""
    with bench_pair(model={"name": settings.model}) as pair, pair.client("device") as client:
        for side in SIDES:
            pair.ingest(side, {note["name"]: note["text"] for note in data[side]})
        for at, turns in track(dialogues.items(), "asking", console=console.err(), transient=True):
            report.extend(list(_answered(client, at, turns, settings)))


def _answered(client: Client, at: int, turns: Dialogue, settings: Settings) -> Iterator[Row]:
    """Yield greedy answers to each turn, in its conversation and alone; the first turn has none and is left out."""
    how: Options = {"temperature": 0.0, "seed": 0, "max_tokens": settings.max_tokens}
    chat = client.chat(**how)
    for number, turn in enumerate(turns):
        done = chat.ask(turn["question"]).result()
        if number:
            yield _row(at, number, turn, CONVERSATION) | _outcome(turn, done)
            yield _row(at, number, turn, ALONE) | _outcome(turn, client.ask(turn["question"], **how).result())


def _row(dialogue: int, number: int, turn: Mapping[str, Any], way: str) -> Row:
    return {"dialogue": dialogue, "turn": number + 1, "kind": turn["kind"], "way": way}


def _outcome(turn: Mapping[str, Any], done: Done) -> Row:
    return {"outcome": outcome(turn, done), "text": done.text.strip()}


def outcome(turn: Mapping[str, Any], done: Done) -> str:
    """Return one of OUTCOMES; an answer is right if it has an accepted value of each part."""
    if done.finish == "unknown":
        return "do not know"
    return "right" if all(holds(done.text, part) for part in turn["parts"]) else "wrong"


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return, by kind of turn and by way, how many found their note first and among the first few, or their outcomes.

    The interval is that of the notes found first, or of the right answers.
    """
    found = list[Row]()
    for kind in (*KINDS, ALL):
        for way in (*WAYS, ALONE, CONVERSATION):
            if mine := _of(rows, kind, way):
                row: Row = {"kind": kind, "way": way, "turns": len(mine)}
                found.append(row | _shares(mine))
    return found


def _shares(rows: Sequence[Row]) -> Row:
    if "place" in rows[0]:
        first = _first(rows)
        among: Row = {
            f"among_{number}": fmean(0 < int(row["place"] or 0) <= number for row in rows) for number in AMONG
        }
        low, high = bootstrap(first)
        return {"first": fmean(first), **among, "low": low, "high": high}
    counts: Row = {each: sum(row["outcome"] == each for row in rows) for each in OUTCOMES}
    low, high = bootstrap([float(row["outcome"] == "right") for row in rows])
    return {**counts, "low": low, "high": high}


def claim(report: Report) -> None:
    """Claim that the product's way finds as many notes first as any other, and that conversations answer more turns."""
    report.claims.clear()
    for kind in (*KINDS, ALL):
        ours, last, joined = (_first(_of(report.rows, kind, way)) for way in (PRODUCT, LAST, JOINED))
        if ours:
            shown = f"{fmean(ours):.3f}; {LAST} {fmean(last):.3f}, {JOINED} {fmean(joined):.3f}"
            is_met = fmean(ours) >= max(fmean(last), fmean(joined))
            report.claim(f"{kind}: the right note first", "not below either other way", shown, is_met)
    asked, alone = ([row["outcome"] for row in _of(report.rows, ALL, way)] for way in (CONVERSATION, ALONE))
    if asked:
        right, right_alone = asked.count("right"), alone.count("right")
        shown = f"{right} of {len(asked)}, {ALONE} {right_alone}"
        report.claim(f"right answers {CONVERSATION}", f"more than {ALONE}", shown, right > right_alone)


def _of(rows: Sequence[Row], kind: str, way: str) -> list[Row]:
    return [row for row in rows if row["way"] == way and kind in (ALL, row["kind"])]


def _first(rows: Sequence[Row]) -> list[float]:
    return [float(row["place"] == 1) for row in rows]
