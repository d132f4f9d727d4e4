"""A picture of a knowledge graph by its summaries: each part with its names, joined where they stand together."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from math import ceil, cos, pi, sin, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Subgraph
from hocket_tools.whole import replace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = 12  # the largest ones
NAMES = 9  # of a part
_PAIR = " – "


class Part(NamedTuple):
    """A part of the graph as it is drawn."""

    id: int
    entities: int
    names: list[str]
    pairs: list[tuple[str, str]]


def draw(path: Path, subgraphs: Sequence[Subgraph], title: str) -> None:
    """Write a PNG, or an HTML page that needs no network. Raises BadRequest for another kind of file."""
    figure = _figure(parts(subgraphs), title)
    if path.suffix == ".png":
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=110)
        replace(path, png.getvalue())
    elif path.suffix in (".html", ".htm"):
        svg = io.StringIO()
        figure.savefig(svg, format="svg")
        page = f"<!doctype html><meta charset='utf-8'><title>{html.escape(title)}</title>{svg.getvalue()}"
        replace(path, page.encode())
    else:
        raise BadRequest(f"{path.name} is not a picture file's name", "end it in .png or .html")


def parts(subgraphs: Sequence[Subgraph]) -> list[Part]:
    """The largest parts that may leave, as their summaries say them."""
    shown = sorted((each for each in subgraphs if each.summary), key=lambda each: (-each.entities, each.id))
    return [_part(each) for each in shown[:PARTS]]


def _part(subgraph: Subgraph) -> Part:
    lines = dict(line.rstrip(".").split(": ", 1) for line in subgraph.summary.splitlines() if ": " in line)
    pairs = [_both(each) for each in lines.get("Together", "").split("; ") if _PAIR in each]
    listed = [*lines.get("Names", "").split("; "), *lines.get("Topics", "").split("; ")]
    names = list(dict.fromkeys([name for pair in pairs for name in pair] + [name for name in listed if name]))[:NAMES]
    return Part(subgraph.id, subgraph.entities, names, [pair for pair in pairs if set(pair) <= set(names)])


def _both(text: str) -> tuple[str, str]:
    first, _, second = text.partition(_PAIR)
    return first, second


def _figure(shown: Sequence[Part], title: str) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = max(1, ceil(sqrt(len(shown))))
    rows = max(1, ceil(len(shown) / columns))
    figure = Figure(figsize=(4.2 * columns, 3.4 * rows + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    grid = figure.subplots(rows, columns, squeeze=False)
    for number, axes in enumerate(grid.flat):
        axes.set_axis_off()
        if number < len(shown):
            _draw(axes, shown[number], f"C{number % 10}")
    return figure


def _draw(axes: Axes, part: Part, colour: str) -> None:
    angle = 2 * pi / max(1, len(part.names))
    places = {name: (cos(angle * at), sin(angle * at)) for at, name in enumerate(part.names)}
    for one, other in part.pairs:
        (x, y), (to_x, to_y) = places[one], places[other]
        axes.plot([x, to_x], [y, to_y], color=colour, alpha=0.35, linewidth=1.5)
    for name, (x, y) in places.items():
        axes.plot([x], [y], "o", color=colour, markersize=6)
        axes.annotate(name[:24], (x, y), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8)
    axes.set_xlim(-1.7, 1.7)
    axes.set_ylim(-1.35, 1.45)
    axes.set_title(f"part {part.id}: {part.entities} entities", fontsize=9)
