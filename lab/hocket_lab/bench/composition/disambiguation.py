"""Facts that are nearly alike, typed into a running pair: whose value is suggested, its own or another one's?

Each fact is typed word by word, and judged REST_S after its last word. Then those of the device are typed into a pair
whose policy lets nothing leave for memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.progress import track

from hocket_bus.messages import Side, Suggestion
from hocket_client import Client
from hocket_lab.bench.running.running import Tables, bench_pair
from hocket_lab.reporting.report import Report, Row
from hocket_tools import console

from .confusable import SETS, ConfusableFact, Set, make_confusable

WORD_S, REST_S = 0.2, 8.0
LEAST = {"cloud": 0.75, "device": 0.9, "alone": 0.9}  # of the facts, whose value is shown
MOST_OTHERS = 1  # values of another fact, of all facts


@dataclass(frozen=True)
class Judged:
    """The verdict on a fact's suggestion: has it the fact's value, has it another one's, and is the document named?"""

    right: bool
    other: bool
    named: bool

    @classmethod
    def of(cls, fact: ConfusableFact, shown: Suggestion | None, facts: Sequence[ConfusableFact]) -> Judged:
        """Judge the suggestion, if any is shown, by whole words."""
        text = shown.text if shown is not None else ""
        right = _has(text, fact.value)
        other = any(_has(text, each.value) for each in facts if each is not fact)
        documents = [source.document for source in shown.sources] if shown is not None else []
        return cls(right, other, right and any(each.endswith(fact.document) for each in documents))


def measure(confidence: float, model: str, which: Set, seed: int) -> Row:
    """Measure both pairs, one after the other; count each side's facts shown, others' values and documents named."""
    facts, documents = make_confusable(SETS[which], seed)
    private = [fact for fact in facts if fact.side == "device"]
    found = {side: list[Judged]() for side in LEAST}
    judged = _typed(facts, facts, documents, confidence, model, memory=True)
    for fact, one in zip(facts, judged, strict=True):
        found[fact.side].append(one)
    found["alone"] = _typed(private, facts, documents, confidence, model, memory=False)
    row: Row = {}
    for side, all_ in found.items():
        row |= {f"{side}_facts": len(all_), f"{side}_right": sum(one.right for one in all_)}
    each = [one for all_ in found.values() for one in all_]
    return row | {"others": sum(one.other for one in each), "named": sum(one.named for one in each)}


def claim(report: Report, row: Row) -> None:
    """Claim the facts shown, the sources named, and the values of other facts, with one confidence."""
    for side, least in LEAST.items():
        right, of = int(row[f"{side}_right"] or 0), int(row[f"{side}_facts"] or 0)
        name = "the device's, nothing leaving for memory" if side == "alone" else f"the {side}'s"
        report.claim(f"facts of several alike shown, {name}", f">= {least * of:g} of {of}", right, right >= least * of)
    right, named = sum(int(row[f"{side}_right"] or 0) for side in LEAST), int(row["named"] or 0)
    report.claim("their documents named", f"{right}", named, named == right)
    others = int(row["others"] or 0)
    report.claim("values of another fact shown", f"<= {MOST_OTHERS}", others, others <= MOST_OTHERS)


def _typed(
    typed: Sequence[ConfusableFact],
    facts: Sequence[ConfusableFact],
    documents: Mapping[Side, Mapping[str, str]],
    confidence: float,
    model: str,
    *,
    memory: bool,
) -> list[Judged]:
    sides: dict[Side, Tables] = {"device": {"composition": {"confidence": confidence}, "egress": {"memory": memory}}}
    with bench_pair(model={"name": model}, sides=sides) as pair, pair.client("device") as client:
        for side, read in documents.items():
            pair.ingest(side, read)
        shown = track(typed, f"typing facts, {confidence:g}", console=console.err(), transient=True)
        return [Judged.of(fact, _shown(client, fact.typed), facts) for fact in shown]


def _shown(client: Client, text: str) -> Suggestion | None:
    with client.compose() as composer:
        for end in (match.end() for match in re.finditer(r"\S+\s*", text)):
            composer.update(text[:end])
            for _ in composer.events(WORD_S):
                pass
        for _ in composer.events(REST_S):
            pass
        return composer.suggestion


def _has(text: str, value: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(value)}(?![\w-])", text) is not None
