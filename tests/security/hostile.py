"""Files made to harm who reads them: each of a few KB, and named by what it tries."""

from __future__ import annotations

import io
import os
import socket
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import docx

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def word(columns: int = 1, text: str = "Old mill.") -> bytes:
    """A Word file with a table of one cell, which says that it spans so many columns."""
    document = docx.Document()
    cell = document.add_table(1, 1).cell(0, 0)
    cell.text = text
    if columns > 1:
        cell._tc.get_or_add_tcPr()
        cell._tc.grid_span = columns
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def word_with(body: bytes, name: str = "word/document.xml") -> bytes:
    """A Word file with another part in place of its own."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(word())) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            new.writestr(part, body if part == name else old.read(part))
    return out.getvalue()


def document_xml(inside: bytes, before: bytes = b"") -> bytes:
    return b'%s<w:document xmlns:w="%s"><w:body>%s</w:body></w:document>' % (before, WORD.encode(), inside)


def laughs() -> bytes:
    """Entities that stand for ten of the one before, nine times over."""
    levels = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
    return b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "lol">%s]>' % levels


def pdf(*objects: bytes, root: int = 1) -> bytes:
    """A PDF without a table of its objects; readers look for them."""
    body = b"".join(b"%d 0 obj %s endobj\n" % (number, inside) for number, inside in enumerate(objects, start=1))
    return b"%%PDF-1.4\n%strailer <</Root %d 0 R>>\nstartxref\n0\n%%%%EOF\n" % (body, root)


def page(content: bytes, *more: bytes, extra: bytes = b"", length: int | None = None) -> bytes:
    """A PDF of one page with this content stream."""
    stream = b"<</Length %d %s>> stream\n%s\nendstream" % (length or len(content), extra, content)
    font = b"<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>"
    return pdf(
        b"<</Type /Catalog /Pages 2 0 R>>",
        b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
        b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources <</Font <</F 5 0 R>>>>>>",
        stream,
        font,
        *more,
    )


def said(text: bytes) -> bytes:
    return b"BT /F 9 Tf (%s) Tj ET" % text


def flate_bomb(layers: int, size: int) -> bytes:
    data = said(b"a") + b" " * size
    for _ in range(layers):
        data = zlib.compress(data, 9)
    return page(data, extra=b"/Filter [%s]" % (b"/FlateDecode " * layers))


def looped_pages() -> bytes:
    return pdf(
        b"<</Type /Catalog /Pages 2 0 R>>",
        b"<</Type /Pages /Kids [3 0 R 2 0 R] /Count 2>>",
        b"<</Type /Pages /Parent 2 0 R /Kids [2 0 R] /Count 9>>",
    )


def many_pages() -> bytes:
    """One page that a tree of fifty levels names twice at each."""
    levels = [b"<</Type /Pages /Kids [%d 0 R %d 0 R] /Count 99>>" % (n + 1, n + 1) for n in range(2, 52)]
    last = b"<</Type /Page /MediaBox [0 0 9 9]>>"
    return pdf(b"<</Type /Catalog /Pages 2 0 R>>", *levels, last)


def looped_forms() -> bytes:
    form = b"<</Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources <</XObject <</X 6 0 R>>>> /Length 5>>"
    return page(b"/X Do " * 200, form + b" stream\n/X Do\nendstream").replace(
        b"/Resources <</Font <</F 5 0 R>>>>", b"/Resources <</XObject <</X 6 0 R>>>>"
    )


def wide_font() -> bytes:
    """A font whose map of characters names one range of four thousand million."""
    cmap = b"begincmap 1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange endcmap"
    to_unicode = b"<</Length %d>> stream\n%s\nendstream" % (len(cmap), cmap)
    return page(said(b"a"), to_unicode).replace(b"/BaseFont /Helvetica", b"/BaseFont /Helvetica /ToUnicode 6 0 R")


FAST: dict[str, Callable[[], bytes]] = {
    "laughs.docx": lambda: word_with(document_xml(b"<w:p><w:r><w:t>&l9;</w:t></w:r></w:p>", laughs())),
    "outside.docx": lambda: word_with(document_xml(b"&x;", b'<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>')),
    "nested.docx": lambda: word_with(document_xml(b"<w:p>" * 50_000)),
    "cut.docx": lambda: word()[:2_000],
    "laughs.html": lambda: laughs() + b"<p>&l9;</p>",
    "font.pdf": wide_font,
    "loop.pdf": looped_pages,
    "number.pdf": lambda: page(said(b"Old mill.")).replace(b"trailer <<", b"trailer <</Info <</Title 2024>> "),
    "nul.txt": lambda: b"\x00" * 100_000,
    "empty.txt": lambda: b"",
    "no-space.txt": lambda: b"x" * 10**6,
    "utf16.txt": lambda: b"\xff\xfe" + b"\x00\xd8" * 50_000,
    "encoding.html": lambda: b'<meta charset="hex_codec"><p>Old mill.</p>',
    "line\nbreak.txt": lambda: b"Old mill.",
    "escape\x1b[2J.md": lambda: b"Old mill.",
    "bad\udcff.txt": lambda: b"Old mill.",
}
SLOW: dict[str, Callable[[], bytes]] = {
    "columns.docx": lambda: word(10**8),
    "inflated.docx": lambda: word_with(document_xml(b"<w:p><w:r><w:t>%s</w:t></w:r></w:p>" % (b"a " * (150 << 20)))),
    "cells.docx": lambda: word_with(
        document_xml(b"<w:tbl>%s</w:tbl>" % (b"<w:tr>%s</w:tr>" % (b"<w:tc><w:p/></w:tc>" * 2_000) * 500))
    ),
    "nested.html": lambda: b"<div>" * 12_000 + b"Old mill.",
    "unclosed.html": lambda: b"<!--" * 20_000,
    "attributes.html": lambda: b"<p %s>Old mill.</p>" % b" ".join(b"a%d=1" % n for n in range(100_000)),
    "flate.pdf": lambda: flate_bomb(1, 1 << 30),
    "flates.pdf": lambda: flate_bomb(3, 1 << 30),
    "forms.pdf": looped_forms,
    "tree.pdf": many_pages,
    "arrays.pdf": lambda: page(b"[" * 16_000),
    "lines.txt": lambda: b"a.\n\n" * (1 << 18),
    "signs.md": lambda: b"*_`[(<" * 100_000,
    "letters.txt": lambda: b"a " * (8 << 20),
}


def make(folder: Path, *kinds: dict[str, Callable[[], bytes]]) -> list[str]:
    """Write these files, and what only looks like one; their names."""
    for kind in kinds:
        for name, content in kind.items():
            (folder / name).write_bytes(content())
    os.mkfifo(folder / "pipe.txt")
    (folder / "zero.txt").symlink_to("/dev/zero")
    (folder / "passwd.txt").symlink_to("/etc/passwd")
    (folder / "self.txt").symlink_to("self.txt")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "s.txt"))
    (folder / "folder.txt").mkdir()
    return [path.name for path in folder.iterdir() if path.name != "folder.txt"]
