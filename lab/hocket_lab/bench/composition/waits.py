"""A running pair beside the replay: how often it asks for memory with each τ, and what waiting for it would cost.

Pages are typed word by word, each word once the memory that the last one asked for has come.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from statistics import median

from rich.progress import track

from hocket_bus.errors import Unavailable
from hocket_bus.messages import Remembered, Suggestion
from hocket_client import Client
from hocket_client.composer import Composer
from hocket_daemon.composition.coordinator import Threshold
from hocket_lab.bench.running.running import bench_pair
from hocket_lab.reporting.report import Report, Row
from hocket_tools import console

from .pages import Corpus, Page

WORDS = 100  # of a page that are typed
RTT_S = 0.15
FASTER = 5.0  # than waiting for an extract, at least
PAPER = 138.3  # HybridRAG: than waiting for passages and takeaways of GPT-3
GENERATORS = ("extractive", "model")
WAIT_S = 30.0
POLL_S = 0.1  # rarely: the device answers before it works
COUNTED, ANSWERED = "composition_memory_requests_total", "composition_memory_replies_total"


def beginning(page: Page) -> str:
    """Return the words of a page that are typed into the pair."""
    return " ".join(page.lead.split()[:WORDS])


def count(report: Report, corpus: Corpus, taus: Mapping[str, Threshold], model: str) -> None:
    """Count how often the pair asks for memory for each page, with each τ that is not in the report yet."""
    for name, tau in taus.items():
        todo = [page for page in corpus.pages if report.find(live=name, document=page.name) is None]
        if not todo:
            continue
        with bench_pair(model={"name": model}, sides={"device": {"composition": {"distance": tau}}}) as pair:
            pair.ingest("cloud", corpus.read)
            with pair.client("device") as client:
                for page in track(todo, f"typing, τ = {name}", console=console.err(), transient=True):
                    report.add({"live": name, "document": page.name, "requests": _requests(client, page)})


def _requests(client: Client, page: Page) -> int:
    before, text = client.status().metrics[COUNTED], beginning(page)
    with client.compose() as composer:
        for blank in re.finditer(r" |\Z", text):
            composer.update(text[: blank.end()])
            _settle(client)
    return round(client.status().metrics[COUNTED] - before)


def _settle(client: Client) -> None:
    """Wait until every request is answered. Raises Unavailable."""
    deadline_s = time.monotonic() + WAIT_S
    while (metrics := client.status().metrics)[COUNTED] != metrics[ANSWERED]:
        if time.monotonic() > deadline_s:
            raise Unavailable("the cloud answers no request for memory", "that is a fault of its own: run it again")
        time.sleep(POLL_S)


def wait(report: Report, corpus: Corpus, model: str) -> None:
    """Measure the seconds to a suggestion as it comes, and to one that waits for its memory, for each generator."""
    for generator in GENERATORS:
        todo = [page for page in corpus.pages if report.find(generator=generator, document=page.name) is None]
        if not todo:
            continue
        with bench_pair(model={"name": model}, sides={"cloud": {"composition": {"generator": generator}}}) as pair:
            pair.ingest("cloud", corpus.read)
            pair.set_rtt(RTT_S)
            with pair.client("device") as client:
                for page in track(todo, f"waiting, {generator}", console=console.err(), transient=True):
                    report.add({"generator": generator, "document": page.name, **_waited(client, page)})


def _waited(client: Client, page: Page) -> Row:
    """Open a text and wait for a suggestion with its memory; then type one more word and time its suggestion."""
    words = beginning(page).split()
    began_s = time.monotonic()
    with client.compose(" ".join(words[:-1])) as composer:
        _with_memory(composer)
        with_s, typed_s = time.monotonic() - began_s, time.monotonic()
        composer.update(" ".join(words))
        composer.wait(WAIT_S)
        return {"waiting_s": with_s, "as_it_comes_s": time.monotonic() - typed_s}


def _with_memory(composer: Composer) -> None:
    """Wait until a suggestion has come after the cloud's memory. Raises Unavailable."""
    has_come = False
    for event in composer.events(WAIT_S):
        has_come |= isinstance(event, Remembered) and event.side == "cloud"
        if has_come and isinstance(event, Suggestion) and event.memory_age_s > 0:
            return
    raise Unavailable("no memory has come", "that is a fault of its own: run it again")


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return the medians of both ways by generator, and how many times longer waiting takes."""
    found: list[Row] = []
    for generator in GENERATORS:
        mine = [row for row in rows if row.get("generator") == generator]
        if mine:
            waiting, comes = (median(float(row[way] or 0) for row in mine) for way in ("waiting_s", "as_it_comes_s"))
            found.append({"tau": f"waiting, {generator}", "pages": len(mine), "waiting_ms": 1000 * waiting,
                          "as_it_comes_ms": 1000 * comes, "ratio": waiting / comes})  # fmt: skip
    return found


def claim(report: Report, replayed: Mapping[tuple[str, str], int]) -> None:
    """Claim that the pair asks as often as the replay, and that waiting for an extract takes many times longer."""
    live = [row for row in report.rows if "live" in row]
    equal = sum(row["requests"] == replayed[str(row["live"]), str(row["document"])] for row in live)
    if live:
        report.claim("texts for which the pair asks as often as the replay", f"{len(live)}", equal, equal == len(live))
    for row in summary(report.rows)[:1]:
        name = f"waiting for an extract over not waiting, times (paper: {PAPER:g}, with GPT-3)"
        report.claim(name, f">= {FASTER:g}", float(row["ratio"] or 0), float(row["ratio"] or 0) >= FASTER)
