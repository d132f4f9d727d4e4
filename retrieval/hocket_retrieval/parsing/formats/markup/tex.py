"""LaTeX made ready for its reader: as a whole document, with its letters, and without comments, labels and spacing."""

from __future__ import annotations

import re
import unicodedata

from ..encodings import decoded

_VERBATIM = re.compile(r"(?s)\\begin\{(verbatim\*?|lstlisting|minted)\}.*?(?:\\end\{\1\}|\Z)")
_COMMENT = re.compile(r"(?m)(?<!\\)((?:\\\\)*)%.*$")
_ACCENT = re.compile(r"\\(?:([`'^\"~=.])\\?([A-Za-z])|([`'^\"~=.uvHcr])\{\\?([A-Za-z])\})")
_SIGNS, _COMBINING = "`'^\"~=.uvHcr", "\u0300\u0301\u0302\u0308\u0303\u0304\u0307\u0306\u030c\u030b\u0327\u030a"
_MARKS = dict(zip(_SIGNS, _COMBINING, strict=True))
_LABEL = re.compile(r"\\label\{[^{}\n]*\}")
_REFERENCE = re.compile(r"\\(?:[cC]ite|ref|eqref|autoref|[cC]ref|pageref)[a-z]*\*?(?:\[[^\[\]\n]*\])*\{([^{}\n]*)\}")
_TIE = re.compile(r"(?<!\\)~")
_BEGIN = "\\begin{document}"


def document(data: bytes) -> bytes:
    """Prepare a file for its reader; a chapter of another file becomes a document of its own. Raises DocumentError."""
    text = decoded(data)
    parts, start = list[str](), 0
    for code in _VERBATIM.finditer(text):
        parts += [_plain(text[start : code.start()]), code[0]]
        start = code.end()
    text = "".join([*parts, _plain(text[start:])])
    if _BEGIN not in text:
        text = f"\\documentclass{{article}}\n{_BEGIN}\n{text}\n\\end{{document}}\n"
    return text.encode()


def _plain(text: str) -> str:
    return _TIE.sub(" ", _REFERENCE.sub(r"[\1]", _LABEL.sub("", _ACCENT.sub(_letter, _COMMENT.sub(r"\1", text)))))


def _letter(accent: re.Match[str]) -> str:
    mark, letter = accent[1] or accent[3], accent[2] or accent[4]
    return unicodedata.normalize("NFC", letter + _MARKS[mark])
