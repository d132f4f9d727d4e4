"""The words said in a film, from its subtitles (SubRip and WebVTT): a section for each half minute, at its time."""

from __future__ import annotations

import re
from html import unescape

from ..content import Content, Section
from ..encodings import decoded

_CUE = re.compile(r"(?m)^(?:(\d+):)?(\d\d):(\d\d)[.,]\d{3}[ \t]+-->.*\n((?:.*\S.*(?:\n|\Z))*)")
_TAG = re.compile(r"<[^<>\n]*>|\{\\[^{}\n]*\}")
_STEP_S = 30


def subtitles(data: bytes) -> Content:
    """Read the lines without their numbers and marks; one that is repeated at once counts once."""
    parts: dict[int, list[str]] = {}
    last = ""
    for hours, minutes, seconds, lines in _CUE.findall(decoded(data).replace("\r\n", "\n")):
        at = 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds)
        line = " ".join(unescape(_TAG.sub("", lines)).split())
        if line and line != last:
            parts.setdefault(at // _STEP_S * _STEP_S, []).append(line)
            last = line
    return Content("", [Section("\n".join(lines), _time(at)) for at, lines in sorted(parts.items())])


def _time(seconds: int) -> str:
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"
