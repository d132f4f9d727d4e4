"""Figure 5's curves over τ: perplexity, similarity of what is written, and the requests and bytes that this takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hocket_lab.reporting.report import Row

PANELS = ("perplexity", "gleu", "requests_a_minute", "bytes_a_minute")


def draw(png: Path, rows: Sequence[Row]) -> None:
    """Write `png`: a panel for each measure, a line over τ, and beside it a point for the τ that sets itself."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    shown = [row for row in rows if row.get("perplexity") is not None]
    figure.suptitle(f"memory that is asked for again when τ tokens have changed, {shown[0]['pages']} pages")
    for axes, name in zip(figure.subplots(2, 2).flat, PANELS, strict=True):
        every = {str(row["tau"]): float(row[name] or 0) for row in shown}
        line = {tau: value for tau, value in every.items() if tau.isdigit()}
        itself = {tau: value for tau, value in every.items() if tau not in line}
        axes.plot(list(line), list(line.values()), "o-")
        axes.plot(list(itself), list(itself.values()), "s")
        axes.set(xlabel="τ", ylabel=name.replace("_", " "), ylim=(0, 1.1 * max(every.values())))
        axes.grid(alpha=0.3)
    png.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(png, dpi=110)
