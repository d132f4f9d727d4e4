"""docs/results.md, made of the files in docs/results: one line for each claim; knows no benchmark and runs none.

A file holds a list of records, or is the report that a benchmark wrote with `--json docs/results/NAME.json`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from hocket_bus.errors import BadConfiguration, HocketError

FOLDER = Path("docs/results")
PAGE = Path("docs/results.md")

Verdict = Literal["holds", "missed", "not measured since", "cannot be told"]
VERDICTS: Mapping[bool | None, Verdict] = {True: "holds", False: "missed", None: "cannot be told"}

INTRODUCTION = """\
# Results

This page has one line for each claim, with its latest value. `python -m hocket_tools.bench.results` makes it from the
files in `docs/results`. To update a benchmark's lines, run it with `--json docs/results/NAME.json`, then make the page.

Every value was measured on one machine ({machine}), unless its line names another.
Both sides, their retrieval daemons, the link emulator and the client shared it.
"Not measured since" means that the claim held on that day, and that the code it measures has changed since then.
A slow hour is one in which this shared machine took longer for everything.
The [lab log](lab-log.md) tells what was tried.

{counts}

| benchmark | claim | target | latest value | date | command | verdict |
| --- | --- | --- | --- | --- | --- | --- |
"""

Filled = Annotated[str, Meta(min_length=1)]


class Record(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One claim and what was measured of it last; `date` is YYYY-MM-DD."""

    claim: Filled
    target: Filled
    value: Filled
    date: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    command: Filled
    machine: Filled
    verdict: Verdict
    note: str = ""


class _Claim(Struct, frozen=True):
    name: Filled
    target: Filled
    measured: float | str
    holds: bool | None


class _Report(Struct, frozen=True):
    """What this page needs of a benchmark's report."""

    command: Filled
    last_added: Annotated[str, Meta(min_length=10)]
    machine: dict[str, str | int | float | bool]
    claims: list[_Claim]


def read(folder: Path) -> dict[str, list[Record]]:
    """The records of each file in `folder`, by the file's name. Raises BadConfiguration for the first that is wrong."""
    return {path.stem: _records(path) for path in sorted(folder.glob("*.json"), key=lambda path: path.stem)}


def page(areas: Mapping[str, Sequence[Record]]) -> str:
    """The whole page, as Markdown."""
    records = [record for area in areas.values() for record in area]
    machines = Counter(record.machine for record in records).most_common(1)
    usual = machines[0][0] if machines else "no machine yet"
    rows = [_row(area, record, usual) for area, found in areas.items() for record in found]
    return INTRODUCTION.format(machine=usual, counts=_counts(records)) + "".join(rows)


def main() -> None:
    """Write the page."""
    try:
        PAGE.write_text(page(read(FOLDER)), encoding="utf-8")
    except HocketError as error:
        raise SystemExit(str(error)) from error


def _records(path: Path) -> list[Record]:
    try:
        content = msgspec.json.decode(path.read_bytes(), type=list[Record] | _Report)
    except msgspec.DecodeError as error:
        raise BadConfiguration(f"{path}: {error}", "mend this record") from error
    return content if isinstance(content, list) else [_record(content, claim) for claim in content.claims]


def _record(report: _Report, claim: _Claim) -> Record:
    measured = claim.measured if isinstance(claim.measured, str) else f"{claim.measured:.4g}"
    return Record(
        claim=claim.name,
        target=claim.target,
        value=measured,
        date=report.last_added[:10],
        command=report.command.partition(" --json")[0],
        machine=_machine(report.machine),
        verdict=VERDICTS[claim.holds],
    )


def _machine(facts: Mapping[str, str | int | float | bool]) -> str:
    known = [facts.get("processor"), f"{facts.get('cores', '?')} cores", facts.get("gpu", "no GPU")]
    return ", ".join(str(fact) for fact in known if fact)


def _counts(records: Sequence[Record]) -> str:
    number = Counter(record.verdict for record in records)
    return (
        f"Of {len(records)} claims {number['holds']} hold, {number['missed']} are missed, "
        f"{number['not measured since']} were not measured since a change, "
        f"and {number['cannot be told']} cannot be told here."
    )


def _row(area: str, record: Record, usual: str) -> str:
    elsewhere = "" if record.machine == usual else record.machine
    value = "; ".join(part for part in (record.value, record.note, elsewhere) if part)
    cells = (area, record.claim, record.target, value, record.date, f"`{record.command}`", _shown(record))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _shown(record: Record) -> str:
    match record.verdict:
        case "missed":
            return "**missed**"
        case "not measured since":
            return f"not measured since {record.date}"
        case verdict:
            return verdict


if __name__ == "__main__":
    main()
