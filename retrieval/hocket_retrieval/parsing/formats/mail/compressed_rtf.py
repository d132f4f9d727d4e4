"""The text of a mail of Outlook that is kept as compressed RTF (MS-OXRTFCP)."""

from __future__ import annotations

import struct

from ....errors import DocumentError

MAX_BYTES = 16 << 20  # of what is made of it
_COMPRESSED, _PLAIN = b"LZFu", b"MELA"
_BEGINNING = (  # what the dictionary holds before the first byte
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
_HEAD, _WINDOW, _SHORTEST = 16, 4_096, 2


def decompressed(data: bytes) -> bytes:
    """Return the RTF. Raises DocumentError where it is damaged, or longer than MAX_BYTES."""
    if len(data) < _HEAD:
        raise DocumentError("is damaged: its compressed text has no header", "save it again")
    _, size, kind, _ = struct.unpack_from("<II4sI", data)
    if size > MAX_BYTES:
        raise DocumentError(f"has a compressed text of over {MAX_BYTES >> 20} MiB", "save it in another form")
    body = data[_HEAD:]
    if kind == _PLAIN:
        return body[:size]
    if kind != _COMPRESSED:
        raise DocumentError("is damaged: its text has an unknown compression", "save it again")
    return _expanded(body)[:size]


def _expanded(body: bytes) -> bytes:
    """Expand runs of eight pieces, each run with a byte that tells which of them are copies of earlier text."""
    out, at, start = bytearray(_BEGINNING), 0, len(_BEGINNING)
    while at < len(body) and len(out) <= MAX_BYTES:
        flags, at = body[at], at + 1
        for bit in range(8):
            if not flags >> bit & 1:
                out += body[at : at + 1]
                at += 1
                continue
            pair = body[at : at + 2]
            at += 2
            offset, length = (pair[0] << 4 | pair[1] >> 4, (pair[1] & 15) + _SHORTEST) if len(pair) == 2 else (-1, 0)
            back = (len(out) - offset) % _WINDOW
            if offset < 0 or not back:  # a copy of what comes next ends the text
                return bytes(out[start:])
            for _ in range(length):
                out.append(out[-back] if back <= len(out) else 0)
    return bytes(out[start:])
