"""Words of what Office draws from data of its own: diagrams (SmartArt), and charts with their values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from xml.etree import ElementTree

FOLDERS = ("/diagrams/data", "/charts/chart")  # what the names of such parts hold


def words(part: bytes) -> str:
    """A line for each text of a diagram; of a chart its titles, and each series with `category: value` in its lines."""
    try:
        root = ElementTree.fromstring(part)
    except ElementTree.ParseError:
        return ""
    series = list(root.iterfind(".//{*}ser"))
    return "\n".join(filter(None, [*_paragraphs(root), *(line for each in series for line in _values(each))]))


def _paragraphs(root: ElementTree.Element) -> Iterator[str]:
    for paragraph in root.iterfind(".//{*}p"):
        yield "".join(run.text or "" for run in paragraph.iterfind(".//{*}t")).strip()


def _values(series: ElementTree.Element) -> Iterator[str]:
    yield " ".join(_points(series, "tx"))
    names = [*_points(series, "cat"), *_points(series, "xVal")]
    for name, value in zip_longest(names, [*_points(series, "val"), *_points(series, "yVal")], fillvalue=""):
        yield f"{name}: {value}" if name and value else name or value


def _points(series: ElementTree.Element, name: str) -> list[str]:
    """Return the values of a part of a series, in order; of several levels of names the innermost, which is first."""
    found = {
        int(at) if (at := point.get("idx", "")).isdecimal() else 0: value.text or ""
        for point in reversed(series.findall(f"{{*}}{name}//{{*}}pt"))
        if (value := point.find("{*}v")) is not None
    }
    return [found[at] for at in sorted(found)]
