"""Part `quality`: DiSCo's Eq. 7, min(Q_A, Q_B) <= Q_M <= max(Q_A, Q_B), over real questions with documents.

Both sides have one model and each its own documents, which hold the answers to its half of the questions. Q is the
share of answers that contain the accepted one: of each side alone, and of answers that the first side begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from hocket_bus.messages import Side, other
from hocket_client import Client
from hocket_lab.bench.live.timed import ask
from hocket_lab.bench.questions.question_sets import Question, questions
from hocket_lab.bench.questions.wording import contains
from hocket_lab.bench.running.product import DOCUMENTS
from hocket_lab.bench.running.running import SIDES, BenchPair, bench_pair
from hocket_lab.reporting.report import Report, Row, bootstrap

PART = "quality"
CAPS = (0, 4, 16, 64)


@dataclass(frozen=True)
class Asking:
    """Parameters of part `quality`."""

    model: str  # both sides'
    each: int  # questions from each side's documents
    tokens: int  # of the longest answer
    passages: int  # that each side has read, those that hold the answers first
    half: str  # which of SQuAD's articles
    seed: int

    def measure(self, report: Report, data: Path, done: Callable[[], None]) -> None:
        """Add a row for each question, first side and cap that is missing."""
        numbers = dict.fromkeys(("squad device", "squad cloud"), self.each) | {"two-sided": 0, "chats": 0}
        asked = questions(data, self.half, numbers, self.seed)
        # With a cap of 0 tokens the other side writes all.
        cases = [(at, first, cap) for at in range(len(asked)) for first in SIDES for cap in CAPS]
        missing = [
            (at, first, cap) for at, first, cap in cases if report.find(part=PART, id=at, first=first, cap=cap) is None
        ]
        if not missing:
            return
        settings: dict[str, Any] = {"name": self.model, "context": 2048}
        with (
            bench_pair(stored=True, model=settings, sides={"device": {"dispatch": {"migration": "stop"}}}) as pair,
            pair.client("device") as client,
        ):
            for side in SIDES:
                texts = enumerate(read(asked, side, self.passages))
                pair.ingest(side, {f"passage-{at:04}.txt": text for at, text in texts})
            for at, first, cap in missing:
                row: Row = {"part": PART, "id": at, "first": first, "cap": cap}
                script = (
                    f"{first},{cap}:{other(first)}" if cap else other(first)
                )  # a cap of 0 tokens: the other side alone
                report.add(row | _answer(pair, client, asked[at], script, self.tokens))
                done()


def read(asked: Sequence[Question], side: Side, number: int) -> list[str]:
    """Return a side's passages that hold answers, and others of its up to `number`."""
    gold = dict.fromkeys(part.gold for question in asked if question.of == f"squad {side}" for part in question.parts)
    others = (text for question in asked[:1] for text in (question.device if side == "device" else question.cloud))
    return [*gold, *dict.fromkeys(text for text in others if text not in gold)][: max(number, len(gold))]


def _answer(pair: BenchPair, client: Client, question: Question, script: str, tokens: int) -> Row:
    timed = ask(
        pair, client, question.text, script, task="answer", temperature=0.0, max_tokens=tokens, documents=DOCUMENTS,
        seed=0, deadline_s=600.0,
    )  # fmt: skip
    return {
        "set": question.of,
        "right": all(contains(timed.done.text, part.answers) for part in question.parts),
        "moved_at": timed.migrations[0].step if timed.migrations else None,
        "tokens": len(timed.ids),
        "text": timed.done.text.strip(),
    }


def claim(report: Report) -> list[Row]:
    """Claim, for each first side and cap, whether Eq. 7 holds, fails or cannot be told; return shares and intervals."""
    right = {
        (row["first"], row["cap"], row["id"]): float(bool(row["right"])) for row in report.rows if row["part"] == PART
    }
    shown: list[Row] = []
    for first in SIDES:
        for cap in CAPS:
            mine = [
                at
                for at in dict.fromkeys(key[2] for key in right)
                if all((one, each, at) in right for one in SIDES for each in (0, cap))
            ]
            if not mine:
                continue
            mixed = [right[first, cap, at] for at in mine]
            low, high = bootstrap(mixed)
            shown.append(
                {"part": PART, "case": f"{first} first, {cap} tokens", "figure": "right answers",
                 "value": fmean(mixed), "beside": f"[{low:.2f}, {high:.2f}], n {len(mine)}"}
            )  # fmt: skip
            if cap:
                alone = [[right[other(side), 0, at] for at in mine] for side in SIDES]
                holds, found = bounded(mixed, *alone)
                report.claim(f"Eq. 7, {first} first, {cap} tokens, n {len(mine)}", "min <= Q <= max", found, holds)
    return shown


def bounded(mixed: Sequence[float], device: Sequence[float], cloud: Sequence[float]) -> tuple[bool | None, str]:
    """Tell whether the mean of `mixed` is between the others', by question, and in words; None if it cannot be told.

    It holds where no 95 % interval of the difference to either bound reaches beyond it, and fails where one lies
    beyond.
    """
    low, high = sorted((device, cloud), key=fmean)
    above, below = (
        bootstrap([a - b for a, b in zip(more, less, strict=True)]) for more, less in ((mixed, low), (high, mixed))
    )
    words = f"{fmean(mixed):.3f}, between {fmean(low):.3f} and {fmean(high):.3f}"
    if above[1] < 0 or below[1] < 0:
        return False, f"{words}: fails"
    if above[0] >= 0 and below[0] >= 0:
        return True, f"{words}: holds"
    return None, f"{words}: cannot be told"
