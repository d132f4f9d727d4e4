"""The digest of Python sources that stays the same when only layout, comments or docstrings change.

It is taken over tokens, not over syntax trees, which differ between versions of Python. Since 3.12 an f-string is many
tokens; here it is the one that it was before.
"""

from __future__ import annotations

import hashlib
import io
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

SHORT = 16
_SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
_BLOCKS = {tokenize.INDENT: "{", tokenize.DEDENT: "}"}
_OPENS, _CLOSES = (getattr(tokenize, f"FSTRING_{end}", -1) for end in ("START", "END"))

Piece = tuple[int, str]  # the kind of a token, and its text


def digest(texts: Iterable[str]) -> str:
    """Return a digest of texts in their order."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:SHORT]


def digest_of_files(files: Sequence[Path]) -> str:
    """Return a digest of the contents of files, empty without files; files that are missing do not count."""
    sha = hashlib.sha256()
    for file in files:
        if file.is_file():
            sha.update(file.read_bytes())
    return sha.hexdigest()[:SHORT] if files else ""


def digest_under(root: Path, pattern: str) -> str:
    """Return a digest of the files in `root` that match `pattern` or lie beneath a match; empty if nothing is there.

    Programs count by what they do, others by their bytes.
    """
    found = sorted({file for place in root.glob(pattern) for file in _files(place)})
    return digest(part for file in found for part in (file.relative_to(root).as_posix(), _content(file)))[
        : SHORT if found else 0
    ]


def significant(source: str) -> Iterator[str]:
    """Yield the tokens of a program without comments, layout and strings that stand as statements of their own."""
    statement: list[Piece] = []
    for kind, text in _whole(source):
        if kind in _BLOCKS:
            yield _BLOCKS[kind]
        elif kind != tokenize.NEWLINE:
            statement.append((kind, text))
        else:
            if any(kind != tokenize.STRING for kind, _ in statement):
                yield from (text for _, text in statement)
                yield "\n"
            statement = []


def _whole(source: str) -> Iterator[Piece]:
    """Yield the significant tokens, an f-string as one."""
    lines = list(io.StringIO(source))
    depth, start = 0, (0, 0)
    for token in tokenize.generate_tokens(iter(lines).__next__):
        if token.type == _OPENS:
            start = start if depth else token.start
            depth += 1
        elif token.type == _CLOSES:
            depth -= 1
            if not depth:
                yield tokenize.STRING, _between(lines, start, token.end)
        elif not depth and token.type not in _SILENT:
            yield token.type, token.string


def _between(lines: Sequence[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    (first, at), (last, until) = start, end
    if first == last:
        return lines[first - 1][at:until]
    return "".join([lines[first - 1][at:], *lines[first : last - 1], lines[last - 1][:until]])


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    elif place.is_dir():
        yield from (file for file in place.rglob("*") if file.is_file() and "__pycache__" not in file.parts)


def _content(file: Path) -> str:
    if file.suffix == ".py":
        return digest(significant(file.read_text("utf-8")))
    return digest_of_files([file])
