"""Pictures: the text that is recognised in them."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from ..errors import DocumentError
from .content import Content, Section
from .recognition import MAX_SIDE, RECOGNISED, Recognise

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = {
    ".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".tif": "TIFF", ".tiff": "TIFF", ".webp": "WEBP",
}  # fmt: skip
MAX_PIXELS = 50_000_000


def picture(data: bytes, recognise: Recognise) -> Content:
    """The text of a picture, or of each page of a TIFF. Raises DocumentError where it is too large."""
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # the bound here is lower, and an error for every size above it
    try:
        image = Image.open(BytesIO(data), formats=sorted({*FORMATS.values()}))
    except UnidentifiedImageError as error:
        raise DocumentError("is no picture of its type", "open and save it again") from error
    with image:
        pages = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
        sections = [
            Section(recognise(partial(_page, image, number)), f"p. {number + 1}" if pages > 1 else "")
            for number in range(pages)
        ]
    return Content("", sections, RECOGNISED)


def _page(image: Image, number: int) -> Image:
    """One page of it, upright, with transparency where it has some."""
    from PIL import ImageOps

    if number:
        image.seek(number)
    if image.width * image.height > MAX_PIXELS:
        raise DocumentError(f"has more than {MAX_PIXELS // 10**6} million pixels", "make it smaller")
    image.draft("RGB", (MAX_SIDE, MAX_SIDE))  # a photo is decoded no larger than it is needed
    page = image.convert("RGBA" if image.has_transparency_data else "RGB")
    ImageOps.exif_transpose(page, in_place=True)
    return page
