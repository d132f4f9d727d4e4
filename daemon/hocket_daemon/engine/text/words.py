"""The words of a text: pieces that a rule on its bytes alone cuts, so that any two tokenizers agree on them.

A text is UTF-8, as it stands. It is cut between two bytes x, y where y is a space and x is no white space, or x is a
newline and y no white space. From SOFT bytes on a word ends, too, between a letter or digit and a mark (Unicode P and
S, but no apostrophe); one of CAP bytes ends there, where a character ends. Byte-level tokenizers split text at all
these places but the last before they merge anything, so that a word's tokens are the same in the text and alone.
"""

from __future__ import annotations

import hashlib
import unicodedata

SPACES = b" \t\n\r\v\f"
SOFT, CAP = 24, 48  # bytes
FREE = CAP - 3  # a word of so many bytes may have been ended by CAP: any token may come behind it
END = b""  # the word that ends an answer
LAW = hashlib.sha256(f"words 1: soft {SOFT}, cap {CAP}".encode()).hexdigest()
"""The fingerprint that two sides compare, equal where they cut and draw words by one law."""

_APOSTROPHES = "'\u2019"


def first_word(text: bytes) -> bytes | None:
    """Return the first word of `text`; None while more of the text could belong to it."""
    for at in range(1, len(text)):
        if _is_cut(text, at):
            return text[:at]
        if at == CAP:
            return text[: _character_end(text, CAP)]
    return text[: _character_end(text, CAP)] if len(text) >= CAP else None


def words_of(text: bytes) -> list[bytes]:
    """Return all words of `text`, of which the last may lack its end."""
    words = list[bytes]()
    while text:
        word = first_word(text) or text
        words.append(word)
        text = text[len(word) :]
    return words


def number_of(word: bytes) -> int:
    """Return a word's number, which no other word has: that of its bytes behind a 1."""
    return int.from_bytes(b"\x01" + word, "big")


def word_of(number: int) -> bytes:
    """Return the word that has a number."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big")[1:]


def readable(word: bytes) -> bytes:
    """Return a word as it travels: a half character, which a model may draw, becomes U+FFFD on every side alike.

    That is longer: what is then beyond CAP bytes is left out.
    """
    text = word.decode("utf-8", "replace").encode()
    return text if len(text) <= CAP else text[: _character_end(text, CAP)]


def is_mark(character: str) -> bool:
    """Tell whether a long word ends before this character."""
    return unicodedata.category(character)[0] in "PS" and character not in _APOSTROPHES


def ends_softly(word: bytes) -> bool:
    """Tell whether a mark behind `word` would begin another one."""
    return len(word) >= SOFT and _last_character(word).isalnum()


def _is_cut(text: bytes, at: int) -> bool:
    before, here = text[at - 1], text[at]
    if (here == 0x20 and before not in SPACES) or (before == 0x0A and here not in SPACES):
        return True
    if at < SOFT or here & 0xC0 == 0x80 or not ends_softly(text[:at]):
        return False
    first = _first_character(text[at : at + 4])
    return first != "" and is_mark(first)


def _character_end(text: bytes, limit: int) -> int:
    """Return the last place up to `limit` where a character ends; `limit` itself if none does."""
    lead = next((at for at in range(limit - 1, max(0, limit - 4), -1) if text[at] & 0xC0 != 0x80), 0)
    return lead if lead and lead + _length(text[lead]) > limit else limit


def _length(lead: int) -> int:
    """Return the bytes of the character that begins with this one."""
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def _first_character(text: bytes) -> str:
    """Return the first character; empty where its end is missing, or it is none."""
    try:
        return text[: _length(text[0])].decode()
    except UnicodeDecodeError:
        return ""


def _last_character(word: bytes) -> str:
    return word[-4:].decode("utf-8", "ignore")[-1:]
