"""Made-up facts in the cloud's documents of a running pair, typed by a client: is the value suggested, and from where?

Each fact is typed word by word: in its document's words, in others, and in its own without memory. After the last word
the client waits until the cloud's memory has come and nothing more comes; then the suggestion is judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from statistics import fmean

from rich.progress import track

from hocket_bus.messages import Remembered, Suggestion
from hocket_client import Client
from hocket_client.composer import Composer, News
from hocket_lab.bench.running.running import bench_pair
from hocket_lab.reporting.report import Report, Row, bootstrap
from hocket_tools import console

from .facts import Fact, is_right

OWN, OTHER, WITHOUT = "own words", "other words", "without memory"
WAYS = (OWN, OTHER, WITHOUT)
TARGETS = ((OWN, ">= 0.8"), (OTHER, ">= 0.5"), (WITHOUT, "<= 0.05"))
NAMED = 0.95
MEMORY_S = 10.0  # within which the cloud's memory comes, or counts as missing
COLUMNS = ("way", "facts", "found", "right", "low", "high", "named", "alone")


def measure(report: Report, facts: Sequence[Fact], model: str, word_s: float) -> None:
    """Type what is not in the report yet; `word_s` seconds pass after each word."""
    todo = [(fact, way) for fact in facts for way in WAYS if report.find(document=fact.name, way=way) is None]
    if not todo:
        return
    with bench_pair(model={"name": model}) as pair:
        pair.ingest("cloud", {fact.name: fact.document for fact in facts})
        with pair.client("device") as client:
            for fact, way in track(todo, "typing", console=console.err(), transient=True):
                report.add(_typed(client, fact, way, word_s))


def _typed(client: Client, fact: Fact, way: str, word_s: float) -> Row:
    beginning = fact.beginning(own=way != OTHER)
    news: list[News] = []
    with client.compose(memory=way != WITHOUT) as composer:
        for end in (at + 1 for at, letter in enumerate(beginning) if letter == " "):
            composer.update(beginning[:end])
            news += composer.events(word_s if way != WITHOUT else 0)
        found = composer.wait(MEMORY_S) if way == WITHOUT else _at_rest(composer, news)
    takeaways = [takeaway for each in news if isinstance(each, Remembered) for takeaway in each.takeaways]
    text = found.text.strip() if found is not None else ""
    sources = [PurePath(source.document).name for source in found.sources] if found is not None else []
    return {
        "document": fact.name,
        "way": way,
        "typed": beginning.strip(),
        "value": fact.value,
        "found": any(fact.value in takeaway.text for takeaway in takeaways),
        "right": is_right(text, fact.value),
        "named": fact.name in sources,
        "alone": sources == [fact.name],
        "suggested": text,
    }


def _at_rest(composer: Composer, news: list[News]) -> Suggestion | None:
    """Return the suggestion once the cloud's memory has come and nothing came for as long as four suggestions took."""
    for event in () if _remembered(news) else composer.events(MEMORY_S):
        news.append(event)
        if _remembered(news):
            break
    while coming := list(composer.events(_patience_s(news))):
        news += coming
    return composer.suggestion


def _patience_s(news: Sequence[News]) -> float:
    longest_ms = max((each.ms for each in news if isinstance(each, Suggestion)), default=0.0)
    return 0.5 + 4 * longest_ms / 1000


def _remembered(news: Sequence[News]) -> bool:
    return any(isinstance(each, Remembered) and each.side == "cloud" for each in news)


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return, by way, the shares of facts whose sentence came, whose value is suggested and whose source is named."""
    return [_summed(way, mine) for way in WAYS if (mine := [row for row in rows if row["way"] == way])]


def _summed(way: str, rows: Sequence[Row]) -> Row:
    right = [float(bool(row["right"])) for row in rows]
    low, high = bootstrap(right)
    shown = [row for row in rows if row["right"]]
    return {
        "way": way,
        "facts": len(rows),
        "found": fmean(bool(row["found"]) for row in rows),
        "right": fmean(right),
        "low": low,
        "high": high,
        "named": fmean(bool(row["named"]) for row in shown) if shown else None,
        "alone": fmean(bool(row["alone"]) for row in shown) if shown else None,
    }


def claim(report: Report) -> None:
    """Claim how often the value is right in each way, and how often its document is named."""
    report.claims.clear()
    for way, target in TARGETS:
        right = [bool(row["right"]) for row in report.rows if row["way"] == way]
        sign, bound = target.split()
        share = fmean(right) if right else 0.0
        holds = share >= float(bound) if sign == ">=" else share <= float(bound)
        found = (share, holds) if right else ("none typed", None)
        report.claim(f"{way}: value right", target, *found)
    named = [bool(row["named"]) for row in report.rows if row["right"] and row["way"] != WITHOUT]
    share = fmean(named) if named else 0.0
    name = "source named where the value is right"
    report.claim(name, f">= {NAMED:g}", *((share, share >= NAMED) if named else ("none right", None)))
