"""Texts beside the cells of an Excel sheet: notes and comments of cells, and text boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

_THREADS, _NOTES, _BOXES = "/threadedComment", "/comments", "/drawing"


def notes(parts: Mapping[str, bytes]) -> str:
    """Lines of `B4: text`, and those of text boxes, of the parts that a sheet refers to, by their names.

    Notes that stand for threads of comments, for programs that do not know these, are left out.
    """
    threads = [line for part in _of(parts, _THREADS) for line in _lines(part, "threadedComment", "text")]
    cells = threads or [line for part in _of(parts, _NOTES) for line in _lines(part, "comment", "t")]
    boxes = [line for part in _of(parts, _BOXES) for body in part.iterfind(".//{*}txBody") for line in _typed(body)]
    return "\n".join(filter(None, cells + boxes))


def _of(parts: Mapping[str, bytes], kind: str) -> Iterator[ElementTree.Element]:
    for name, part in parts.items():
        if kind in name and name.endswith(".xml"):
            try:
                yield ElementTree.fromstring(part)
            except ElementTree.ParseError:
                continue


def _lines(part: ElementTree.Element, kind: str, text: str) -> Iterator[str]:
    for each in part.iterfind(f".//{{*}}{kind}"):
        said = " ".join("".join(run.text or "" for run in each.iterfind(f".//{{*}}{text}")).split())
        if said:
            yield f"{each.get('ref', '')}: {said}"


def _typed(body: ElementTree.Element) -> Iterator[str]:
    for paragraph in body.iterfind("{*}p"):
        yield "".join(run.text or "" for run in paragraph.iterfind(".//{*}t")).strip()
