"""A user's text file: read with lines that end in \\n, and saved in its own form, whole or not at all."""

from __future__ import annotations

import codecs
import difflib
import re
from collections import Counter
from pathlib import Path

from hocket_bus.common_prefix import common_prefix_length
from hocket_bus.errors import BadRequest
from hocket_tools.whole import replace

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_END = re.compile(r"\r\n|\r|\n")


class TextFile:
    """A text file that keeps its encoding, its byte order mark and the end of each line; a new one is plain UTF-8."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises BadRequest for what cannot be read as text."""
        self.path = path
        try:
            if path.exists() and not path.is_file():
                raise BadRequest(f"{path} is not a file", "name a text file")
            raw = path.read_bytes() if path.exists() else b""
            self._mark = next((mark for mark in _MARKS if raw.startswith(mark)), b"")
            self._encoding = _MARKS.get(self._mark, "utf-8")
            self._keep(raw[len(self._mark) :].decode(self._encoding))
        except (OSError, UnicodeDecodeError) as error:
            raise BadRequest(f"{path} cannot be read as text: {error}", "name a UTF-8 text file") from error

    def save(self, text: str) -> None:
        """Replace the text of the file. Raises OSError, and leaves the file as it was."""
        lines = text.split("\n")
        written = "".join(map("".join, zip(lines, [*self._ends_for(lines), ""], strict=True)))
        try:
            replace(self.path, self._mark + written.encode(self._encoding))
        except UnicodeEncodeError as error:
            raise OSError(0, f"this is not Unicode text: {error}") from error
        self._keep(written)

    def _keep(self, written: str) -> None:
        self.text = _END.sub("\n", written)
        self._lines, self._ends = self.text.split("\n"), _END.findall(written)

    def _ends_for(self, lines: list[str]) -> list[str]:
        """Return the ends of all lines but the last: as before, or as most lines end, or as the line before it."""
        counted = Counter(self._ends).most_common()
        usual = counted[0][0] if counted else "\n"
        ends = [""] * (len(lines) - 1)
        if len(counted) > 1:
            for here, there in self._same(lines):
                if here < len(ends) and there < len(self._ends):
                    ends[here] = self._ends[there]
            for number, end in enumerate(ends):
                ends[number] = end or (ends[number - 1] if number else usual)
        return [end or usual for end in ends]

    def _same(self, lines: list[str]) -> list[tuple[int, int]]:
        """Return the numbers of the lines that stayed, each as a pair: now, and before."""
        first = common_prefix_length(lines, self._lines)
        last = common_prefix_length(lines[first:][::-1], self._lines[first:][::-1])
        now, before = lines[first : len(lines) - last], self._lines[first : len(self._lines) - last]
        same = [(number, number) for number in range(first)]
        for found in difflib.SequenceMatcher(None, now, before, autojunk=False).get_matching_blocks():
            same += [(first + found.a + number, first + found.b + number) for number in range(found.size)]
        return same + [(len(lines) - number, len(self._lines) - number) for number in range(last, 0, -1)]
