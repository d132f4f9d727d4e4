"""Conversion of OpenDocument to a form that a reader knows: presentations, and files that are one XML."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .package import changed, zipped
from .page_breaks import BREAK

_MIME = "application/vnd.oasis.opendocument."
_MANIFEST = b'<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
_CONTENT = "content.xml"
_ROOT = re.compile(rb"(</?office:document)(?=[\s>])")
_SLIDE = re.compile(rb"<draw:page(?=[\s>])[^<>]*>")
_IMAGE = re.compile(rb"<draw:image\b([^<>]*?)/?>")
_SHAPES = "page frame text-box custom-shape g image a rect ellipse line connector page-thumbnail"
_AROUND = re.compile(
    rb"<draw:(?:(?!image)(?:%b))(?=[\s>/])[^<>]*>|</draw:(?:%b)>|</?presentation:notes\b[^<>]*>"
    % ((_SHAPES.replace(" ", "|").encode(),) * 2)
)


def packaged(data: bytes, kind: str) -> bytes:
    """A flat file as a package; `kind` is `text` or `spreadsheet`."""
    parts = {"mimetype": f"{_MIME}{kind}".encode(), "META-INF/manifest.xml": _MANIFEST}
    return zipped(parts | {_CONTENT: _ROOT.sub(rb"\1-content", data)})


def as_text(data: bytes) -> bytes:
    """A presentation as a text, in which each slide begins a page. Its notes stand behind what the slide shows."""
    return changed(data, _paged)


def _paged(parts: Mapping[str, bytes]) -> Mapping[str, bytes]:
    content = _SLIDE.sub(f"<text:p>{BREAK}</text:p>".encode(), parts[_CONTENT])
    text = _AROUND.sub(b"", content)
    text = _IMAGE.sub(rb"<text:p><draw:frame><draw:image\1/></draw:frame></text:p>", text)
    text = re.sub(rb"(</?office:)presentation(?=[\s>])", rb"\1text", text)
    return {"mimetype": f"{_MIME}text".encode(), _CONTENT: text}
