"""Correctness of answers: a group whose passages stay where they are, beside all others who could answer.

Each device searches its own documents. The group writes from its drafts, by the daemons' own law in this process
(parties.py). It is compared with every device alone, of which the best is known only afterwards. It is also compared
with one side that reads the best passages of all devices, as `graph` sends them, and with one that searches all
documents in one place.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean

from rich.progress import Progress

from hocket_bus.messages import DEFAULT_WEIGHTS, Weights
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_lab.bench.group.model import opened
from hocket_lab.bench.group.worlds import MTRAG, PARTS, SETS, Asked, World
from hocket_lab.bench.parties.parties import Parties, Texts
from hocket_lab.bench.questions.wording import contains, f1
from hocket_lab.bench.running.product import DOCUMENTS
from hocket_lab.reporting.report import Report, Row, bootstrap
from hocket_retrieval.collection import Collection
from hocket_tools import console
from hocket_tools.embedding import RememberingEmbedder
from hocket_tools.train.wikitext import Document

GROUP, ALONE, PASSAGES, TOGETHER, AS_MANY = "group", "device alone", "passages", "together", "together as many"
BOUNDED = {"group 1 bit": 1.0, "group 2 bits": 2.0, "group 4 bits": 4.0}
WAYS = (GROUP, ALONE, PASSAGES, TOGETHER, AS_MANY, *BOUNDED)
BEST, HOME, KNOWING = "best device alone", "asked device alone", "first device that knows, alone"
WHO = (GROUP, BEST, KNOWING, HOME, PASSAGES, TOGETHER, AS_MANY, *BOUNDED)
COLUMNS = ("set", "who", "n", "right", "low", "high", "f1", "f1_low", "f1_high")
DEVICES = 4
AT_ONCE = 4
GREEDY = Rule(seed=0, temperature=0.0, top_p=1.0)


@dataclass(frozen=True)
class How:
    """The model of all devices, the format of its weights, and the longest answer."""

    model: str
    dtype: str
    tokens: int


@dataclass(frozen=True)
class Library:
    """Collections of a world: one for each device, and one with all documents."""

    devices: Mapping[str, Collection]
    together: Collection

    def found(self, asked: Asked) -> list[Texts]:
        """Return the passages that each device finds, the asked one first."""
        return [_texts(self.devices[device], asked, DOCUMENTS) for device in asked.devices]

    def best(self, asked: Asked) -> Texts:
        """Return the nearest passages of all devices, scored in one place."""
        texts = list(dict.fromkeys(text for own in self.found(asked) for text in own))
        scored = zip(self.together.weigh(asked.text, texts), texts, strict=True)
        return [text for _, text in sorted(scored, key=lambda each: -each[0])[:DOCUMENTS]]


@contextmanager
def libraries(worlds: Sequence[World], beside: Path | None) -> Iterator[list[Library]]:
    """Read documents with the product's embedder; store them in the folder `beside` the report, if there is one."""
    with ExitStack() as stack:
        folder = beside or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hocket-group-")))
        embedder = RememberingEmbedder()

        def read(name: str, documents: Sequence[Document]) -> Collection:
            collection = stack.enter_context(Collection(folder / name, embedder))
            texts = [(each.name, each.title, each.text) for each in documents if each.text.strip()]
            if collection.status().documents < len(texts):
                collection.add(texts)
            return collection

        yield [
            Library(
                {device: read(device, own) for device, own in world.documents.items()},
                read(f"together-{at}", [each for own in world.documents.values() for each in own]),
            )
            for at, world in enumerate(worlds)
        ]


def measure(report: Report, worlds: Sequence[World], ways: Sequence[str], how: How) -> None:
    """Add a row for each question and way, and for each device alone."""
    every = [(one, way) for world in worlds for one in world.asked for way in ways]
    missing = [each for each in every if not _known(report, *each)]
    if not missing:
        return
    beside = report.path.with_suffix(".documents") if report.path is not None else None
    with ExitStack() as stack:
        read = stack.enter_context(libraries(worlds, beside))
        model = stack.enter_context(opened(how.model, how.dtype, AT_ONCE * DEVICES * (DOCUMENTS + 1)))
        bar = stack.enter_context(Progress(console=console.err()))
        task = bar.add_task("answers", total=len(missing))
        for world, library in zip(worlds, read, strict=True):
            for first, way in product(range(0, len(world.asked), AT_ONCE), ways):
                some = [one for one in world.asked[first : first + AT_ONCE] if not _known(report, one, way)]
                report.extend(_answered(model, library, some, way, how.tokens))
                bar.advance(task, len(some))


def _known(report: Report, asked: Asked, way: str) -> Row | None:
    return report.find(set=asked.of, question=asked.text, way=way)


def _answered(model: LanguageModel, library: Library, some: Sequence[Asked], way: str, tokens: int) -> Iterator[Row]:
    """Yield the rows of a few questions, asked in one way."""
    if way != ALONE:
        yield from _written(model, library, [(one, way, "", _parties(library, one, way)) for one in some], tokens)
        return
    for at in range(DEVICES):
        yield from _written(
            model, library, [(one, way, one.devices[at], [library.found(one)[at]]) for one in some], tokens
        )


def _parties(library: Library, asked: Asked, way: str) -> list[Texts]:
    """Return the passages that each party reads."""
    if way == PASSAGES:
        return [library.best(asked)]
    if way in (TOGETHER, AS_MANY):
        return [_texts(library.together, asked, DOCUMENTS * (DEVICES if way == AS_MANY else 1))]
    return library.found(asked)


def _written(
    model: LanguageModel, library: Library, asked: Sequence[tuple[Asked, str, str, list[Texts]]], tokens: int
) -> Iterator[Row]:
    """Yield the rows of questions that are asked in the same way, of as many parties each."""
    if not asked:
        return
    way, number = asked[0][1], len(asked[0][3])
    weights: Weights = "static" if way == PASSAGES else DEFAULT_WEIGHTS  # others' passages cannot be weighed anew
    law = Parties([model] * number, library.together.weigh, tokens, weights, most_bits=BOUNDED.get(way, 0.0))
    answers = law.answers([(one.text, texts) for one, _, _, texts in asked], [GREEDY] * len(asked))
    for (one, _, device, _), steps in zip(asked, answers, strict=True):
        text = model.text([step.token for step in steps]).strip()
        yield {
            "set": one.of,
            "question": one.text,
            "way": way,
            "place": one.devices.index(device) if device else None,
            "right": fmean(contains(text, part.answers) for part in one.parts),
            "f1": fmean(f1(text, part.answers) for part in one.parts),
            "text": text,
        }


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return, by set and by who answered, the share of parts that are right, and F1, with their intervals."""
    found: list[Row] = []
    for of in SETS:
        for who in WHO:
            if mine := list(scored(rows, of, who).values()):
                right, words = ([float(row[name] or 0.0) for row in mine] for name in ("right", "f1"))
                (low, high), (f1_low, f1_high) = bootstrap(right), bootstrap(words)
                found.append(
                    {"set": of, "who": who, "n": len(mine), "right": fmean(right), "low": low, "high": high,
                     "f1": fmean(words), "f1_low": f1_low, "f1_high": f1_high}
                )  # fmt: skip
    return found


def scored(rows: Sequence[Row], of: str, who: str) -> dict[str, Row]:
    """Return a set's answers by question; the best device is the one that is right about most, then by F1."""
    alone = {HOME: 0, KNOWING: 1}
    mine = [row for row in rows if row["set"] == of and row["way"] == (ALONE if who in (BEST, *alone) else who)]
    if who in alone:
        mine = [row for row in mine if row["place"] == alone[who]]
    mine.sort(key=lambda row: (float(row["right"] or 0.0), float(row["f1"] or 0.0)))
    return {str(row["question"]): row for row in mine}


def claim(report: Report) -> None:
    """Compare the group with each other way, question by question: right parts of SQuAD's, words of MTRAG's."""
    report.claims.clear()
    for of in SETS:
        measure = "f1" if of == MTRAG else "right"
        ours = scored(report.rows, of, GROUP)
        for who in (BEST, HOME, PASSAGES, TOGETHER):
            theirs = scored(report.rows, of, who)
            gains = [
                float(mine[measure] or 0.0) - float(theirs[question][measure] or 0.0)
                for question, mine in ours.items()
                if question in theirs
            ]
            if gains:
                _claim_gain(report, f"{of}: {measure} of the group beyond {who}", gains, above=_above(of, who))


def _above(of: str, who: str) -> bool:
    """Tell whether the group must be better, not only as good: than one device where several know something."""
    return who == HOME or (who == BEST and PARTS.get(of, 1) > 1)


def _claim_gain(report: Report, name: str, gains: Sequence[float], *, above: bool) -> None:
    """Claim that the mean gain is above, or not below, 0; a loss that may be chance leaves the latter open."""
    gain, (low, high) = fmean(gains), bootstrap(gains)
    unharmed = True if gain >= 0 else False if high < 0 else None
    shown = f"{gain:+.3f} [{low:+.3f}, {high:+.3f}]"
    report.claim(name, "above 0" if above else "not below 0", shown, low > 0 if above else unharmed)


def _texts(collection: Collection, asked: Asked, number: int) -> Texts:
    return [passage.text for passage in collection.search(asked.text, number).passages]
