"""A benchmark's picture: lines with error bars over numbers, groups of bars over names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
COLOURS = 10  # of matplotlib's own cycle


def draw(
    png: Path,
    rows: Sequence[Row],
    x: str,
    y: str,
    by: str,
    *,
    title: str,
    interval: tuple[str, str] | None = None,
) -> None:
    """Write `png`: `y` over `x`, one line or colour per value of `by`; rows without `y` are left out."""
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    rows = [row for row in rows if row.get(y) is not None]
    places = list(dict.fromkeys(row[x] for row in rows))
    names = list(dict.fromkeys(row[by] for row in rows))
    if len(names) > COLOURS:
        axes.set_prop_cycle(color=colormaps["tab20"].colors)  # type: ignore[attr-defined]
    numeric = all(isinstance(place, int | float) for place in places)
    for number, name in enumerate(names):
        own = [row for row in rows if row[by] == name]
        errors = _errors(own, y, interval)
        if numeric:
            axes.errorbar(
                [row[x] for row in own], [row[y] for row in own], yerr=errors, marker="o", capsize=3, label=name
            )
        else:
            width = 0.8 / len(names)
            shift = [places.index(row[x]) + (number - (len(names) - 1) / 2) * width for row in own]
            axes.bar(shift, [row[y] for row in own], width, yerr=errors, capsize=3, label=name)
    if not numeric:
        axes.set_xticks(range(len(places)), [str(place) for place in places])
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    png.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(png, dpi=120)


def _errors(rows: Sequence[Row], y: str, interval: tuple[str, str] | None) -> list[list[float]] | None:
    if interval is None:
        return None
    low, high = interval
    return [[max(0.0, row[y] - row[low]) for row in rows], [max(0.0, row[high] - row[y]) for row in rows]]
