"""Bytes as text: UTF-8, what a page declares, or what can be told without much doubt; else a line how to convert it."""

from __future__ import annotations

import codecs
import re
from itertools import pairwise

from ...errors import DocumentError

# What people's older files are in; without the rare ones, which short texts are taken for.
_KNOWN = [
    *("gb18030", "big5", "cp932", "euc_jp", "cp949", "cp1250", "cp1251", "koi8_r", "cp1252", "cp1253", "cp1254"),
    *("cp1255", "cp1256", "cp1257", "cp874"),
]
_WESTERN = "cp1252"
_LATIN = ("cp1250", _WESTERN, "cp1254", "cp1257")
# In cp1252 these stand for letters of other encodings: in a text of a western language they are rare, or end no word.
_DOUBTFUL = re.compile(r"[ÐÞÝðþý]|[^\W\d_][¹³¿¾¼½£¥¦§©¶»](?=[^\W\d_])")
COHERENCE = 0.1  # of a text with the letters of a language, from where on charset-normalizer's word is taken
SAMPLE_BYTES = 64 << 10


def decoded(data: bytes, declared: str = "") -> str:
    """The text in `data`; `declared` is the encoding that the file names, if it does. Raises DocumentError."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    if b"\x00" in data:
        if wide := _wide(data):
            return wide
        raise DocumentError("holds binary data, not text", "convert it to plain text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _declared(data, declared) or _damaged(data) or _detected(data)


def _wide(data: bytes) -> str:
    """Decode UTF-16 without a byte order mark, told by the zeros in every second byte; empty where it is none."""
    zeros = [part.count(0) for part in (data[:SAMPLE_BYTES:2], data[1:SAMPLE_BYTES:2])]
    most = min(len(data), SAMPLE_BYTES) // 2
    if min(zeros) or 2 * max(zeros) < most:
        return ""
    try:
        return data.decode("utf-16-le" if zeros[1] else "utf-16-be")
    except UnicodeDecodeError:
        return ""


def _declared(data: bytes, name: str) -> str:
    try:
        return data.decode(name) if name else ""
    except (LookupError, UnicodeDecodeError):
        return ""


def _damaged(data: bytes) -> str:
    """Decode what is UTF-8 for the most part, each bad byte as a mark; empty where it is none."""
    text = data.decode("utf-8-sig", "replace")
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    return text if 2 * text.count("\ufffd") <= foreign else ""


def _detected(data: bytes) -> str:
    from charset_normalizer import from_bytes

    matches = from_bytes(data[:SAMPLE_BYTES], cp_isolation=_KNOWN)
    found = {match.encoding: match for match in matches if not _is_miscased(str(match))}
    best = max(found.values(), key=lambda match: match.coherence, default=None)
    similar = {
        str(match) for name, match in found.items() if name in _LATIN and best and match.coherence >= best.coherence
    }
    western = data.decode(_WESTERN, "replace").replace("\xa4", "€")  # where ISO 8859-15 has it
    if (best is None or best.coherence < COHERENCE or _WESTERN in found) and _is_western(western):
        return western
    if best is None or best.coherence < COHERENCE or len(similar) > 1:
        text = "is not UTF-8, and its encoding is unclear"
        raise DocumentError(text, "convert it: iconv -f ITS-ENCODING -t UTF-8 FILE > NEW")
    return data.decode(best.encoding, "replace")


def _is_miscased(text: str) -> bool:
    """Tell whether many words have capitals inside: letters of another script, whose capitals lie elsewhere."""
    inner = sum(before.islower() and behind.isupper() for before, behind in pairwise(text))
    return 20 * inner > len(text)


def _is_western(text: str) -> bool:
    """Tell whether few letters are beyond ASCII, and none looks like another encoding's."""
    letters = [letter for letter in text if letter.isalpha()]
    foreign = sum(not letter.isascii() for letter in letters)
    return 2 * foreign <= len(letters) and not _DOUBTFUL.search(text) and "\ufffd" not in text
