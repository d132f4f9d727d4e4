"""`hocket bench newcomer`: the first questions of somebody who tries hocket with their own notes, and the outcomes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from rich.progress import track

from hocket_bus.messages import Done, Side, Turn
from hocket_client import Client, Stream
from hocket_daemon.engine.settings import AUTO
from hocket_lab.bench.answers.invented import holds
from hocket_lab.bench.running.product import CONTRASTED
from hocket_lab.bench.running.running import SIDES, Tables, bench_pair
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row
from hocket_lab.reporting.sources import digest
from hocket_tools import console

NOW, BEFORE = "now", "before"
ARMS = (BEFORE, NOW)
GREEDY = "greedy"
UNANSWERABLE = ("not read", "not in the note")
OUTCOMES = ("right", "do not know", "wrong", "invented")


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    model: Annotated[str, Option("Both sides' model: a published name, a folder or a .gguf file.")] = AUTO
    cloud: Annotated[str, Option("The cloud's model, where it is another one.")] = ""
    seeds: Annotated[int, Option("Seeds at the temperature, beside the greedy answer.", min=0)] = 3
    temperature: Annotated[float, Option("Of the answers that are drawn.", min=0)] = 0.7
    contrast: Annotated[float, Option("How strongly passages are set against the question.", min=0)] = CONTRASTED
    max_tokens: Annotated[int, Option("Longest answer.", min=1)] = 48
    arms: Annotated[
        Sequence[str],
        Option(
            "now; before: no contrast, no conversation, always an answer, small talk as any question.", choices=ARMS
        ),
    ] = ARMS


def run(settings: Settings, json_path: Path | None) -> bool:
    """Ask all questions in each arm, greedily and at the temperature; tells whether no claim misses."""
    text = (resources.files("hocket_lab") / "bench" / "answers" / "newcomer.json").read_text(encoding="utf-8")
    data = json.loads(text)
    report = Report(asdict(settings) | {"inputs": {"questions": digest([text])}}, json_path)
    drawn = [GREEDY, *(str(seed) for seed in range(settings.seeds))]
    for arm in settings.arms:
        missing = [one for one in drawn if len(_of(report.rows, arm, one)) < len(data["questions"])]
        if missing:
            _measure(report, data, arm, missing, settings)
    detail, report.rows = report.rows, summary(report.rows)
    _claim(report)
    report.show()
    report.rows = detail
    report.write()
    return all(claim["holds"] is not False for claim in report.claims)


def _measure(report: Report, data: dict[str, Any], arm: str, drawn: Sequence[str], settings: Settings) -> None:
    contrast = settings.contrast if arm == NOW else 0.0
    tables: Mapping[Side, Tables] = {
        "device": {"aggregation": {"contrast": contrast}},
        "cloud": {"model": {"name": settings.cloud or settings.model}},
    }
    with bench_pair(model={"name": settings.model}, sides=tables) as pair, pair.client("device") as client:
        for side in SIDES:
            pair.ingest(side, {document["name"]: document["text"] for document in data[side]})
        for one in drawn:
            for question in track(data["questions"], f"{arm}, {one}", console=console.err(), transient=True):
                if report.find(id=question["id"], arm=arm, drawn=one) is None:
                    done = _asked(client, question, arm, one, settings)
                    report.add(_row(question, arm, one, done))


def _asked(client: Client, question: Mapping[str, Any], arm: str, drawn: str, settings: Settings) -> Done:
    def ask(text: str, turns: Sequence[Turn] = ()) -> Stream:
        return client.ask(
            text,
            turns=list(turns),
            seed=0 if drawn == GREEDY else int(drawn),
            temperature=0.0 if drawn == GREEDY else settings.temperature,
            max_tokens=settings.max_tokens,
            unknown="say" if arm == NOW else "mark",
        )

    turns = list[Turn]()
    if arm == NOW and "after" in question:
        turns.append(Turn(query=question["after"], answer=ask(question["after"]).result().text))
    return ask(question["question"], turns).result()


def _row(question: Mapping[str, Any], arm: str, drawn: str, done: Done) -> Row:
    named = [done.text[span.start : span.end] for span in done.unsupported]
    return {
        "id": question["id"],
        "kind": question["kind"],
        "arm": arm,
        "drawn": drawn,
        "outcome": outcome(question, done),
        "text": done.text.strip(),
        "unsupported": ", ".join(named),
    }


def outcome(question: Mapping[str, Any], done: Done) -> str:
    """Return one of OUTCOMES; any answer to what the notes do not say is invented, as is a wrong one with own words.

    An answer with the right value does not count as right if it also has a number that no note has, or what it is
    `never` to say. Small talk is right if no document is drawn into it.
    """
    said_unknown = done.finish == "unknown"
    if question["kind"] in UNANSWERABLE:
        return "right" if said_unknown else "invented"
    if said_unknown:
        return "do not know"
    if question["kind"] == "small talk":
        return "wrong" if done.sources else "right"
    own = [done.text[span.start : span.end] for span in done.unsupported]
    is_right = all(holds(done.text, part) for part in question["parts"])
    if is_right and not holds(done.text, question.get("never", ())) and not any(map(_has_digit, own)):
        return "right"
    return "invented" if own else "wrong"


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return the number of questions by outcome, for each arm and way of drawing."""
    found = list[Row]()
    for arm, drawn in dict.fromkeys((str(row["arm"]), str(row["drawn"])) for row in rows):
        mine = _of(rows, arm, drawn)
        row: Row = {"arm": arm, "drawn": drawn, "questions": len(mine)}
        row |= {each: sum(one["outcome"] == each for one in mine) for each in OUTCOMES}
        found.append(row)
    return found


def _of(rows: Sequence[Row], arm: str, drawn: str) -> list[Row]:
    return [row for row in rows if (row["arm"], row["drawn"]) == (arm, drawn)]


def _claim(report: Report) -> None:
    """Claim from the summary's rows that, however drawn, no fewer answers are right than before, no more invented."""
    report.claims.clear()
    counts = {(row["arm"], row["drawn"]): row for row in report.rows}
    for (arm, drawn), row in counts.items():
        if arm == NOW and (BEFORE, drawn) in counts:
            for what, sign in (("right", 1), ("invented", -1)):
                now, before = (int(each[what] or 0) for each in (row, counts[BEFORE, drawn]))
                shown = f"{now} of {row['questions']}, before {before}"
                report.claim(f"{drawn}: {what}", "no worse than before", shown, sign * now >= sign * before)
