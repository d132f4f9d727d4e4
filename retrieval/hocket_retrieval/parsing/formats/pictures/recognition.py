"""The text in pictures (OCR) by rapidocr, of the extra `ocr`. Its models lie in its wheel: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..reading_order import Line, in_reading_order

if TYPE_CHECKING:
    from PIL.Image import Image

MISSING = "no text recognition is installed"
REMEDY = "run: pip install 'hocket[ocr]'"
RECOGNISED = "read by text recognition: words may be wrong"
MAX_SIDE = 2_400  # pixels: a page of A4 at 200 dpi
MIN_CONFIDENCE = 0.6  # of a line, from 0 to 1
_BORDER = 32  # white pixels around a picture, since words at its very edge are missed
_SEARCHED_SIDE = 1_280  # pixels to which a picture is made smaller to see where its lines are
_MODELS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
}
Recognise = Callable[[Callable[[], "Image"]], str]  # the text in the picture that a function makes


class Recogniser:
    """A recogniser: loads the models, about a second and 100 MB, and reads one picture after another on one thread."""

    def __init__(self) -> None:
        import cv2
        from rapidocr import RapidOCR

        cv2.setNumThreads(1)
        threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
        models = {f"{part}.model_path": str(path) for part, path in _models().items()}
        searched = {"Det.limit_type": "max", "Det.limit_side_len": _SEARCHED_SIDE, "Rec.rec_batch_num": 1}
        upright = {"Global.use_cls": False}  # the model that tells lines upside down turns many good ones round
        bounds = {"Global.text_score": MIN_CONFIDENCE, "Global.max_side_len": MAX_SIDE + 2 * _BORDER}
        self._engine = RapidOCR(
            params={"Global.log_level": "critical", **threads, **models, **searched, **upright, **bounds}
        )

    def __call__(self, picture: Callable[[], Image]) -> str:
        """Return the lines of a picture that are certain enough, in reading order."""
        import numpy

        found = self._engine(numpy.asarray(_framed(picture()))[:, :, ::-1])
        boxes, texts = getattr(found, "boxes", None), getattr(found, "txts", None)
        if boxes is None or not texts:
            return ""
        return in_reading_order([_line(box.tolist(), text) for box, text in zip(boxes, texts, strict=True)])


class Postponed:
    """A stand-in where text recognition is not loaded: finds no text, and remembers that it was asked for some."""

    def __init__(self) -> None:
        self.was_asked = False

    def __call__(self, picture: Callable[[], Image]) -> str:  # noqa: ARG002 - it is not even made
        """Return no text, and remember the call."""
        self.was_asked = True
        return ""


@cache
def is_installed() -> bool:
    """Tell whether text recognition is installed here."""
    packages = all(find_spec(name) for name in ("PIL", "onnxruntime", "rapidocr"))
    return packages and all(model.is_file() for model in _models().values())


def _models() -> dict[str, Path]:
    spec = find_spec("rapidocr")
    folders = (spec.submodule_search_locations if spec else None) or [""]
    return {part: Path(folders[0], "models", name) for part, name in _MODELS.items()}


def _framed(picture: Image) -> Image:
    from PIL import Image

    picture.thumbnail((MAX_SIDE, MAX_SIDE))
    framed = Image.new("RGB", (picture.width + 2 * _BORDER, picture.height + 2 * _BORDER), "white")
    framed.paste(picture, (_BORDER, _BORDER), picture.getchannel("A") if picture.mode == "RGBA" else None)
    return framed


def _line(corners: list[list[float]], text: str) -> Line:
    across, down = zip(*corners, strict=True)
    return Line(min(across), min(down), max(across), max(down), text)
