"""Text in one Unicode form: as it is stored and shown, and as it is compared. Knows no words and no languages.

Stored text is NFC without invisible characters, and letters that a typesetter joined are apart. Folded text is for
comparing alone: compatibility forms, case, accents, vowel points and joiners do not tell two spellings apart.
"""

from __future__ import annotations

import re
import unicodedata

# Presentation forms come out of PDFs; the last of the Arabic ones are whole phrases, and stay.
_LIGATURES = re.compile("[\ufb00-\ufb4f\ufb50-\ufd3d\ufd50-\ufdcf\ufe70-\ufefc]+")
# Format characters without the two joiners, which Persian, Hindi and emoji are written with, and visible number signs.
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0001-\U000e007f]"
)
# Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic and its tatweel, joiners, variation selectors.
_FOLDED_AWAY = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u180b-\u180d\u180f\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\U000e0100-\U000e01ef]"
)


def normalize(text: str) -> str:
    """The text as it is stored and shown; what is so already stays as it is.

    Nothing goes across the end of a line, and most lines need nothing: a single emoji makes a whole text four times as
    large in memory.
    """
    if text.isascii():
        return text
    return "\n".join(line if line.isascii() else _normalized(line) for line in text.split("\n"))


def _normalized(line: str) -> str:
    apart = _LIGATURES.sub(lambda found: unicodedata.normalize("NFKC", found[0]), line)
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", apart))


def fold_case(text: str) -> str:
    """The text by Unicode's compatibility case folding, accents kept: what stemmers read."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", _INVISIBLE.sub("", text)).casefold()
    return unicodedata.normalize("NFKC", folded.replace("i\u0307", "i"))


def fold(text: str) -> str:
    """The text as it is compared: case folded, and without accents; a dotless i is an i."""
    if text.isascii():
        return text.lower()
    bare = _FOLDED_AWAY.sub("", unicodedata.normalize("NFKD", fold_case(text)))
    return unicodedata.normalize("NFC", bare).replace("ı", "i")
