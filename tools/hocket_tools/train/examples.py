"""Examples to learn from: a text up to where somebody has typed it, the memory at that point, and how it goes on."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from hocket_bus.messages import Takeaway
from hocket_daemon.composition.settings import CompositionSettings
from hocket_retrieval.collection import Collection
from hocket_retrieval.text.chunking import sentences
from hocket_tools.embedding import RememberingEmbedder
from hocket_tools.replay import Shelf, typed

from .facts import Facts
from .sections import Section

SHARES = (0.125, 0.5)  # of a section that is typed
FACTS = 0.4  # of the examples
FORGETFUL = 0.15  # of the examples have no memory: a text begins so, and the cloud may be away
TYPED = 200  # characters that are typed word by word; what stands before them is there when the text is opened
EACH = 2  # examples of a section that is drawn, as many as there are sections beside it to be read


class Example(Struct, frozen=True):
    """An example: `takeaways` in the order of a prompt, the text `typed`, and the `rest`, which begins with a blank."""

    takeaways: tuple[str, ...]
    typed: str
    rest: str
    is_fact: bool = False


class Examples:
    """Examples of sections and of made-up facts, all of whose documents have been read."""

    def __init__(
        self,
        sections: Sequence[Section],
        count: int,
        rng: random.Random,
        encode: Callable[[str], list[int]],
        *,
        spare: int = 1,
    ) -> None:
        """Draw `count` examples, in random order; `encode` is the tokenizer of the model that learns.

        Of sections there are `spare` times as many, where labels leave most of them out.
        """
        self._rng = rng
        self._encode = encode
        self._settings = CompositionSettings()
        facts = round(FACTS * count)
        drawn = spare * (count - facts)
        wanted = -(-drawn // EACH)
        self._sections = _neighbours(sections, wanted, rng)
        maker = Facts(rng, [text for section in sections for text in _lines(section.text)])
        self._facts = [maker.make() for _ in range(facts)]
        self._turns = [*range(-facts, 0), *range(drawn)]
        rng.shuffle(self._turns)

    @property
    def count(self) -> int:
        """Return the number of examples that are drawn."""
        return len(self._turns)

    @contextmanager
    def read(self, track: Callable[[Sequence[Section]], Iterable[Section]]) -> Iterator[Iterator[Example]]:
        """Read all documents, with `track` for the progress, and yield an iterator over the examples."""
        embedder = RememberingEmbedder()
        facts = [Section(_name(number), fact.document) for number, fact in enumerate(self._facts)]
        with (
            tempfile.TemporaryDirectory(prefix="hocket-") as folder,
            Collection(Path(folder) / "documents", embedder) as read,
        ):
            read.add((each.name, "", each.text) for each in track([*self._sections, *facts]))
            yield (self._example(turn, Shelf(read, embedder)) for turn in self._turns)

    def _example(self, turn: int, shelf: Shelf) -> Example:
        own, before, rest = self._text(turn)
        hidden, others = " ".join(own.text.split()), shelf.without({own.name})

        def near(query: str) -> list[Takeaway]:
            others_takeaways = others.takeaways(query, self._settings.passages, self._settings.takeaways)
            return [each for each in others_takeaways if each.text not in hidden]

        if self._rng.random() < FORGETFUL:
            return Example((), before, rest, turn < 0)
        items = typed(before, self._settings, self._encode, near, max(0, len(before) - TYPED)).items
        return Example(tuple(item.takeaway.text for item in items), before, rest, turn < 0)

    def _text(self, turn: int) -> tuple[Section, str, str]:
        """Return the section to hide from memory, the typed text and its rest; a negative `turn` is a made-up fact."""
        if turn < 0:
            fact = self._facts[turn]
            return Section("", ""), fact.beginning, fact.rest
        section = self._sections[turn % len(self._sections)]
        return section, *cut(section.text, self._rng.uniform(*SHARES))


def cut(text: str, share: float) -> tuple[str, str]:
    """Split a text at the first blank after this share of its characters; the second part begins with the blank."""
    at = text.find(" ", round(share * len(text)))
    return (text[:at], text[at:]) if at > 0 else (text, "")


def _neighbours(sections: Sequence[Section], count: int, rng: random.Random) -> list[Section]:
    """Return up to `count` sections in runs of one document, so that each has others of its document beside it."""
    by_document: dict[str, list[Section]] = {}
    for section in sections:
        by_document.setdefault(section.name.rpartition("#")[0], []).append(section)
    order = sorted(by_document)
    rng.shuffle(order)
    return [section for name in order for section in by_document[name]][:count]


def _lines(text: str) -> list[str]:
    return [line for start, end in sentences(text) if (line := " ".join(text[start:end].split())).endswith(".")]


def _name(fact: int) -> str:
    return f"fact-{fact}"
