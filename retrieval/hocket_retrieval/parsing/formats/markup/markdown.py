"""Markdown as text: markup goes, words and code stay; front matter gives the title, and its other fields are text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import PurePosixPath

from ..content import MAX_SECTIONS, Content, Section
from ..encodings import decoded
from ..headings import Headings
from ..sheets.table import piped


def _heading(line: re.Match[str]) -> str:
    return f"\n{line[2].rstrip().rstrip('#').rstrip()}\n"


def _linked(target: str) -> str:
    """Return how a vault shows a link to one of its notes: the note's name, and the part of it."""
    note, _, part = target.partition("#")
    name = PurePosixPath(note).name
    return f"{name}, {part}" if name and part else name or part


# HTML's names, old ones among them; anything else between angle brackets is text, as in `vector<int>`.
_ELEMENTS = """
    a abbr acronym address area article aside audio b base bdi bdo big blockquote body br button canvas caption center
    cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure font
    footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li
    link main map mark marquee math menu meta meter nav nobr noscript object ol optgroup option output p param picture
    pre progress q rp rt ruby s samp script search section select slot small source span strike strong style sub
    summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr"""
# These run on hostile files while everything else waits: none may look at a character again for each one before it.
_FRONT = re.compile(r"\A---[^\S\n]*\n((?:(?!---[^\S\n]*$|\.\.\.[^\S\n]*$).*\n)*+)(?:---|\.\.\.)[^\S\n]*(?:\n|\Z)", re.M)
_TITLE = re.compile(r"(?mi)^title:[^\S\n]*(\S.*)$")
_FIELD = re.compile(r"([^\W\d][\w -]*):(?:[^\S\n]+(.*))?\Z")
_HEADING = re.compile(r"(?m)^(#{1,6})[^\S\n]+(\S.*)$")
_UNDERLINED = re.compile(r"(?m)(?:(?<=\n\n)|\A)(?![#>|+*=\s-])([^\n|]*\S)[^\S\n]*\n(={2,}|-{2,})[^\S\n]*$")
_DEFINED = re.compile(r"(?m)^[^\S\n]{0,3}\[(?!\^)([^\[\]\n]+)\]:[^\S\n]*\S.*(?:\n|\Z)")
_REFERENCE = re.compile(r"\[([^\[\]\n]+)\](?:\[([^\[\]\n]*)\])(?!\()")
_COMMENT = re.compile(r"<!--(?:(?!<!--|-->)[\s\S])*+-->")
_FENCE = re.compile(r"[^\S\n]{0,3}(```+|~~~+)")
_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)([^\n]*?[^`\n])\1(?!`)")
_MARKUP: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (
        r"(?m)^[^\S\n]*\|.*\|[^\S\n]*\n[^\S\n]*\|[\s:|-]*-[:|\s-]*\|[^\S\n]*$(?:\n[^\S\n]*\|.*$)*",
        lambda table: f"\n{piped(table[0].strip().splitlines())}\n",
    ),
    (r"!\[\[[^\[\]\n]*\]\]", ""),
    (r"\[\[([^\[\]\n|]*)(?:\|([^\[\]\n]*))?\]\]", lambda link: link[2] or _linked(link[1])),
    (r"!?\[([^\[\]\n]*)\]\((?:[^()\s]++|\([^()]*\))*+(?:\s+\"[^\"]*\")?\)", r"\1"),
    (_HEADING.pattern, _heading),
    (r"(?m)^\s{0,3}>\s?", ""),
    (r"(?m)^\[![\w-]+\][+-]?[^\S\n]*", ""),  # a callout's kind
    (r"(?<!\w)(~~|==)(?=[^\s~=])([^~=\n]+)(?<=\S)\1(?!\w)", r"\2"),
    (r"(\*\*|__)(?=\S)((?:(?!\1).)++)(?<=\S)\1", r"\2"),
    (r"(?<!\w)([*_])(?=\S)([^*_\n]+)(?<=\S)\1(?!\w)", r"\2"),
    (r"<([a-zA-Z][\w+.-]*:[^\s<>]+|[^\s<>@/]+@[^\s<>@]+)>", r"\1"),
    (rf"(?i)</?(?:{'|'.join(_ELEMENTS.split())})(?:[\s/][^<>\n]*)?>", ""),
)
_HELD = "\ue000{}\ue001"  # stands for code while markup goes: of the private area, and taken out of a source before
_OF_HELD = re.compile("\ue000([0-9]+)\ue001")


def markdown(data: bytes) -> Content:
    """The words of a file. Raises DocumentError."""
    source = decoded(data).replace("\r\n", "\n").translate({0xE000: None, 0xE001: None})
    fields = _FRONT.match(source)
    body = source[fields.end() :] if fields else source
    named = _TITLE.search(fields[1]) if fields else None
    marked, code = _without_code(body)
    text = _of_one_kind(_COMMENT.sub("", marked))  # which may hold headings
    heading = _HEADING.search(text)
    title = named[1].strip().strip("\"'") if named else _unmarked(_heading(heading)) if heading else ""

    def back(part: str) -> str:
        return _OF_HELD.sub(lambda held: code[int(held[1])], part)

    sections = [Section(back(section.text), back(section.place)) for section in _sections(text)]
    values = [Section("\n".join(_named_values(fields[1])) + "\n\n")] if fields else []
    return Content(back(title), [*values, *sections])


def _named_values(fields: str) -> list[str]:
    """Return each field of front matter with a value, but for the title, as "name: value"; a list's values in one line.

    So a date, an author and tags are found and read as if they stood in the note.
    """
    found = list[tuple[str, list[str]]]()
    for line in fields.splitlines():
        if field := _FIELD.match(line):
            found.append((field[1], [_plain(field[2] or "")]))
        elif found and not line.lstrip().startswith("#"):
            found[-1][1].append(_plain(line.strip().removeprefix("- ")))
    shown = ((name, ", ".join(filter(None, values))) for name, values in found if name.casefold() != "title")
    return [f"{name}: {value}" for name, value in shown if value]


def _plain(value: str) -> str:
    """Return a value without the marks around it; empty for marks that open a text of many lines, or say nothing."""
    value = value.strip()
    if value in {"|", ">", "|-", ">-", "[]", "{}", "null", "~"}:
        return ""
    return value[1:-1].replace('"', "").strip() if value[0:1] == "[" and value[-1:] == "]" else value.strip("\"'")


def _of_one_kind(text: str) -> str:
    """Mark underlined headings by `#`, and turn links that are defined elsewhere into their texts."""
    text = _UNDERLINED.sub(lambda line: f"{'#' if line[2][0] == '=' else '##'} {line[1]}\n", text)
    names = {name.lower() for name in _DEFINED.findall(text)}
    if not names:
        return text
    linked = _REFERENCE.sub(lambda link: link[1] if (link[2] or link[1]).lower() in names else link[0], text)
    return _DEFINED.sub("", linked)


def _sections(text: str) -> Iterator[Section]:
    """Yield what is before the first heading, and what is from each one on to the next."""
    headings, place, start = Headings(), "", 0
    for line in islice(_HEADING.finditer(text), MAX_SECTIONS):
        yield Section(_unmarked(text[start : line.start()]), place)
        headings.enter(len(line[1]), _unmarked(_heading(line)))
        place, start = headings.path, line.start()
    yield Section(_unmarked(text[start:]), place)


def _without_code(source: str) -> tuple[str, list[str]]:
    """Return the source with a mark for each piece of code, and these pieces, which are kept to the letter."""
    lines: list[str] = []
    code: list[str] = []

    def held(piece: str) -> str:
        code.append(piece)
        return _HELD.format(len(code) - 1)

    fence, inside = "", list[str]()
    for line in source.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                lines += ["", held("\n".join(inside)), ""]
                fence = ""
            else:
                inside.append(line)
        elif mark:
            fence, inside = mark[1], []
        else:
            lines.append(_SPAN.sub(lambda span: held(span[2]), line))
    if fence:  # it is never closed
        lines.append(held("\n".join(inside)))
    return "\n".join(lines), code


def _unmarked(text: str) -> str:
    for pattern, plain in _MARKUP:
        text = re.sub(pattern, plain, text)
    return text
