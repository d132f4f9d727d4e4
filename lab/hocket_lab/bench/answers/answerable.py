"""`hocket bench answerable`: can a model that has read the passages tell better than the search that none answers?

For each question it measures how likely its passages answer it according to the search, and how much likelier the best
passage makes the question. It also measures how much likelier and surer the first token of the answer becomes, and what
the model says when it is asked. Rules over these are fitted on one half and reported on the other, beside the
product's.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from hocket_bus.messages import Passages, Prompt
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.settings import KVSettings, ModelSettings
from hocket_daemon.serving.search.attributes import untold_line
from hocket_daemon.serving.search.evidence import doubt, scores_of
from hocket_lab.bench.answers.rule import Bin, area, bound, fitted, reliability
from hocket_lab.bench.answers.unknown import ANSWERABLE, CLAPNQ_UNANSWERABLE, UNANSWERABLE, UNREAD
from hocket_lab.bench.questions.corpora import SQUAD, json_lines
from hocket_lab.bench.questions.question_sets import HALVES, beginning, files, of_half, questions
from hocket_lab.bench.running.product import DOCUMENTS, EMBEDDING_PRECISION, EMBEDDING_THREADS
from hocket_lab.data_folder import require
from hocket_lab.forcing import read_at_once, rows_behind
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row
from hocket_lab.reporting.sources import digest, digest_of_files
from hocket_retrieval.service.replies import passages
from hocket_tools import console

if TYPE_CHECKING:
    from hocket_retrieval.collection import Collection

OWN = "rows and lists"
FEATURES = ("probability", "gain", "first", "surer", "asked")
RULES: Mapping[str, Sequence[str]] = {
    "search": ("probability",),
    "and gain": ("probability", "gain"),
    "and first": ("probability", "first", "surer"),
    "and asked": ("probability", "asked"),
    "all": FEATURES,
}
TODAY = "today"
LOST, SAID = 0.03, 0.6  # of questions that are answered, at most; of those that are not, at least
BINS = 10
COLUMNS = ("rule", "area", ANSWERABLE, f"{ANSWERABLE}, {OWN}", UNANSWERABLE, f"{UNANSWERABLE}, {OWN}", UNREAD)
WORDS = 64  # of a passage, as a small model reads it
_ASK = 'Can the question "{}" be answered from this passage? Say Yes or No.'
_YES, _NO = ("Yes", " Yes", "yes", " yes"), ("No", " No", "no", " no")
_LEAST, _TINY = 1e-5, 1e-12  # of probabilities: what is less is not told apart
_DEALT = {"squad device": 10, "squad cloud": 10, "two-sided": 0, "chats": 0, "clapnq": 16}
_PARAGRAPHS, _UNANSWERABLE, _UNREAD = 28, 16, 14  # of each half


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    model: Annotated[str, Option("A published name, a folder or a .gguf file.")] = "qwen2.5-coder-0.5b"
    chosen: Annotated[str, Option("The half on which rules are fitted.", choices=tuple(HALVES))] = "tuning"
    questions: Annotated[int, Option("The first so many of both halves; 0: all.", min=0)] = 0
    seed: Annotated[int, Option("Chooses the questions.", min=0)] = 0


class Asked(NamedTuple):
    """A question with its set, kind and half, the library to search for it, and its gold text or document name."""

    set: str
    kind: str
    half: str
    text: str
    library: str
    gold: str = ""


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Ask what is not in the report yet; tells whether no claim misses."""
    read = [*files(_DEALT), CLAPNQ_UNANSWERABLE]
    require(data, *read)
    inputs = {"corpora": digest_of_files([data / file for file in read]), "own": digest([_own_text()])}
    report = Report(asdict(settings) | {"inputs": inputs}, json_path)
    libraries, asked = asked_of(data, settings.seed)
    asked = asked[: settings.questions or None]
    missing = [(at, each) for at, each in enumerate(asked) if report.find(id=at) is None]
    if missing:
        for row in _measured(libraries, missing, settings):
            report.add(row)
    report.summary = summary(report.rows, settings.chosen)
    claim(report)
    return report.finish(COLUMNS)


# --- what is asked


def _own_text() -> str:
    return (resources.files("hocket_lab") / "bench" / "answers" / "answerable.json").read_text(encoding="utf-8")


def asked_of(data: Path, seed: int) -> tuple[dict[str, list[str]], list[Asked]]:
    """Return the libraries, and the questions of both halves in turn, those over rows and lists first.

    Questions of one paragraph follow each other: its KV is stored. The library of OWN is documents, not texts.
    """
    libraries, halves = dict[str, list[str]](), list[list[list[Asked]]]()
    for half in HALVES:
        rng = random.Random(seed)
        dealt = questions(data, half, _DEALT, seed)
        squad, clapnq = ([each for each in dealt if each.of.split()[0] == name] for name in ("squad", "clapnq"))
        unanswered = _clapnq(data, half)
        libraries[f"squad {half}"] = [*squad[0].device, *squad[0].cloud]
        libraries[f"clapnq {half}"] = list(dict.fromkeys([*(each.parts[0].gold for each in clapnq), *unanswered]))
        groups = _paragraphs(data, half, rng)
        groups += [
            [Asked("clapnq", ANSWERABLE, half, each.text, f"clapnq {half}", each.parts[0].gold)] for each in clapnq
        ]
        groups += [
            [Asked("clapnq", UNANSWERABLE, half, text, f"clapnq {half}", gold)]
            for gold, text in list(unanswered.items())[:_UNANSWERABLE]
        ]
        elsewhere = rng.sample(dealt, _UNREAD)
        groups += [[Asked(each.of.split()[0], UNREAD, half, each.text, OWN)] for each in elsewhere]
        rng.shuffle(groups)
        halves.append(groups)
    in_turn = [each for pair in zip(*halves, strict=True) for group in pair for each in group]
    return libraries, [*own(), *in_turn]


def own() -> list[Asked]:
    """Return questions on made-up rows, tables, lists and German notes; the documents belong to the halves in turn."""
    made = json.loads(_own_text())
    names = [document["name"] for document in made["documents"]]
    return [
        Asked(
            OWN, ANSWERABLE if each["answered"] else UNANSWERABLE, list(HALVES)[names.index(each["document"]) % 2],
            each["text"], OWN, each["document"],
        )
        for each in made["questions"]
    ]  # fmt: skip


def _paragraphs(data: Path, half: str, rng: random.Random) -> list[list[Asked]]:
    """Return groups of two questions that a SQuAD paragraph answers and two that it is about but does not answer."""
    articles = json.loads((data / SQUAD).read_text(encoding="utf-8"))["data"][HALVES[half]]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    rng.shuffle(paragraphs)
    kinds = {ANSWERABLE: False, UNANSWERABLE: True}
    asked = (
        (paragraph["context"], {kind: _of(paragraph, impossible=impossible) for kind, impossible in kinds.items()})
        for paragraph in paragraphs
    )
    enough = [(text, of) for text, of in asked if min(map(len, of.values())) > 1]
    return [
        [
            Asked("squad", kind, half, question, f"squad {half}", text)
            for kind, some in of.items()
            for question in rng.sample(some, 2)
        ]
        for text, of in enough[:_PARAGRAPHS]
    ]


def _of(paragraph: Mapping[str, Any], *, impossible: bool) -> list[str]:
    return [each["question"] for each in paragraph["qas"] if each["is_impossible"] is impossible]


def _clapnq(data: Path, half: str) -> dict[str, str]:
    """Return passages by their text, each with a question that it is about but does not answer."""
    rows = of_half(json_lines(data / CLAPNQ_UNANSWERABLE), half)
    return {beginning(row["passages"][0]["text"]): f"{row['input']}?" for row in rows}


# --- what is measured


def _measured(
    libraries: Mapping[str, list[str]], asked: Sequence[tuple[int, Asked]], settings: Settings
) -> Iterator[Row]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hocket-")))
        collections = _opened(libraries, {each.library for _, each in asked}, folder, stack)
        how = ModelSettings(name=settings.model, slots=8, context=2048, prefill_tokens=512, kv_bytes=1 << 28)
        model = open_model(how, "device", KVSettings(folder=str(folder / "kv")))
        for at, each in track(asked, "asking", console=console.err(), transient=True):
            found = passages(bytes(16), collections[each.library].search(each.text, DOCUMENTS, words=WORDS), [], 0.0)
            names = [Path(one.document).name for one in found.passages]
            texts = names if each.library == OWN else [libraries[each.library][int(name)] for name in names]
            row: Row = {"id": at, "set": each.set, "kind": each.kind, "half": each.half, "found": each.gold in texts}
            yield row | {TODAY: is_doubted(found, each.text)} | features(model, each.text, found)


def _opened(
    libraries: Mapping[str, list[str]], named: set[str], folder: Path, stack: ExitStack
) -> dict[str, Collection]:
    from hocket_retrieval.collection import Collection
    from hocket_retrieval.embedding.embedder import Embedder

    embedder = Embedder(threads=EMBEDDING_THREADS, documents_in=EMBEDDING_PRECISION)
    found = dict[str, Collection]()
    for number, name in enumerate(sorted(named)):
        found[name] = stack.enter_context(Collection(folder / str(number), embedder))
        if name == OWN:
            notes = folder / "notes"
            notes.mkdir()
            for document in json.loads(_own_text())["documents"]:
                (notes / document["name"]).write_text(document["text"], encoding="utf-8")
            found[name].ingest([notes])
        else:
            found[name].add((str(at), "", text) for at, text in enumerate(libraries[name]))
    return found


def is_doubted(found: Passages, question: str) -> bool:
    """Tell whether the product says today that none of the passages found answers the question."""
    line = doubt(scores_of(found), AggregationSettings().min_evidence)
    return bool(line or untold_line(Prompt(query=question), found))


def features(model: LanguageModel, question: str, found: Passages) -> Row:
    """Return FEATURES, each for the best passage: all in nats except `probability`, which is in [0, 1].

    `gain` is per token of the question. `first` is the log of the likeliest first token's probability over that which
    it has without a passage. `surer` is how much lower the first token's entropy is than without one. `asked` are the
    log-odds of yes.
    """
    texts = [passage.text for passage in found.passages]
    with closing(read_at_once(model, question, [*texts, ""], task="answer", room=8, likelihood=True)) as group:
        logs, behind = group.likelihoods, rows_behind(group, [])
    tops = behind[:-1].argmax(axis=1)
    entropies = -(behind * np.log(np.maximum(behind, _TINY))).sum(axis=1)
    first = np.log(behind[:-1].max(axis=1) / np.maximum(behind[-1, tops], _LEAST))
    with closing(read_at_once(model, _ASK.format(question), texts, task="answer", room=8)) as group:
        asked = _odds(model, rows_behind(group, []))
    return {
        "probability": max(passage.score for passage in found.passages),
        "gain": float((logs[:-1] - logs[-1]).mean(axis=1).max()),
        "first": float(first.max()),
        "surer": float((entropies[-1] - entropies[:-1]).max()),
        "asked": float(asked.max()),
    }


def _odds(model: LanguageModel, rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the log-odds of yes against no for each row of probabilities [rows, vocabulary]."""
    yes, no = ({model.continued(word)[-1] for word in words} for words in (_YES, _NO))
    return np.asarray(np.log((rows[:, sorted(yes)].sum(axis=1) + _TINY) / (rows[:, sorted(no)].sum(axis=1) + _TINY)))


# --- what it comes to


def summary(rows: Sequence[Row], chosen: str) -> list[Row]:
    """Score each rule, and each feature alone, on the half on which it was not fitted."""
    fit, told = ([row for row in rows if _counts(row) and (row["half"] == chosen) is mine] for mine in (True, False))
    if any(len({row["kind"] == ANSWERABLE for row in some}) < 2 for some in (fit, told)):
        return []  # nothing is told apart
    found = [_of_rule(TODAY, told, _column(told, TODAY) < 1.0)]
    for name, columns in {**{each: (each,) for each in FEATURES}, **RULES}.items():
        rule = fitted(_table(fit, columns), _holds(fit))
        least = bound(rule.of(_table(fit, columns)), _holds(fit), LOST)
        scores = rule.of(_table(told, columns))
        row = _of_rule(name, told, scores >= least) | {"area": area(scores, _holds(told)), "bound": least}
        row |= {"intercept": rule.intercept} | dict(zip(columns, rule.coefficients, strict=True))
        found.append(row | {f"bin {one.low:.1f}": f"{one.held:.2f} of {one.cases}" for one in _bins(scores, told)})
    return found


def _bins(scores: NDArray[np.float64], rows: Sequence[Row]) -> Sequence[Bin]:
    return reliability(scores, _holds(rows), BINS)


def _of_rule(name: str, rows: Sequence[Row], kept: NDArray[np.bool_]) -> Row:
    """Return the share of questions said to be unknown, for each kind and for each kind of the set OWN."""
    row: Row = {"rule": name}
    for kind in (ANSWERABLE, UNANSWERABLE, UNREAD):
        mine = np.array([each["kind"] == kind for each in rows])
        row[kind] = float((~kept[mine]).mean()) if mine.any() else None
        own = mine & np.array([each["set"] == OWN for each in rows])
        row[f"{kind}, {OWN}"] = float((~kept[own]).mean()) if own.any() else None
    return row


def claim(report: Report) -> None:
    """Add claims about the best rule that loses at most LOST, or else about the one that loses least."""
    report.claims.clear()
    fits = [row for row in report.summary if row["rule"] in RULES]
    if not fits:
        return
    best = min(fits, key=lambda row: (max(LOST, _share(row, ANSWERABLE)), -_share(row, UNANSWERABLE)))
    for kind, limit, at_least in ((ANSWERABLE, LOST, False), (UNANSWERABLE, SAID, True)):
        share = _share(best, kind)
        sign, holds = (">=", share >= limit) if at_least else ("<=", share <= limit)
        report.claim(f"{kind}: said to be unknown by '{best['rule']}'", f"{sign} {limit:g}", share, holds)


def _share(row: Row, kind: str) -> float:
    return float(row[kind] or 0.0)


def _counts(row: Row) -> bool:
    """Tell whether a question counts: an answerable one does only if the text that answers it was found."""
    return row["kind"] != ANSWERABLE or bool(row["found"])


def _holds(rows: Sequence[Row]) -> NDArray[np.bool_]:
    return np.array([row["kind"] == ANSWERABLE for row in rows])


def _column(rows: Sequence[Row], name: str) -> NDArray[np.float64]:
    return np.array([float(row[name] or 0.0) for row in rows])


def _table(rows: Sequence[Row], columns: Sequence[str]) -> NDArray[np.float64]:
    return np.column_stack([_column(rows, name) for name in columns])
