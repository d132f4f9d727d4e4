"""XML with some of its elements taken out, moved or written otherwise, and everything else to the byte as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from xml.parsers import expat

_START = re.compile(rb"<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>")


class Element(NamedTuple):
    """An element: its name, such as "w:p", and where its start tag and its content begin."""

    name: str
    start: int
    inner: int


class Span(NamedTuple):
    """The places where an element's end tag begins and ends; both are the same where it has none."""

    inner: int
    end: int


class Edits:
    """Replacements for pieces of a part."""

    def __init__(self, part: bytes) -> None:
        self._part = part
        self._edits: list[tuple[int, int, bytes]] = []

    def replace(self, start: int, end: int, new: bytes = b"") -> None:
        """Replace the bytes from `start` to `end` by `new`."""
        self._edits.append((start, end, new))

    def applied(self) -> bytes:
        """Return the part with the outermost edits made; an edit within another is dropped."""
        done, at = list[bytes](), 0
        for start, end, new in sorted(self._edits, key=lambda edit: (edit[0], -edit[1])):
            if start >= at:
                done += [self._part[at:start], new]
                at = end
        return b"".join((*done, self._part[at:]))


def walk(part: bytes, spaces: Mapping[str, str], closed: Callable[[Sequence[Element], Span], None]) -> None:
    """Call back for each element when it ends, with it and those around it, itself last. Raises expat.ExpatError.

    `spaces` are short names of namespaces; elements of others have no names.
    """
    stack, parser = list[Element](), expat.ParserCreate(namespace_separator=" ")

    def enter(name: str, _: Mapping[str, str]) -> None:
        space, local = name.split(" ") if " " in name else ("", name)
        start = parser.CurrentByteIndex
        tag = _START.match(part, start)
        known = f"{spaces[space]}:{local}" if space in spaces else ""
        stack.append(Element(known, start, tag.end() if tag else start))

    def leave(_: str) -> None:
        inner = max(parser.CurrentByteIndex, stack[-1].inner)
        is_empty = part[stack[-1].inner - 2 : stack[-1].inner] == b"/>"
        closed(stack, Span(inner, inner if is_empty else part.index(b">", inner) + 1))
        stack.pop()

    parser.StartElementHandler, parser.EndElementHandler = enter, leave
    parser.Parse(part, True)
