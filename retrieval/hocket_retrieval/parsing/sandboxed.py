"""The process in the sandbox: reads one document after another for sandbox.py, which tells frames and limits.

All that parsers may ever load is loaded first. Then this process can open no file and no socket, begin no process,
reach none that runs, write no file, and take no memory beyond the limit.
"""

from __future__ import annotations

import importlib
import io
import logging
import os
import pkgutil
import resource
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from hocket_bus.missing import lack

from ..errors import DocumentError
from ..text.chunking import spans
from . import readers
from .confinement import confine
from .formats.pictures import recognition
from .formats.pictures.picture import FORMATS
from .formats.pictures.recognition import Postponed, Recognise, Recogniser
from .frames import MAX_TEXT_BYTES, Asked, Outgrown, ReadDocument, Refused, Started, read_frame, write_frame
from .limits import READING, RECOGNITION, Limits
from .outline import borders

_INSTALL = "pip install 'hocket[retrieval,ocr]'"
_LAZY = ("encodings", "charset_normalizer", "email", "selectolax")  # they import parts of themselves when first used
_PDF = b"""%PDF-1.4
1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj 2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
3 0 obj <</Type /Page /Parent 2 0 R /Contents 4 0 R /Resources <</Font <</F 5 0 R>>>>>> endobj
4 0 obj <</Length 21>> stream\nBT /F 9 Tf (a) Tj ET \nendstream endobj
5 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> endobj trailer <</Root 1 0 R>>
startxref
0
%%EOF"""
_MAIL = b"Subject: a\nContent-Type: text/html; charset=utf-8\n\n<p>a"
_FIRST = {  # of each parser a document
    ".html": b"<p>a", ".md": b"*a*", ".pdf": _PDF, ".csv": b"a,b\n1,2", ".eml": _MAIL, ".txt": "ä b".encode("cp1252"),
    ".xlsx": b"PK", ".msg": b"a", ".org": b"* a", ".rtf": rb"{\rtf1 a}",
    ".ipynb": b'{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
}  # fmt: skip


def main() -> None:
    """Answer until the other end is gone."""
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a parser prints is no answer
    limits = RECOGNITION if "--recognise" in sys.argv else READING
    try:
        _load_parsers()
        recogniser = _loaded_recogniser() if limits.recognises else None
    except ImportError as error:
        write_frame(answers, msgspec.msgpack.encode(Refused(*lack("what reads documents", "", _INSTALL, error))))
        return
    is_worn = partial(_is_over, limits.worn_bytes, os.open("/proc/self/statm", os.O_RDONLY))
    is_installed = recognition.is_installed()
    write_frame(answers, msgspec.msgpack.encode(Started("; ".join(_lock_in(limits)))))
    while (frame := read_frame(asked)) is not None:
        question = msgspec.msgpack.decode(frame, type=Asked)
        _let_run(question.processor_s)
        recognise = recogniser or (Postponed() if is_installed else None)
        write_frame(answers, _answered(question, asked.read(question.size), recognise, is_worn))


def _answered(question: Asked, data: bytes, recognise: Recognise | None, is_worn: Callable[[], bool]) -> bytes:
    try:
        return msgspec.msgpack.encode(_answer(question, data, recognise, is_worn))
    except MemoryError:
        return msgspec.msgpack.encode(Outgrown())


def _answer(
    question: Asked, data: bytes, recognise: Recognise | None, is_worn: Callable[[], bool]
) -> ReadDocument | Refused:
    try:
        path = Path(question.path)
        content = readers.read(path, data, recognise)
        if len(content.text.encode()) > MAX_TEXT_BYTES:
            text = f"{readers.shown(path)}: its text is over {MAX_TEXT_BYTES >> 20} MiB"
            return Refused(text, "split it")
        passages = spans(content.text, question.words, borders(content.outline))
        ends = [end for passage in passages for end in passage]
        outline, scanned = list(content.outline), _was_asked(recognise)
        return ReadDocument(content.title, content.text, ends, outline, content.notice, is_worn(), scanned)
    except DocumentError as error:
        return Refused(error.text, error.remedy, is_worn(), _was_asked(recognise))


def _was_asked(recognise: Recognise | None) -> bool:
    return isinstance(recognise, Postponed) and recognise.was_asked


def _load_parsers() -> None:
    """Load every codec and parser, and what those import and begin when they are first used."""
    logging.disable()
    warnings.simplefilter("ignore")
    for name in _LAZY:
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            with suppress(ImportError):  # some are of other systems
                importlib.import_module(module.name)
    for suffix, data in _FIRST.items():
        with suppress(DocumentError):
            readers.read(Path(f"a{suffix}"), data)


def _loaded_recogniser() -> Recogniser:
    """Return a recogniser with all that it loads when it is first used, for a picture of each kind and for a page."""
    from PIL import Image, ImageDraw

    recogniser, drawn = Recogniser(), Image.new("RGB", (320, 96), "white")
    ImageDraw.Draw(drawn).text((32, 32), "Ready", "black", font_size=32)
    for suffix, kind in FORMATS.items():
        saved = io.BytesIO()
        drawn.save(saved, kind)
        readers.read(Path(f"a{suffix}"), saved.getvalue(), recogniser)
    saved = io.BytesIO()
    drawn.save(saved, "PDF")
    readers.read(Path("a.pdf"), saved.getvalue(), recogniser)
    return recogniser


def _lock_in(limits: Limits = READING) -> list[str]:
    """Give up all that is not needed; return what this system does not let the process give up."""
    with suppress(OSError):  # where memory runs out for all, this process goes first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_CORE, resource.RLIMIT_NOFILE):
        resource.setrlimit(limit, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    return confine()


def _let_run(seconds: float) -> None:
    """Limit this process to that much more processor time, after which the system ends it."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, hard))


def _is_over(size: int, statm: int) -> bool:
    """Tell whether this process takes more than `size` bytes of memory, by its opened statm."""
    pages = int(os.pread(statm, 64, 0).split()[0])
    return pages * resource.getpagesize() > size


if __name__ == "__main__":
    main()
