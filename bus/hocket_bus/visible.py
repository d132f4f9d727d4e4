"""Safe display of text from others: no character of it controls a terminal, reverses text, or hides in it."""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"
_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"  # line feed and tabulator may stay
_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSEEN = (
    "\u00ad\u034f\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0d\ufeff"
    "\uffa0\ufff0-\ufffb\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Joiners belong to many scripts and to pictures made of several; beside a letter of ASCII they only hide.
_JOINERS = "(?<=[\x00-\x7f])[\u200c\u200d]+|[\u200c\u200d]+(?=[\x00-\x7f])"
_HIDDEN = re.compile(f"[{_CONTROL}{_TURNING}{_UNSEEN}]|{_JOINERS}")


def visible(text: str) -> str:
    """Replace characters that control a terminal, reverse text or hide; line feeds and tabulators stay."""
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub(REPLACEMENT, text)


def visible_line(text: str) -> str:
    """Replace the same characters, and turn line feeds into blanks."""
    return " ".join(visible(text).split("\n"))
