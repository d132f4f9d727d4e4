"""`hocket bench shown`: what is shown to somebody who types, and how much of it is right; with and without a bound.

Real texts are typed key by key into a running pair whose cloud has read what is about them; each key waits for its
suggestion. A suggestion is right where the text goes on with all of it. `saved` are letters that a suggestion had, in
whole words, before they were typed; `wrong` are letters of suggestions that the text does not go on with, each
suggestion counted once, however many keys it stood for; `mistaken` are these suggestions. Made-up facts that are nearly
alike are typed, too, with the same bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, get_args

from rich.progress import track

from hocket_bus.messages import MAX_SUGGESTED, SUGGESTED, Side
from hocket_client import Client, Composer
from hocket_daemon.composition.settings import CompositionSettings
from hocket_daemon.engine.settings import AUTO
from hocket_lab.bench.composition import disambiguation
from hocket_lab.bench.composition.confusable import Set
from hocket_lab.bench.composition.pages import FILES_OF, Corpus, Kind, corpus
from hocket_lab.bench.live.typed import foretold
from hocket_lab.bench.running.running import Tables, bench_pair
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row
from hocket_lab.reporting.sources import digest_of_files
from hocket_tools import console

CONFUSABLE = "confusable"
KINDS: tuple[Kind, ...] = get_args(Kind)
TEXTS = (*KINDS, CONFUSABLE)
WAIT_S = 5.0  # for a suggestion
DEFAULT = CompositionSettings().confidence
RIGHT = 0.5
WRONG_OF = 40  # keys, behind which one suggestion may be wrong
COLUMNS = (
    "text", "confidence", "keys", "shown", "right", "mistaken", "saved", "wrong", "gained", "cloud_right",
    "device_right", "alone_right", "named", "others",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    keys: Annotated[int, Option("Keys of each text.", min=1)] = 2_000
    texts: Annotated[Sequence[str], Option("What is typed.", choices=TEXTS)] = TEXTS
    confidence: Annotated[
        Sequence[str], Option("Chances that a suggestion is right from which on it is shown, such as 0,0.3.")
    ] = ("0", f"{DEFAULT:g}")
    pages: Annotated[int, Option("Texts of a kind; what the cloud has read is about them.", min=1)] = 30
    model: Annotated[str, Option("Both sides' model.")] = AUTO
    tokens: Annotated[int, Option("Longest suggestion.", min=1, max=MAX_SUGGESTED)] = SUGGESTED
    facts: Annotated[Set, Option("Which alike facts; rules were chosen on others than they are shown on.")] = "shown"
    seed: Annotated[int, Option("Makes these facts.", min=0)] = 0


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Type what is not in the report yet; tells whether no claim misses."""
    inputs = digest_of_files([data / file for kind in KINDS for file in FILES_OF[kind]])
    report = Report(asdict(settings) | {"inputs": inputs}, json_path)
    for confidence in settings.confidence:
        missing = [kind for kind in settings.texts if report.find(text=kind, confidence=confidence) is None]
        for kind in missing:
            row: Row = {"text": kind, "confidence": confidence}
            report.add(row | _measured(data, kind, float(confidence), settings))
    claim(report)
    return report.finish(COLUMNS)


def claim(report: Report) -> None:
    """Claim the aims for each text that is typed with a bound."""
    report.claims.clear()
    for row in [row for row in report.rows if float(row["confidence"] or 0)]:
        if row["text"] == CONFUSABLE:
            disambiguation.claim(report, row)
            continue
        right = float(row["right"] or 0)
        report.claim(f"{row['text']}: right where shown", f">= {RIGHT:g}", right, right >= RIGHT)
        mistaken, most = int(row["mistaken"] or 0), int(row["keys"] or 0) // WRONG_OF
        target = f"<= {most}, one of {WRONG_OF} keys"
        report.claim(f"{row['text']}: wrong suggestions", target, mistaken, mistaken <= most)
        before = report.find(text=row["text"], confidence="0")
        if before is not None:
            gained, shown = (int(each["gained"] or 0) for each in (row, before))
            report.claim(
                f"{row['text']}: letters saved less wrong ones", "more", f"{gained}, before {shown}", gained > shown
            )


def _measured(data: Path, kind: str, confidence: float, settings: Settings) -> Row:
    if kind == CONFUSABLE:
        return disambiguation.measure(confidence, settings.model, settings.facts, settings.seed)
    return _typed(corpus(data, kind, settings.pages), confidence, settings)  # type: ignore[arg-type] # one of KINDS


def _typed(texts: Corpus, confidence: float, settings: Settings) -> Row:
    tables: Mapping[Side, Tables] = {"device": {"composition": {"confidence": confidence}}}
    found, left = _Counts(), settings.keys
    with bench_pair(model={"name": settings.model}, sides=tables) as pair, pair.client("device") as client:
        pair.ingest("cloud", dict(texts.read))
        for page in track(texts.pages, f"typing, {confidence:g}", console=console.err(), transient=True):
            left -= _type(client, page.lead, left, found, settings.tokens)
            if left <= 0:
                break
    return found.row()


def _type(client: Client, text: str, maximum: int, found: _Counts, tokens: int) -> int:
    """Type as much of a text as there are keys left for; return how many were pressed."""
    keys = min(maximum, len(text) - 1)
    with client.compose(tokens=tokens) as composer:
        typing = _Typing(composer, text)
        for end in range(1, keys + 1):
            typing.press(end, found)
    return keys


@dataclass
class _Counts:
    keys: int = 0
    shown: int = 0  # keys behind which anything is shown
    right: int = 0  # and all of it is what comes
    saved: int = 0
    wrong: int = 0
    mistaken: int = 0  # suggestions of which something is wrong

    def row(self) -> Row:
        return {
            "keys": self.keys,
            "shown": self.shown / self.keys,
            "right": self.right / self.shown if self.shown else 0.0,
            "mistaken": self.mistaken,
            "saved": self.saved,
            "wrong": self.wrong,
            "gained": self.saved - self.wrong,
        }


@dataclass
class _Typing:
    """A text being typed, how far suggestions foretold it, and the text as the latest suggestion would have it."""

    composer: Composer
    text: str
    covered: int = 0
    offered: str = field(default="")  # the text as the latest suggestion would have it

    def press(self, end: int, found: _Counts) -> None:
        found.keys += 1
        found.saved += end <= self.covered
        self.composer.update(self.text[:end])
        suggestion = self.composer.wait(WAIT_S)
        shown = suggestion.text if suggestion is not None else ""
        if not shown.strip():
            return
        rest, offered = self.text[end:], self.text[:end] + shown
        is_right = rest.startswith(shown)
        found.shown += 1
        found.right += is_right
        if not is_right and not self.offered.startswith(offered) and not offered.startswith(self.offered or "\0"):
            similar = next((at for at, (a, b) in enumerate(zip(shown, rest, strict=False)) if a != b), len(rest))
            found.wrong += len(shown) - similar
            found.mistaken += 1
        self.offered = offered
        self.covered = max(self.covered, end + foretold(shown, rest))
