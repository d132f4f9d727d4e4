"""The process in the sandbox: reads one document after another for sandbox.py, which tells frames and limits.

All that parsers may ever load is loaded first. Then this process can open no file and no socket, begin no process,
write no file, and take no memory beyond the limit.
"""

from __future__ import annotations

import ctypes
import importlib
import logging
import os
import pkgutil
import resource
import signal
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

import msgspec

from . import readers
from .chunking import spans
from .errors import DocumentError
from .frames import MAX_TEXT_BYTES, MEMORY_BYTES, Asked, Outgrown, ReadDocument, Refused, read_frame, write_frame
from .outline import borders

WORN_BYTES = 288 << 20  # from here on the memory of one document may be missing for the next
_PDEATHSIG, _NO_NEW_PRIVS = 1, 38
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
    ".org": b"* a", ".rtf": rb"{\rtf1 a}",
    ".ipynb": b'{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
}  # fmt: skip


def main() -> None:
    """Answer until the other end is gone."""
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a parser prints is no answer
    _load_parsers()
    memory = os.open("/proc/self/statm", os.O_RDONLY)
    _lock_in()
    write_frame(answers, b"")  # ready
    while (frame := read_frame(asked)) is not None:
        question = msgspec.msgpack.decode(frame, type=Asked)
        _let_run(question.processor_s)
        write_frame(answers, _answered(question, asked.read(question.size), memory))


def _answered(question: Asked, data: bytes, memory: int) -> bytes:
    try:
        return msgspec.msgpack.encode(_answer(question, data, memory))
    except MemoryError:
        return msgspec.msgpack.encode(Outgrown())


def _answer(question: Asked, data: bytes, memory: int) -> ReadDocument | Refused:
    try:
        path = Path(question.path)
        content = readers.read(path, data)
        if len(content.text.encode()) > MAX_TEXT_BYTES:
            text = f"{readers.shown(path)}: its text is over {MAX_TEXT_BYTES >> 20} MiB"
            return Refused(text, "split it")
        passages = spans(content.text, question.words, borders(content.outline))
        ends = [end for passage in passages for end in passage]
        outline = list(content.outline)
        return ReadDocument(content.title, content.text, ends, outline, content.notice, _is_worn(memory))
    except DocumentError as error:
        return Refused(error.text, error.remedy, _is_worn(memory))


def _load_parsers() -> None:
    """Every codec and parser, and what those import and begin when they are first used."""
    logging.disable()
    warnings.simplefilter("ignore")
    for name in _LAZY:
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            with suppress(ImportError):  # some are of other systems
                importlib.import_module(module.name)
    for suffix, data in _FIRST.items():
        with suppress(DocumentError):
            readers.read(Path(f"a{suffix}"), data)


def _lock_in() -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    with suppress(OSError):  # where memory runs out for all, this process goes first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_CORE, resource.RLIMIT_NOFILE):
        resource.setrlimit(limit, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _let_run(seconds: float) -> None:
    """Be ended when that much more processor time is used."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, hard))


def _is_worn(memory: int) -> bool:
    pages = int(os.pread(memory, 64, 0).split()[0])
    return pages * resource.getpagesize() > WORN_BYTES


if __name__ == "__main__":
    main()
