"""Text in djot without the marks of bold, links and quotes, which look like signs that were there before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\[\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*\)")
_NOTE = re.compile(r"\[(\^?\w{1,4})\]\(#[^()\s]*\)")
_NOTED = re.compile(r"\[\^?\w{1,4}\]")
_HEAD = re.compile(r"(>[^\S\n]?)*(\s*(?:[-*]|\d+[.)])\s+)?")
_GLUED = re.compile(r"(?m)^(\[\^\w+\])(?=#{1,6} )")  # a note before a heading
_DIV = re.compile(r"(?m)^:::.*$")
_FENCE = "```"


def unmarked(text: str, nodes: Iterable[Mapping[str, Any]]) -> str:
    """Return `text` with the marks removed from lines that are known, by `nodes`, to be paragraphs with marks."""
    contents = [(node["content"], bool(node.get("annotations"))) for node in nodes]
    texts = [(each["text"], is_marked) for each, is_marked in contents if "text" in each]
    plain = {key: (said, is_marked) for said, is_marked in texts if (key := _letters(said))}
    return "\n".join(_lines(_DIV.sub("", _GLUED.sub("\\1\n\n", text)), plain))


def _lines(text: str, plain: Mapping[str, tuple[str, bool]]) -> Iterator[str]:
    is_code = False
    for line in text.split("\n"):
        if line.startswith(_FENCE):
            is_code = not is_code
        yield line if is_code or line.startswith("|") else _line(_NOTE.sub(r"[\1]", line), plain)


def _line(line: str, plain: Mapping[str, tuple[str, bool]]) -> str:
    head = _HEAD.match(line)
    assert head  # it may be empty
    quote, bullet, body = head[1] or "", head[2] or "", line[head.end() :]
    if quote and not body:
        return ""
    for said, bare in ((_LINK.sub(r"\1", body), _LINK.sub("", body)), (body, body)):
        known, is_marked = plain.get(_letters(said), ("", False))
        if known and said.strip():
            is_same = "\n" not in known and _notes(known) == _notes(bare)
            return bullet + (known if is_marked and is_same else body)
    return line


def _notes(text: str) -> int:
    return len(_NOTED.findall(text))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
