"""The settings of the benchmark, and its two parts: made-up facts in a running pair, and real pages in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from hocket_bus.errors import BadRequest
from hocket_daemon.engine.backends.automatic import place_of, tuned
from hocket_daemon.engine.settings import AUTO, BUNDLED
from hocket_lab.bench.composition import curves, recall, thresholds, utility
from hocket_lab.bench.composition.facts import make_facts
from hocket_lab.bench.composition.pages import FILES_OF, Kind, corpus
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report
from hocket_lab.reporting.sources import digest_of_files

TAUS = ("0", "5", "10", "20", "40", "80", "auto")
Corpus = Literal["facts", "wikitext2", "enron", "nih"]


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    corpus: Annotated[Corpus, Option("Made-up facts typed into a running pair, or real texts.")] = "facts"
    facts: Annotated[int, Option("Made-up facts.", min=1, max=1_000)] = 100
    count: Annotated[int, Option("Real texts.", min=1)] = 30
    model: Annotated[str, Option("The device's model: a published name, a folder or a .gguf file.")] = BUNDLED
    ft: Annotated[str, Option("The model tuned with own continuations; auto: the shipped one of --model.")] = "auto"
    it: Annotated[str, Option("The model tuned with other labels, if there is one.")] = ""
    tau: Annotated[
        Sequence[str],
        Option("Type real texts with these τ instead, such as 0,5,10,20,40,auto; only with WikiText-2.", choices=TAUS),
    ] = ()
    word_s: Annotated[float, Option("Seconds from one typed word to the next.", min=0)] = 0.15
    share: Annotated[float, Option("Of a page's lead that is typed.", min=0.05, max=0.9)] = 0.25
    label_tokens: Annotated[int, Option("Tokens of its rest that are scored.", min=8, max=400)] = 128
    written_tokens: Annotated[int, Option("Tokens that are written and compared with it.", min=4, max=128)] = 44
    seed: Annotated[int, Option("Makes the facts.", min=0)] = 0


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses."""
    if settings.corpus == "facts":
        return _facts(settings, json_path)
    if settings.tau:
        return _thresholds(data, settings, json_path)
    return _texts(data, settings.corpus, settings, json_path)


def _facts(settings: Settings, json_path: Path | None) -> bool:
    of_rows = {name: getattr(settings, name) for name in ("facts", "model", "word_s", "seed")}
    report = Report(of_rows, json_path)
    recall.measure(report, make_facts(settings.facts, settings.seed), settings.model, settings.word_s)
    report.summary = recall.summary(report.rows)
    recall.claim(report)
    return report.finish(recall.COLUMNS)


def _texts(data: Path, kind: Kind, settings: Settings, json_path: Path | None) -> bool:
    models = utility.Models(settings.model, tuned(settings.model) if settings.ft == AUTO else settings.ft, settings.it)
    names = ("corpus", "count", "share", "label_tokens", "written_tokens")
    of_rows = {name: getattr(settings, name) for name in names} | asdict(models) | {"labels": "the texts themselves"}
    folders = [Path(place_of(name, "device")) for name in (models.ft, models.it) if name]
    weights = [file for folder in folders for file in sorted(folder.glob("*"))]
    read = {"inputs": digest_of_files([data / file for file in FILES_OF[kind]]), "tuned": digest_of_files(weights)}
    report = Report(of_rows | read, json_path)
    how = utility.How(settings.share, settings.label_tokens, settings.written_tokens)
    utility.measure(report, corpus(data, kind, settings.count), models, how, kind)
    report.summary = utility.summary(report.rows)
    utility.claim(report)
    return report.finish(utility.COLUMNS)


def _thresholds(data: Path, settings: Settings, json_path: Path | None) -> bool:
    if settings.corpus != "wikitext2":
        raise BadRequest("--tau is for WikiText-2's pages", "add --corpus wikitext2")
    names = ("count", "model", "tau", "label_tokens", "written_tokens")
    of_rows = {name: getattr(settings, name) for name in names}
    inputs = digest_of_files([data / file for file in FILES_OF["wikitext2"]])
    report = Report(of_rows | {"inputs": inputs}, json_path)
    how = utility.How(settings.share, settings.label_tokens, settings.written_tokens)
    thresholds.measure(report, corpus(data, "wikitext2", settings.count), settings.tau, settings.model, how)
    report.summary = thresholds.summary(report.rows)
    if json_path is not None:
        curves.draw(json_path.with_suffix(".png"), report.summary)
    return report.finish(thresholds.COLUMNS)
