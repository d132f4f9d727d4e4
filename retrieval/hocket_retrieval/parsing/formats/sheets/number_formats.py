"""Numbers of a spreadsheet as it shows them, where that says more than the number: percentages, currencies, units."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from xml.etree import ElementTree
from xml.sax.saxutils import escape

_PERCENT = {"9": "0%", "10": "0.00%"}  # the formats that every file of Excel has
_STYLES, _SHEETS = "xl/styles.xml", re.compile(r"xl/worksheets/[^/]*\.xml")
_TOKEN = re.compile(
    r'"(?P<said>[^"]*)"|\\(?P<sign>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[[^\]]*\]|[_*].'
    r"|(?P<digits>[#0?](?:[#0?,. ]*[#0?])?)|(?P<percent>%)|(?P<other>.)"
)
_CELL = (  # of one of the styles that are put in
    rb"<((?:\w+:)?)c\b(?=[^<>]*\ss=[\"'](?:%b)[\"'])([^<>]*)>((?:<(?:\w+:)?f\b[^<>]*(?:/>|>[^<>]*</(?:\w+:)?f>))?)"
    rb"<(?:\w+:)?v>([^<>]*)</(?:\w+:)?v>"
)
_STYLE, _TYPE = re.compile(rb"\bs=[\"'](\d+)[\"']"), re.compile(rb"\bt=[\"'](\w+)[\"']")
_OPEN_CELL = re.compile(rb"<table:table-cell\b[^<>]*\boffice:value-type=\"(?:percentage|currency)\"[^<>]*[^<>/]>")
_OPEN_VALUE = re.compile(rb"\boffice:(?:value|currency|value-type)=\"[^\"]*\"")
_SIGNS = frozenset(" -+()€$£¥%/°")


def of_excel(parts: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return the sheets among a package's parts, with numbers as text where their format says more."""
    codes = _codes(parts[_STYLES]) if _STYLES in parts else {}
    if not codes:
        return {}
    cell = re.compile(_CELL % b"|".join(codes))
    return {name: cell.sub(partial(_shown, codes), parts[name]) for name in parts if _SHEETS.fullmatch(name)}


def of_open_document(content: bytes) -> bytes:
    """Return an OpenDocument's content with such numbers as text, which is stored beside each number there."""
    return _OPEN_CELL.sub(_as_text, content)


def _as_text(cell: re.Match[bytes]) -> bytes:
    return _OPEN_VALUE.sub(b"", cell[0][:-1]) + b' office:value-type="string">'


def _codes(styles: bytes) -> dict[bytes, str]:
    """The formats that say more than the number, by the number of the style of cells that has them."""
    try:
        root = ElementTree.fromstring(styles)
    except ElementTree.ParseError:
        return {}
    codes = _PERCENT | {each.get("numFmtId", ""): each.get("formatCode", "") for each in root.iterfind(".//{*}numFmt")}
    of_cells = root.iterfind("{*}cellXfs/{*}xf")
    found = {str(at).encode(): codes.get(each.get("numFmtId", ""), "") for at, each in enumerate(of_cells)}
    return {style: code for style, code in found.items() if code and written(1.0, code)}


def _shown(codes: Mapping[bytes, str], cell: re.Match[bytes]) -> bytes:
    style, kind = _STYLE.search(cell[2]), _TYPE.search(cell[2])
    code = codes.get(style[1]) if style else None
    if code is None or (kind and kind[1] != b"n"):
        return cell[0]
    try:
        shown = escape(written(float(cell[4]), code)).encode()
    except (ValueError, OverflowError):
        return cell[0]
    space, named = cell[1], cell[2] if kind is None else _TYPE.sub(b"", cell[2])
    return b'<%sc%s t="str"><%sv>%s</%sv>' % (space, named, space, shown, space)


def written(number: float, code: str) -> str:
    """A number by a format such as `0.0%`; empty where that says no more, or is another kind of format, as of dates."""
    positive, *others = code.split(";")
    tokens = list(_TOKEN.finditer(others[0] if number < 0 and others else positive))
    if sum(token["digits"] is not None for token in tokens) != 1:
        return ""
    if any(token["other"] and token["other"] not in _SIGNS for token in tokens):
        return ""
    shown = abs(number) if number < 0 and others else number
    parts = [
        _digits(shown * (100 if any(each["percent"] for each in tokens) else 1), token["digits"])
        if token["digits"]
        else "".join(filter(None, token.groups()))
        for token in tokens
    ]
    text = "".join(parts).strip()
    return text if re.search(r"[^\s\d.,+()-]", text) else ""


def _digits(number: float, form: str) -> str:
    fraction = form.partition(".")[2]
    places = len(re.findall(r"[0#?]", fraction))
    text = f"{number:.{places}f}"
    spare = len(fraction.rstrip()) - len(fraction.rstrip().rstrip("#"))
    for _ in range(spare):
        text = text.removesuffix("0")
    return text.removesuffix(".")
