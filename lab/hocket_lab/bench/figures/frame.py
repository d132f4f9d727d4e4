"""A frame for all figures: `hocket bench figure N` measures, resumes, shows, draws and says whether a claim holds.

A figure is a file of this package with a `FIGURE`; the frame knows the figures only by their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from rich.console import Console

from hocket_bus.errors import BadRequest
from hocket_lab.bench.figures.ranges import check
from hocket_lab.reporting.report import PIPED_COLUMNS, Report, Row, Value
from hocket_tools import console

FIGURES = {4: "speedup", 5: "perplexity", 6: "latency", 7: "first_token", 8: "scheduling", 9: "case_study"}
WORDS = {True: "claim holds here", False: "claim does not hold here", None: "claim cannot be told here"}
S = TypeVar("S", bound=msgspec.Struct)


@dataclass(frozen=True)
class Claim:
    """A part of what the paper's figure says, judged here. `holds` is None where the intervals do not separate."""

    name: str
    target: str
    measured: float | str
    holds: bool | None


@dataclass(frozen=True)
class Figure(Generic[S]):
    """The parts of a figure that the frame needs.

    settings: a frozen Struct whose defaults are the paper's, so far as they can be had here.
    inputs: what else the figure depends on (digests of weights and corpora), kept beside the settings.
    measure: adds the rows that the report does not have yet.
    summary: the rows to show and to draw, from all measured ones.
    judge: the parts of the paper's claim, from all measured rows.
    draw: writes the picture from the summary.
    """

    title: str
    paper: str
    settings: type[S]
    measure: Callable[[Report, S, Path], None]
    judge: Callable[[Sequence[Row]], list[Claim]]
    draw: Callable[[Path, Sequence[Row], S], None]
    summary: Callable[[Sequence[Row]], list[Row]] = list
    inputs: Callable[[S, Path], Mapping[str, Value]] = lambda _settings, _data: {}


def run(number: int, out: Path, data: Path, changes: Sequence[str]) -> bool | None:
    """Make figure `number` in the folder `out`; returns whether the claim holds, None when that cannot be told.

    Raises BadRequest for an unknown figure or setting, and when `out` holds a run of other settings.
    """
    figure = find(number)
    settings = settings_of(figure, changes)
    at = out / f"figure-{number}.json"
    facts = dict(msgspec.to_builtins(settings)) | {"inputs": dict(figure.inputs(settings, data))}
    report = Report({"figure": number} | facts, at)
    if different := report.differs_from_file():
        names = ", ".join(sorted(different))
        raise BadRequest(f"{at} holds a run with other {names}", "name another --out, or move it away")
    figure.measure(report, settings, data)
    report.summary = figure.summary(report.rows)
    claims = figure.judge(report.rows)
    for claim in claims:
        report.claim(claim.name, claim.target, claim.measured, claim.holds)
    verdict = together([claim.holds for claim in claims])
    report.claim(f"figure {number}", figure.paper, WORDS[verdict], verdict)
    figure.draw(at.with_suffix(".png"), report.summary, settings)
    report.finish()
    with at.with_suffix(".txt").open("w", encoding="utf-8") as file:
        report.show(console=Console(file=file, width=PIPED_COLUMNS))
    console.out().print(f"figure {number}: {figure.title}\n{WORDS[verdict]}: {figure.paper}")
    return verdict


def find(number: int) -> Figure[Any]:
    """Return the figure with this number. Raises BadRequest."""
    if number not in FIGURES:
        raise BadRequest(f"there is no figure {number}", f"choose one of {', '.join(map(str, FIGURES))}")
    figure = import_module(f"{__package__}.{FIGURES[number]}").FIGURE
    assert isinstance(figure, Figure)
    return figure


def settings_of(figure: Figure[S], changes: Sequence[str]) -> S:
    """Return the figure's settings with changes like "windows=4" or "rtts_ms=0,300". Raises BadRequest."""
    known = {field.name: field for field in msgspec.structs.fields(figure.settings)}
    given: dict[str, object] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or name not in known:
            raise BadRequest(f'"{change}" is no setting of this figure', f"write NAME=VALUE with {', '.join(known)}")
        many = isinstance(msgspec.json.decode(msgspec.json.encode(known[name].default)), list)
        given[name] = [part for part in value.split(",") if part] if many else value
    try:
        settings = msgspec.convert(given, figure.settings, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest(f"a setting is wrong: {error}", "see the defaults in lab/docs/benchmarks.md") from error
    for name in given:
        check(name, getattr(settings, name))
    return settings


def together(parts: Sequence[bool | None]) -> bool | None:
    """Return the verdict of all parts: one that fails makes it fail, one that cannot be told leaves it open."""
    if False in parts:
        return False
    return None if None in parts or not parts else True


def separate(low: Value, high: Value) -> bool | None:
    """Tell whether the interval [low, high] of (supposed better minus worse) lies above 0; None when it holds 0."""
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return None
    return True if low > 0 else False if high < 0 else None
