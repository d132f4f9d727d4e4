"""The picture of a pipeline (the paper's Figure 9): decodes and messages of both sides, and the scheduler's view."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .simulation import Moment, Outcome, Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"decode": "tab:blue", "draft": "tab:green", "target": "tab:orange", "switch": "tab:red"}
WASTED = "lightgrey"


def draw_pipeline(png: Path, outcome: Outcome, tokens: int, title: str) -> None:
    """Write `png`: the first `tokens` tokens; grey is work whose result was not used."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 9), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(5, 1, sharex=True, height_ratios=(3, 3, 1, 1, 1))
    end_s = outcome.token_s[min(tokens, len(outcome.token_s)) - 1]
    shown = [span for span in outcome.spans if span.start_s <= end_s]
    for axes, side in zip(panels, ("cloud", "device"), strict=False):
        _lanes(axes, [span for span in shown if span.side == side], side)
    _curves(panels[2:], [moment for moment in outcome.moments if moment.now_s <= end_s])
    panels[0].set_title(title)
    panels[0].legend(handles=_legend(), loc="upper right", ncols=5, fontsize="small")
    panels[-1].set(xlabel="s", xlim=(0, end_s))
    png.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(png, dpi=120)


def _lanes(axes: Axes, spans: list[Span], side: str) -> None:
    for span in spans:
        lane = list(COLOURS).index(span.work)
        colour = COLOURS[span.work] if span.used else WASTED
        axes.barh(-lane, span.end_s - span.start_s, 0.7, span.start_s, color=colour, edgecolor="white", linewidth=0.5)
        axes.text(span.start_s, -lane, str(span.step), fontsize="xx-small", va="center", clip_on=True)
    axes.set_yticks([-lane for lane in range(len(COLOURS))], list(COLOURS))
    axes.set_ylabel(side)


def _curves(panels: list[Axes], moments: list[Moment]) -> None:
    times = [moment.now_s for moment in moments]
    panels[0].plot(times, [moment.rtt_s * 1000 for moment in moments], marker=".")
    panels[0].set_ylabel("rtt, ms")
    panels[1].plot(times, [moment.delta_s * 1000 for moment in moments], marker=".")
    panels[1].axhline(0, color="black", linewidth=0.5)
    panels[1].set_ylabel("ΔZ, ms")
    for side in ("device", "cloud"):
        panels[2].plot(times, [getattr(moment, f"alpha_{side}") for moment in moments], marker=".", label=side)
    panels[2].set_ylabel("accepted")
    panels[2].legend(fontsize="x-small")


def _legend() -> list[object]:
    from matplotlib.patches import Patch

    made = [Patch(color=colour, label=work) for work, colour in COLOURS.items()]
    return [*made, Patch(color=WASTED, label="not used")]
