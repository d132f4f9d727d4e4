"""The tags of a page, counted before a parser sees them, which takes quadratic time where they stand deep or are long.

One look from the beginning to the end, in linear time. A page may trick it, and then takes all of a file's time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ....errors import DocumentError

MAX_DEPTH = 2_000  # elements inside each other
MAX_ATTRIBUTES = 1_000  # of an element
_REMEDY = "save it in another form"
_ATTRIBUTE = r"""[\s/]*+=?[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+))?+"""
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_TAG = re.compile(rf"<!--(?:(?!-->)[\s\S])*+|<(/?)([a-z][^\s/>]*+)((?:{_ATTRIBUTE})*+)\s*+(/?)", re.IGNORECASE)
_RAW = {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"}  # in these a tag is text
_CELLS = {"td", "th", "tr", "tbody", "thead", "tfoot"}  # with one all ends that was opened in the one before
# They end by themselves, or where the next one begins, or stand in none of their kind; what they stand in is counted.
_SHALLOW = _CELLS | {
    *("a", "area", "base", "body", "br", "button", "col", "colgroup", "dd", "dt", "embed", "form", "head", "hr"),
    *("html", "img", "input", "li", "link", "meta", "nobr", "optgroup", "option", "p", "param", "select", "source"),
    *("track", "wbr"),
}
_DRAWN = ("svg", "math")  # in these alone an element may say that it is empty


def check(page: str) -> None:
    """Raise DocumentError for a page that nobody wrote to be read: too deep, or with too many attributes."""
    opened = _Opened()
    for tag in _tags(page):
        name, attributes = tag[2].lower(), tag[3]
        if attributes and sum(1 for _ in _ATTRIBUTES.finditer(attributes)) > MAX_ATTRIBUTES:
            raise DocumentError(f"an element has over {MAX_ATTRIBUTES:,} attributes", _REMEDY)
        if name in _CELLS:
            opened.close_in("table")
        elif tag[1]:
            opened.close(name)
        elif name not in _SHALLOW and not (tag[4] and opened.has(*_DRAWN)):
            opened.open(name)


def _tags(page: str) -> Iterator[re.Match[str]]:
    """Yield the tags in their order, without those that are text."""
    at, endless = 0, set[str]()
    while (tag := _TAG.search(page, at)) is not None:
        at = tag.end()
        if not tag[2]:
            continue  # a comment
        yield tag
        name = tag[2].lower()
        if name in _RAW and not tag[1] and name not in endless:
            end = re.compile(f"</{name}", re.IGNORECASE).search(page, at)
            if end is None:
                endless.add(name)  # nor has any behind it
            else:
                at = end.start()


class _Opened:
    """The open elements, each inside the one before it."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._counts = Counter[str]()

    def has(self, *names: str) -> bool:
        """Tell whether one of these elements is open."""
        return any(self._counts[name] for name in names)

    def open(self, name: str) -> None:
        """Open an element. Raises DocumentError where too many are open."""
        self._names.append(name)
        self._counts[name] += 1
        if len(self._names) > MAX_DEPTH:
            raise DocumentError(f"over {MAX_DEPTH:,} nested elements", _REMEDY)

    def close(self, name: str) -> None:
        """Close an element, and all that were opened in it."""
        if self._counts[name]:
            self.close_in(name)
            self._counts[self._names.pop()] -= 1

    def close_in(self, name: str) -> None:
        """Close all elements that were opened in the last one of this name, where there is one."""
        while self._counts[name] and self._names[-1] != name:
            self._counts[self._names.pop()] -= 1
