"""Pictures of text, drawn here: as files of their own, and as the pages of a PDF."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import pypdfium2
from PIL import ExifTags, Image, ImageDraw, ImageFont

FONT = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")


def drawn(*lines: str, size: tuple[int, int] = (1240, 620)) -> Image.Image:
    """These lines in black on white."""
    picture = Image.new("RGB", size, "white")
    font = ImageFont.truetype(str(FONT), 32)
    for number, line in enumerate(lines):
        ImageDraw.Draw(picture).text((90, 90 + 60 * number), line, "black", font)
    return picture


def clear(*lines: str) -> Image.Image:
    """The same lines, on nothing."""
    shown = drawn(*lines)
    picture = Image.new("RGBA", shown.size, (0, 0, 0, 0))
    picture.putalpha(shown.convert("L").point(lambda light: 255 - light))
    return picture


def turned() -> bytes:
    """What a camera writes into a photo that lies on its left side."""
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    return exif.tobytes()


def saved(kind: str, *pages: Image.Image, **options: Any) -> bytes:
    """A file of that kind."""
    out = io.BytesIO()
    more = {"save_all": True, "append_images": pages[1:]} if len(pages) > 1 else {}
    pages[0].save(out, kind, **more, **options)
    return out.getvalue()


def bound(*parts: bytes) -> bytes:
    """One PDF of several, in their order."""
    whole = pypdfium2.PdfDocument.new()
    for part in parts:
        whole.import_pages(pypdfium2.PdfDocument(part))
    out = io.BytesIO()
    whole.save(out)
    return out.getvalue()


def columns(left: Sequence[str], right: Sequence[str]) -> Image.Image:
    """Two columns side by side."""
    picture = drawn(*left, size=(1700, 620))
    font = ImageFont.truetype(str(FONT), 32)
    for number, line in enumerate(right):
        ImageDraw.Draw(picture).text((890, 90 + 60 * number), line, "black", font)
    return picture
