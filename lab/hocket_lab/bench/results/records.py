"""The records in lab/docs/results: one for each claim, with the digests of the code that it is of.

A file holds a list of records, or is the report that a benchmark wrote with `--json lab/docs/results/NAME.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from hocket_bus.errors import BadConfiguration

CELL = 60  # characters of a cell of the page
Verdict = Literal["missed", "cannot be told", "holds"]
VERDICTS: Mapping[bool | None, Verdict] = {True: "holds", False: "missed", None: "cannot be told"}

Filled = Annotated[str, Meta(min_length=1)]
Cell = Annotated[str, Meta(min_length=1, max_length=CELL)]
Today = Callable[[str], Mapping[str, str]]  # the digests of the code that a command measures, as it is now


class Record(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A claim and what was measured of it last; `date` is YYYY-MM-DD.

    `code` has the digests of the parts that the command measured, `numbers` what sentences and pictures name.
    """

    claim: Cell
    target: Cell
    value: Cell
    date: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    command: Filled
    machine: Filled
    verdict: Verdict
    code: dict[str, str]
    numbers: dict[str, float] = {}

    def changed(self, today: Today) -> list[str]:
        """Return the parts of the code measured by the record's command that have changed or were never recorded."""
        return [part for part, digest in today(self.command).items() if self.code.get(part) != digest]


class _Claim(Struct, frozen=True):
    name: Filled
    target: Filled
    measured: float | str
    holds: bool | None


class _Report(Struct, frozen=True):
    """The fields of a benchmark's report that the page needs."""

    command: Filled
    last_added: Annotated[str, Meta(min_length=10)]
    machine: dict[str, str | int | float | bool]
    identity: dict[str, str]
    claims: list[_Claim]


def read(folder: Path) -> dict[str, list[Record]]:
    """Return the records of the files in `folder`, by file name. Raises BadConfiguration for the first wrong one."""
    return {path.stem: _records(path) for path in sorted(folder.glob("*.json"), key=lambda path: path.stem)}


def short(text: str) -> str:
    """Return as much of a text as fits into a cell."""
    return text if len(text) <= CELL else text[: CELL - 1] + "…"


def usual_machine(records: Sequence[Record]) -> str:
    """Return the machine that most were measured on; the first of several."""
    machines = [record.machine for record in records]
    return max(dict.fromkeys(machines), key=machines.count, default="no machine yet")


def _records(path: Path) -> list[Record]:
    try:
        content = msgspec.json.decode(path.read_bytes(), type=list[Record] | _Report)
    except msgspec.DecodeError as error:
        raise BadConfiguration(f"{path}: {error}", "mend this record") from error
    return content if isinstance(content, list) else [_record(content, claim) for claim in content.claims]


def _record(report: _Report, claim: _Claim) -> Record:
    measured = claim.measured
    return Record(
        claim=short(claim.name),
        target=short(claim.target),
        value=short(measured if isinstance(measured, str) else f"{measured:.4g}"),
        date=report.last_added[:10],
        command=report.command.partition(" --json")[0],
        machine=_machine(report.machine),
        verdict=VERDICTS[claim.holds],
        code=report.identity,
        numbers={} if isinstance(measured, str) else {"value": measured},
    )


def _machine(facts: Mapping[str, str | int | float | bool]) -> str:
    known = [facts.get("processor"), f"{facts.get('cores', '?')} cores", facts.get("gpu", "no GPU")]
    return ", ".join(str(fact) for fact in known if fact)
