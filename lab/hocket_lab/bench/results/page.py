"""lab/docs/results.md: of each system its headlines in words with a picture, then every claim, misses first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import get_args

from hocket_lab.bench.results.records import Record, Today, Verdict, short, usual_machine
from hocket_lab.bench.results.systems import Areas, System

ORDER: Sequence[Verdict] = get_args(Verdict)  # misses first
INTRODUCTION = """\
# Results

`hocket bench results` makes this page and its pictures from the files in [results](results). To update a benchmark's
lines, run it with `--json lab/docs/results/NAME.json`, then make the page. What was tried, and how a figure came about,
is in the [lab log](lab-log.md).

Everything was measured on one machine ({machine}), unless a line names another. Both sides,
their retrieval daemons, the link emulator and the client shared it. "Changed since" is computed from digests: it names
the packages of which its benchmark uses, directly or not, code that is otherwise now, and the product's defaults. "no"
says that the figure is of this code.

{counts}
"""
HEADLINES = "| in words | verdict | measured | changed since |\n| --- | --- | --- | --- |\n"
CLAIMS = "| claim | target | value | verdict | measured | changed since | file |\n" + "| --- " * 7 + "|\n"


def page(areas: Areas, systems: Sequence[System], today: Today) -> str:
    """Return the whole page, as Markdown. Raises BadConfiguration where a headline names what no record has."""
    return _Page(areas, today).text(systems)


class _Page:
    """Common data of all rows: the records, the code as it is now, and the machine that needs no mention."""

    def __init__(self, areas: Areas, today: Today) -> None:
        self._areas = areas
        self._records = [record for found in areas.values() for record in found]
        self._today = today
        self._usual = usual_machine(self._records)

    def text(self, systems: Sequence[System]) -> str:
        head = INTRODUCTION.format(machine=self._usual, counts=self._counts())
        first = "".join(self._headlines(system) for system in systems)
        return head + first + "\n# Every claim\n" + "".join(self._claims(system) for system in systems)

    def _counts(self) -> str:
        number = Counter(record.verdict for record in self._records)
        changed = sum(bool(record.changed(self._today)) for record in self._records)
        return (
            f"Of {len(self._records)} claims {number['holds']} hold, {number['missed']} are missed, "
            f"and {number['cannot be told']} cannot be told here. The code of {changed} has changed since."
        )

    def _headlines(self, system: System) -> str:
        rows = [
            _row(headline.sentence(self._areas), *self._state(headline.find(self._areas)))
            for headline in system.headlines
        ]
        picture = f"![{system.title}](results/{system.picture})"
        return f"\n## {system.name}\n{picture}\n\n{HEADLINES}{''.join(rows)}"

    def _claims(self, system: System) -> str:
        own = [(area, record) for area in system.areas for record in self._areas[area]]
        own.sort(key=lambda pair: ORDER.index(pair[1].verdict))
        rows = [
            _row(*map(short, (record.claim, record.target, record.value)), *self._state(record), _link(area))
            for area, record in own
        ]
        return f"\n## {system.name}: {len(own)} claims\n{CLAIMS}{''.join(rows)}"

    def _state(self, record: Record) -> tuple[str, str, str]:
        """Return the record's verdict, when and on what it was measured, and what has changed since."""
        verdict = f"**{record.verdict}**" if record.verdict == "missed" else record.verdict
        elsewhere = "" if record.machine == self._usual else f", {record.machine}"
        return verdict, short(record.date + elsewhere), _named(record.changed(self._today))


def _named(parts: Sequence[str]) -> str:
    """Return as many of the parts' names as fit into a cell; "no" where there are none."""
    for known in range(len(parts), 0, -1):
        left = len(parts) - known
        text = ", ".join(parts[:known]) + (f" and {left} more" if left else "")
        if len(text) == len(short(text)):
            return text
    return "no"


def _link(area: str) -> str:
    return f"[{area}](results/{area}.json)"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"
