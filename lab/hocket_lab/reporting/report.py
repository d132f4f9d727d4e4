"""The report that every benchmark writes: one JSON file, a table, a picture and its claims; knows no benchmark.

    {"command", "begun", "last_added", "machine", "identity", "settings", "rows": [flat records],
     "summary": [what is shown of them, where it is not the rows themselves],
     "claims": [{"name", "target", "measured", "holds"}]}

The file is replaced whole after every row, so an interrupted run resumes where it stopped if its settings, the machine
and what identity.py digests are equal. The dates are those of the first row and of the last.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hocket_lab.reporting.identity import identity
from hocket_lab.reporting.machine import describe

DECIDING = ("settings", "machine", "identity")  # rows are kept where these are equal
OF_ROWS = ("command", "begun", "last_added")  # which stay with the rows that they tell of
PIPED_COLUMNS = 200  # nobody wraps a pipe, and cut figures are none

Value = str | int | float | bool | None
VERDICTS: Mapping[Value, str] = {True: "[green]holds [/green]", False: "[red]misses[/red]", None: "[dim]unsure[/dim]"}
Row = dict[str, Value]


class Report:
    """The rows and claims of one run. Its command says which code is measured: measured.py.

    Rows measured earlier by equal code and models, with equal settings on an equal machine, are used again.
    """

    def __init__(self, settings: Mapping[str, Any], path: Path | None = None, command: str | None = None) -> None:
        self.path = path
        command, given = command or command_line(), json.loads(json.dumps(dict(settings)))
        self._head: dict[str, Any] = {
            "command": command,
            "begun": _now(),
            "last_added": _now(),
            "machine": describe(),
            "identity": identity(command, given) if path is not None else {},
            "settings": given,
        }
        self.rows: list[Row] = self._take_over()
        self.summary: list[Row] = []
        self.claims: list[Row] = []

    def find(self, **key: Value) -> Row | None:
        """Return the finished row that has these values, or None when it is still to be measured."""
        return next((row for row in self.rows if all(row.get(name) == value for name, value in key.items())), None)

    def add(self, row: Row) -> None:
        """Store a finished row, on disk too."""
        self.extend([row])

    def extend(self, rows: Iterable[Row]) -> None:
        """Store rows that were finished together."""
        self._head["last_added"] = _now()
        if not self.rows:
            self._head["begun"] = self._head["last_added"]
        self.rows.extend(rows)
        self.write()

    def claim(self, name: str, target: str, measured: float | str, holds: bool | None) -> None:
        """State whether a target was met; a miss is recorded as a miss, and None says that it cannot be told."""
        verdict = None if holds is None else bool(holds)
        self.claims.append({"name": name, "target": target, "measured": measured, "holds": verdict})

    def write(self) -> None:
        """Replace the file in one step; without a path nothing is written."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(self.path.name + ".partial")
        summary = {"summary": self.summary} if self.summary else {}
        content = self._head | {"rows": self.rows} | summary | {"claims": self.claims}
        partial.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(partial, self.path)

    def show(self, columns: Sequence[str] | None = None, console: Console | None = None) -> None:
        """Print the rows as a table, then each claim with "holds" or "misses"."""
        console = console or Console()
        if not console.is_terminal:
            console.width = PIPED_COLUMNS
        if shown := self.summary or self.rows:
            console.print(_table(shown, columns or list(shown[0])))
        for claim in self.claims:
            console.print(
                f"{VERDICTS[claim['holds']]} {claim['name']}: {_text(claim['measured'])} (target {claim['target']})"
            )

    def finish(self, columns: Sequence[str] | None = None) -> bool:
        """Write, print, and tell whether no claim misses."""
        self.write()
        self.show(columns)
        return all(claim["holds"] is not False for claim in self.claims)

    def plot(self, png: Path, x: str, y: str, by: str, *, title: str, interval: tuple[str, str] | None = None) -> None:
        """Draw `y` over `x`, one line per value of `by`; `interval` names the columns of an error bar's ends."""
        from hocket_lab.reporting.picture import draw

        draw(png, self.summary or self.rows, x, y, by, title=title, interval=interval)

    def _take_over(self) -> list[Row]:
        """Return the rows of an earlier run, with its command and dates, where they may be used again."""
        earlier = self._earlier()
        if not earlier or self.differs_from_file():
            return []
        self._head |= {name: earlier[name] for name in OF_ROWS}
        return list(earlier["rows"])

    def differs_from_file(self) -> list[str]:
        """Return the names of settings, digests and machine facts that differ from those in an earlier run's file."""
        earlier = self._earlier()
        return [
            name
            for part in DECIDING
            for name in (earlier.get(part, {}).keys() | self._head[part].keys() if earlier else ())
            if earlier.get(part, {}).get(name) != self._head[part].get(name)
        ]

    def _earlier(self) -> dict[str, Any]:
        if self.path is None or not self.path.is_file():
            return {}
        try:
            earlier = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}  # not a report of ours: it is measured anew
        return earlier if isinstance(earlier, dict) and isinstance(earlier.get("rows"), list) else {}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def command_line() -> str:
    """The command as typed, with folders left out of absolute paths."""
    words = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]
    return " ".join(["hocket", *words])


def bootstrap(
    values: Sequence[float],
    statistic: Callable[[Sequence[float]], float] = statistics.fmean,
    *,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the 95 % percentile interval of `statistic` over `values` by `resamples` seeded draws with replacement."""
    if not values:
        raise ValueError("no values to draw from")
    source = random.Random(seed)
    draws = sorted(statistic(source.choices(values, k=len(values))) for _ in range(resamples))
    return draws[int(0.025 * resamples)], draws[int(0.975 * resamples)]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of `values` lie, interpolated between neighbours."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _table(rows: Sequence[Row], columns: Sequence[str]) -> Table:
    table = Table()
    for column in columns:
        numeric = all(isinstance(row.get(column), int | float | None) for row in rows)
        table.add_column(column, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_text(row.get(column)) for column in columns))
    return table


def _text(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
