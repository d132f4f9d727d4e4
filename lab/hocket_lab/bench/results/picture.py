"""A small picture of a system: bars with their numbers, as SVG that is equal wherever it is made."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

WIDTH, LABEL, ROW, TOP = 640, 250, 26, 40
_ROOM = WIDTH - LABEL - 70  # the longest bar; its number stands behind it


def draw(title: str, bars: Sequence[tuple[str, float]]) -> str:
    """Draw bars from the top down, each with its label before it and its number after it."""
    longest = max((number for _, number in bars), default=0.0) or 1.0
    rows = [_row(at, label, number, number / longest) for at, (label, number) in enumerate(bars)]
    height = TOP + ROW * len(bars) + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'font-family="sans-serif" font-size="13">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n'
        f'<text x="10" y="22" font-size="15" fill="#222222">{escape(title)}</text>\n{"".join(rows)}</svg>\n'
    )


def _row(at: int, label: str, number: float, share: float) -> str:
    y = TOP + ROW * at
    length = max(1, round(_ROOM * share))
    return (
        f'<text x="{LABEL - 8}" y="{y + 14}" text-anchor="end" fill="#222222">{escape(label)}</text>'
        f'<rect x="{LABEL}" y="{y}" width="{length}" height="18" fill="#3b6ea5"/>'
        f'<text x="{LABEL + length + 6}" y="{y + 14}" fill="#222222">{number:g}</text>\n'
    )
