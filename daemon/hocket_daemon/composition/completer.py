"""Suggestions for a text as it changes: made from one row, while another one is made ready with newer memory.

In turn: a suggestion that is known is reported at once, and one that is not is computed before everything else. Then
what would follow it is decoded ahead. A new reference is read into the second row in short parts, and swapped in
between two suggestions.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from hocket_bus.errors import BadRequest, HocketError
from hocket_retrieval.text.lexical import language_of

from ..engine.language_model import LanguageModel
from ..engine.preemption import Interrupt, Preempted
from ..engine.runtime.compute import Compute
from ..engine.runtime.sequences import Prefill
from .completion import PART, Path, PathCache, Proposals, Row, as_known, complete, read
from .document import Document
from .grounding import Grounding, earlier_sentences, rest_of
from .memory import Item
from .reference import Reference, fitting_reference, make_reference
from .repeat import without_repeat
from .window import Encoding, TokenTexts, Window

MIN_WINDOW = 128  # tokens before the cursor that are read when there are more
MIN_REFERENCE = 16  # tokens for which a context must have room
LITTLE = 32  # where there are more, the row is made anew
MAX_WINDOW = 384  # from which on the row is made anew
WORDS_AHEAD = 3  # of a suggestion, behind which paths are made ready
_WORD_END = re.compile(r"(?<=\w) ")
_LAST_WORD = re.compile(r"\w+$")
TAIL = 8  # tokens of a window that stand before its path where it is looked for


class Completed(NamedTuple):
    """A suggestion, how long it took, in how many passes, and what it was made from."""

    version: int
    text: str
    ms: float
    passes: int
    reference: Reference
    path: Path
    written: str = ""  # before the cursor, as far as it was read


class Completer:
    """The completer of one text. For the main thread; every suggestion is reported there."""

    def __init__(
        self,
        compute: Compute,
        model: LanguageModel,
        token_texts: TokenTexts,
        *,
        maximum: int,
        minimum: float = 0.0,
        on_completed: Callable[[Completed], None],
        fail: Callable[[HocketError], None],
    ) -> None:
        """Suggest at most `maximum` tokens beyond what is typed, right with a chance of `minimum` or more.

        Raises BadRequest for too short a context.
        """
        if model.slots.context - _beside(maximum) < MIN_REFERENCE:
            text = f"the model's context of {model.slots.context} tokens is too short to compose with"
            raise BadRequest(text, f"raise [model] context to {_beside(maximum) + MIN_REFERENCE}")
        self._compute = compute
        self._model = model
        self._token_texts = token_texts
        self._maximum = maximum
        self._minimum = minimum
        self._on_completed = on_completed
        self._fail = fail
        self._encoding = Encoding(model.continued, token_texts.can_spell)
        self._kept = PathCache(token_texts)
        self._row, self._second = Row(model), Row(model)
        self._reference = make_reference(model, (), "", None)
        self._items: tuple[Item, ...] = ()  # all that is remembered; a reference may have fewer
        self._next: Reference | None = None  # that is being read into the second row
        self._is_read = False
        self._running: Interrupt | None = None  # of a suggestion
        self._ahead: Interrupt | None = None
        self._reading: Interrupt | None = None
        self._document = Document("", 0, 0)  # the one that was suggested for last

    @property
    def is_reading(self) -> bool:
        """Tell whether newer memory is being read; a suggestion with it follows."""
        return self._next is not None

    def context(self, document: Document) -> list[int]:
        """Return the ids of what is read before the cursor."""
        self._anchor(document)
        return self._ids(document)

    def _ids(self, document: Document) -> list[int]:
        return self._encoding.ids(document.read)

    def suggest(self, document: Document) -> None:
        """Suggest what may follow the cursor; an earlier request is dropped."""
        began_s = time.monotonic()
        self._document = document
        self._stop()
        if self._is_read:
            self._swap(document)
        self._anchor(document)
        window = self._encoding.window(document.read)
        value = self._value(document)
        if value:
            is_whole = value.startswith(" ")  # the last word: it is read, as it is where a blank stands behind it
            before = Window(document.read, "", self._ids(document)) if is_whole else window
            copied = Window(before.text, before.typed + value, before.ids)
            self._look(self._path(copied), partial(self._on_copied, began_s, document, window, value=value))
        else:
            self._go_on(began_s, document, window)

    def _go_on(self, began_s: float, document: Document, window: Window) -> None:
        """Suggest how the model goes on with the text."""

        def on_done(path: Path, passes: int) -> None:
            suggested = path.suggested(self._token_texts, self._maximum, self._minimum) or ""
            self._tell(began_s, document, suggested, passes, path)

        self._look(self._path(window), on_done)

    def _on_copied(
        self, began_s: float, document: Document, window: Window, path: Path, passes: int, *, value: str
    ) -> None:
        """Suggest the value that the text is about, and what follows it, unless the model finds the value unlikely."""
        if path.copied(len(path.window.typed) - len(value), self._token_texts) < self._minimum:
            self._go_on(began_s, document, window)
            return
        rest = path.suggested(self._token_texts, self._maximum, self._minimum) or ""
        self._tell(began_s, document, value + rest, passes, path)

    def _tell(self, began_s: float, document: Document, suggested: str, passes: int, path: Path) -> None:
        text = without_repeat(self._as_known(suggested, document), document.behind)
        took_ms = (time.monotonic() - began_s) * 1000
        self._on_completed(Completed(document.version, text, took_ms, passes, self._reference, path, document.read))
        self._go_ahead(path)
        if self._is_read:
            self.suggest(self._document)

    def _path(self, window: Window) -> Path:
        return self._kept.find(self._reference, window) or Path(window, ended=not (window.text + window.typed).strip())

    def _look(self, path: Path, on_done: Callable[[Path, int], None]) -> None:
        """Extend a path until it is enough; `on_done` gets it, and the number of passes that this took."""
        passes = self._row.passes
        if self._is_enough(path):
            on_done(path, 0)
        else:
            self._complete(path, lambda path: on_done(path, self._row.passes - passes))

    def renew(self, document: Document, items: tuple[Item, ...], changed_s: float | None) -> None:
        """Read newer memory, changed text after the cursor, or anew a window that has become too long.

        Of items that are nearly alike, those that the text is about are read.
        """
        self._items = items
        items = self._narrowed(document)
        last = self._next or self._reference
        outgrown = self._outgrown(document, MAX_WINDOW)
        if last.is_for(items, document.behind) and not (outgrown and self._next is None):
            return
        if self._reading is not None:
            self._reading.set()
        room = self._model.slots.context - _beside(self._maximum)
        reference = fitting_reference(self._model, items, document.behind, changed_s, room)
        outgrown = self._outgrown(document, min(MAX_WINDOW, self._room(reference)))
        document.next_anchor = self._start(document) if outgrown else document.anchor
        ids = [*reference.ids, *self._encoding.ids(document.text[document.next_anchor : document.cursor])]
        self._next, self._is_read, self._reading = reference, False, Interrupt()

        def done(outcome: HocketError | Preempted | None) -> None:
            self._on_read(reference, outcome)

        self._compute.prefill(read(self._second, ids), self._reading, done)

    def close(self) -> None:
        """Stop computing, and free this text's rows of keys and values."""
        self._stop()
        self._next, self._is_read = None, False
        if self._reading is not None:
            self._reading.set()
        for row in (self._row, self._second):
            self._compute.run(row.close, lambda _: None)

    def _complete(self, path: Path, on_done: Callable[[Path], None]) -> None:
        interrupt = self._running = Interrupt()
        reference = self._reference

        def done(outcome: Path | HocketError | Preempted) -> None:
            if isinstance(outcome, Path) and outcome.tokens and reference is self._reference:
                self._kept.put(reference, outcome)
            if self._running is not interrupt:
                return
            self._running = None
            if isinstance(outcome, Path):
                on_done(outcome)
            elif isinstance(outcome, HocketError):
                self._fail(outcome)

        self._compute.prefill(self._passes(path, self._is_enough), interrupt, done, urgent=True)

    def _go_ahead(self, path: Path) -> None:
        """Decode ahead what follows a suggestion while the user reads it, also from words to be tokenised otherwise."""
        reference, interrupt = self._reference, Interrupt()
        self._ahead = interrupt

        def go_on(path: Path, enough: Callable[[Path], bool]) -> None:
            if not enough(path):
                self._compute.prefill(self._passes(path, enough), interrupt, done)

        def done(outcome: Path | HocketError | Preempted) -> None:
            if isinstance(outcome, Path) and outcome.tokens and reference is self._reference:
                self._kept.put(reference, outcome)
            if isinstance(outcome, Path) and self._ahead is interrupt:
                missing = self._missing(path)
                if missing is not None:
                    go_on(missing, self._is_enough)

        if path.ended or self._is_ahead(path):
            done(path)
        else:
            go_on(path, self._is_ahead)

    def _missing(self, path: Path) -> Path | None:
        """Return the first window along a path, after one of its next words, from which no path is known."""
        text = path.text(self._token_texts)
        ends = [match.start() for match in _WORD_END.finditer(text, len(path.window.typed))][:WORDS_AHEAD]
        windows = (self._encoding.window(path.window.text + text[: end + 1]) for end in ends)
        return next((Path(each) for each in windows if self._kept.find(self._reference, each) is None), None)

    def _passes(self, path: Path, enough: Callable[[Path], bool]) -> Prefill[Path]:
        late = ([*each.window.ids[-TAIL:], *each.tokens] for each in self._kept.late())
        return complete(
            self._row,
            self._reference.ids,
            path,
            self._token_texts,
            eos=self._model.eos,
            proposals=Proposals([self._reference.ids, path.window.ids, *late]),
            enough=enough,
        )

    def _is_enough(self, path: Path) -> bool:
        return path.suggested(self._token_texts, self._maximum, self._minimum) is not None

    def _as_known(self, suggestion: str, document: Document) -> str:
        """Cut a suggestion before unknown numbers and names; German capitalises all nouns, so there numbers alone."""
        if not self._minimum or not suggestion:
            return suggestion
        written, language = document.read, language_of(document.read)
        takeaways = self._takeaways()
        known = f"{' '.join(takeaways)} {_LAST_WORD.sub('', written)} {document.behind}"
        grounding = Grounding([*takeaways, *earlier_sentences(written), *document.behind.splitlines()], language)
        return as_known(suggestion, written, known, names=language != "german", supports=grounding.has)

    def _takeaways(self) -> list[str]:
        return [item.takeaway.text for item in self._items]

    def _value(self, document: Document) -> str:
        """Return what is left to type of the value that the text is about; empty without a bound or a known value."""
        if not self._minimum or not self._items:
            return ""
        written = document.read
        value = Grounding(self._takeaways(), language_of(written)).value(written)
        return rest_of(value, written) if self._token_texts.can_spell(value) else ""

    def _narrowed(self, document: Document) -> tuple[Item, ...]:
        """Return the items that are read: all of them without a bound."""
        if not self._minimum or not self._items:
            return self._items
        texts = Grounding(self._takeaways(), language_of(document.read)).narrowed(document.read)
        return tuple(item for item in self._items if item.takeaway.text in texts)

    def _is_ahead(self, path: Path) -> bool:
        return len(path.tokens) >= path.spelling(self._token_texts) + 2 * self._maximum

    def _on_read(self, reference: Reference, outcome: object) -> None:
        if self._next is not reference:
            return
        self._is_read = not isinstance(outcome, HocketError | Preempted)
        if not self._is_read:
            self._next = None
        elif self._running is None:
            self.suggest(self._document)

    def _swap(self, document: Document) -> None:
        assert self._next is not None
        self._row, self._second = self._second, self._row
        self._reference, self._next, self._is_read = self._next, None, False
        document.anchor = document.next_anchor

    def _anchor(self, document: Document) -> None:
        """Move the start of the part that is read, where little of it is left or it has outgrown the row."""
        room = self._room(self._reference)
        has_little = document.anchor > 0 and len(document.read) < 8 * room and len(self._ids(document)) < LITTLE
        if has_little or self._outgrown(document, room):
            document.anchor = self._start(document)

    def _room(self, reference: Reference) -> int:
        """Return how many tokens of the text a row has room for."""
        return self._model.slots.context - len(reference.ids) - _beside(self._maximum) + MIN_WINDOW

    def _outgrown(self, document: Document, maximum: int) -> bool:
        """Tell whether over `maximum` tokens of the text are read; a token has at most eight characters, as a rule."""
        return len(document.read) > 8 * maximum or len(self._ids(document)) > maximum

    def _start(self, document: Document) -> int:
        first = max(0, document.cursor - 16 * MIN_WINDOW)
        return first + self._encoding.start(document.text[first : document.cursor], MIN_WINDOW)

    def _stop(self) -> None:
        for interrupt in (self._running, self._ahead):
            if interrupt is not None:
                interrupt.set()
        self._running = self._ahead = None


def _beside(maximum: int) -> int:
    """Return the tokens of a row beside the reference: the least window, typed letters, and what is decoded ahead."""
    return MIN_WINDOW + 3 * maximum + PART
