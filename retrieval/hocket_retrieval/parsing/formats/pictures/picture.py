"""Pictures: the text that is recognised in them."""

from __future__ import annotations

import re
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from ....errors import DocumentError
from ..content import Content, Section
from .recognition import MAX_SIDE, RECOGNISED, Recognise

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

FORMATS = {
    ".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".tif": "TIFF", ".tiff": "TIFF", ".webp": "WEBP",
}  # fmt: skip
_PNG, _JPEG, _TIFF = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", (b"II*\0", b"MM\0*")
_FRAME = re.compile(rb"\xff[\xc0-\xc3]\x00[\x0b-\x1f]\x08(..)(..)", re.DOTALL)  # the head of a JPEG's picture
MAX_PIXELS = 50_000_000


def picture(data: bytes, recognise: Recognise | None) -> Content:
    """The text of a picture, or of each page of a TIFF. Raises DocumentError where it is too large."""
    assert recognise  # else nobody asks
    with _image(data) as image:
        pages = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
        sections = [
            Section(recognise(partial(_page, image, number)), f"p. {number + 1}" if pages > 1 else "")
            for number in range(pages)
        ]
    return Content("", sections, RECOGNISED)


def opened(data: bytes) -> Image:
    """The picture in a file, the first of several. Raises DocumentError, and whatever PIL does."""
    with _image(data) as image:
        return _page(image, 0)


def pixels(data: bytes) -> tuple[int, int] | None:
    """Width and height of a picture, (0, 0) where they do not stand at its start; None of what is none."""
    if data.startswith(_PNG):
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if data.startswith(_JPEG):
        frame = _FRAME.search(data)
        return (int.from_bytes(frame[2], "big"), int.from_bytes(frame[1], "big")) if frame else (0, 0)
    return (0, 0) if data.startswith(_TIFF) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP") else None


def _image(data: bytes) -> ImageFile:
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # the bound here is lower, and an error for every size above it
    try:
        return Image.open(BytesIO(data), formats=sorted({*FORMATS.values()}))
    except UnidentifiedImageError as error:
        raise DocumentError("is not a picture of its type", "open and save it again") from error


def _page(image: Image, number: int) -> Image:
    """Return one page of a picture, upright, with transparency where it has some. Raises DocumentError if too large."""
    from PIL import ImageOps

    if number:
        image.seek(number)
    if image.width * image.height > MAX_PIXELS:
        raise DocumentError(f"has more than {MAX_PIXELS // 10**6} million pixels", "make it smaller")
    image.draft("RGB", (MAX_SIDE, MAX_SIDE))  # a photo is decoded no larger than it is needed
    page = image.convert("RGBA" if image.has_transparency_data else "RGB")
    ImageOps.exif_transpose(page, in_place=True)
    return page
