"""Real prose: WikiText's token form turned back into text, its sentences, and its words as material for names."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from decontaminate import is_clean

JOINERS = ((" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."))


@dataclass(frozen=True)
class Prose:
    """Articles (paragraphs joined), sentences of a fit length, and frequent words."""

    articles: tuple[str, ...]
    sentences: tuple[str, ...]
    capitals: tuple[str, ...]
    plain: tuple[str, ...]


def untokenise(line: str) -> str:
    """Undo WikiText's spacing."""
    for old, new in JOINERS:
        line = line.replace(old, new)
    line = re.sub(r" ([,.;:!?)\]%]|'s\b|'t\b|n't\b|'re\b|'ve\b|'ll\b|' )", r"\1", line)
    line = re.sub(r"([(\[$£]) ", r"\1", line)
    line = re.sub(r'" ([^"]*?) ?"', r'"\1"', line)
    return line.replace(" – ", "–").strip()


def load(path: Path) -> Prose:
    """Read wiki.train.tokens; sentences with an unknown word are left out."""
    articles: list[list[str]] = [[]]
    for line in path.read_text("utf-8").splitlines():
        if re.match(r"^ = [^=].*[^=] = $", line):
            articles.append([])
        elif len(line) > 200:
            text = untokenise(" ".join(s for s in re.split(r"(?<= [.?!]) ", line) if "<unk>" not in s))
            if len(text) > 100 and is_clean(text):
                articles[-1].append(text)
    kept = tuple("\n\n".join(a) for a in articles if a)
    return Prose(kept, _sentences(kept), *_words(kept))


def _sentences(articles: Sequence[str]) -> tuple[str, ...]:
    parts = (s for a in articles for s in re.split(r"(?<=[.?!])\s+(?=[A-Z])", a))
    return tuple(s for s in parts if 5 <= len(s.split()) <= 28 and s.endswith("."))


def _words(articles: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    text = " ".join(articles)
    capitals = Counter(re.findall(r"(?<=[a-z,] )[A-Z][a-z]{3,}\b", text))
    plain = Counter(re.findall(r"\b[a-z]{4,10}\b", text))
    lower = {w for w, n in plain.items() if n >= 3}
    names = tuple(sorted(w for w, n in capitals.items() if n >= 2 and w.lower() not in lower))
    return names, tuple(sorted(w for w, n in plain.items() if 5 <= n <= 400))
