"""The law of composing: whatever is typed, each suggestion is that of plain greedy decoding from a fresh pass."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from mainthread import MainThread
from typing_text import REQUEST, TIE, Typist, plain

from exact import exact
from hocket_bus.errors import HocketError
from hocket_bus.messages import Edit, Takeaway
from hocket_daemon.composition.completer import Completed, Completer
from hocket_daemon.composition.completion import PART
from hocket_daemon.composition.document import Document
from hocket_daemon.composition.memory import Takeaways
from hocket_daemon.composition.window import TokenTexts, typed_at_end
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.runtime.compute import Compute
from hocket_daemon.engine.sampling.heads import Heads
from hocket_daemon.engine.segments import Segment
from waiting import WAIT_S

SENTENCES = [
    "The ferry to Brightholm costs 14 crowns.",
    "Linnea Varga lives in Oakhaven and keeps bees.",
    "The mill at Tarnow was built in 1874 by two brothers.",
    "Every Thursday the market opens at seven in the morning.",
    "Doctor Abel Renn teaches botany at the college.",
]
WORDS = " ".join(SENTENCES).split()
MAXIMUM = 15


@dataclass
class Completing:
    """A text, its completer and what was told."""

    model: TransformersModel
    compute: Compute
    main: MainThread
    minimum: float = 0.0
    completed: list[Completed] = field(default_factory=list)
    failed: list[HocketError] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.token_texts = TokenTexts(self.model)
        self.completer = Completer(
            self.compute,
            self.model,
            self.token_texts,
            maximum=MAXIMUM,
            minimum=self.minimum,
            on_completed=self.completed.append,
            fail=self.failed.append,
        )

    def suggested(self, version: int) -> Completed:
        self.main.until(lambda: bool(self.failed or (self.completed and self.completed[-1].version == version)))
        assert not self.failed
        return self.completed[-1]


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return TransformersModel(exact(name="bundled", slots=4, context=640), "device")


@pytest.fixture
def minimum() -> float:
    """The least chance that a suggestion is right; tests that are about one set it."""
    return 0.0


@pytest.fixture
def completing(model: TransformersModel, minimum: float) -> Iterator[Completing]:
    main = MainThread()
    with main.compute(model) as compute:
        completing = Completing(model, compute, main, minimum)
        yield completing
        completing.completer.close()
        main.settle(compute)
        rows = model.slots.take(4)  # all of them are free again
        model.slots.give_back(rows)


@pytest.mark.parametrize(
    ("seed", "edits"), [pytest.param(0, 60, marks=pytest.mark.slow), pytest.param(7, 2_000, marks=pytest.mark.long)]
)
def test_suggestions_are_those_of_plain_greedy_decoding(completing: Completing, seed: int, edits: int) -> None:
    """Random edits, with memory that comes now and then, checked one by one."""
    chance = random.Random(seed)
    typist = Typist(seed, WORDS, "The ferry to")
    document = Document(typist.text, typist.cursor, 0)
    memory = Takeaways(120, lambda text: len(completing.model.continued(text)))
    computed = kept = renewed = 0
    completing.completer.suggest(document)
    for edit in typist.edits(edits):
        assert document.apply(edit)
        assert (document.text, document.cursor) == (typist.text, typist.cursor)
        completing.completer.suggest(document)
        if chance.random() < 0.1:
            memory.add("cloud", [Takeaway(text=chance.choice(SENTENCES), document="d")], float(edit.version))
        completing.completer.renew(document, memory.items, memory.changed_s)
        if chance.random() < 0.3:
            completing.suggested(document.version)
        if chance.random() < 0.2:
            completing.main.settle(completing.compute)  # at rest: what is decoded ahead, and newer memory, is there
            typist.follow(completing.completed[-1].text)
    completing.suggested(document.version)
    completing.main.settle(completing.compute)
    assert not completing.failed
    for completed in completing.completed:
        computed, kept = computed + (completed.passes > 0), kept + (completed.passes == 0)
        renewed += bool(completed.reference.items)
        tokens, lead = plain(completing.model, completing.token_texts, completed)
        assert tokens == list(completed.path.tokens) or lead < TIE
        assert completed.path.suggested(completing.token_texts, MAXIMUM) is not None
    assert min(computed, kept, renewed) > edits / 20  # every way was gone


@pytest.mark.parametrize("minimum", [0.01])
def test_a_half_typed_word_is_gone_on_with_though_memory_has_no_value(completing: Completing) -> None:
    """The letters of the last word are spelled by each suggestion, whatever is remembered, until a value is meant."""
    text = SENTENCES[1]
    memory = Takeaways(120, lambda text: len(completing.model.continued(text)))
    memory.add("cloud", [Takeaway(text=text, document="d"), Takeaway(text=SENTENCES[0], document="d")], 1.0)
    for end in range(1, len(text) + 1):
        document = Document(text[:end], end, end)
        completing.completer.suggest(document)
        completing.completer.renew(document, memory.items, memory.changed_s)
        completing.main.settle(completing.compute)
        completed = completing.suggested(end)
        assert completed.path.window.typed == typed_at_end(text[:end])
        assert completed.path.text(completing.token_texts).startswith(completed.path.window.typed)


@pytest.mark.parametrize(("remembered", "behind"), [(60, ""), (0, "\U0001f600" * 200), (60, "\U0001f600" * 200)])
def test_what_has_no_room_before_the_text_is_left_unread(completing: Completing, remembered: int, behind: str) -> None:
    """More memory than the context holds, and a text behind the cursor whose every letter is several tokens: the row
    never outgrows the context, where it would write into its neighbour's, and the newest takeaways are read."""
    memory = Takeaways(10_000, lambda text: len(completing.model.continued(text)))
    for number in range(remembered):
        memory.add("cloud", [Takeaway(text=f"Mill {number} was built in {1_700 + number}.", document=str(number))], 0.0)
    text = " ".join(SENTENCES * 12)
    document = Document(text + behind, len(text), 0)
    completing.completer.suggest(document)
    completing.suggested(0)
    completing.completer.renew(document, memory.items, memory.changed_s)
    completing.main.settle(completing.compute)
    completed = completing.suggested(0)
    assert not completing.failed
    assert completed.reference.is_for(memory.items, behind)
    assert len(completed.reference.ids) < completing.model.slots.context
    tokens, lead = plain(completing.model, completing.token_texts, completed)
    assert tokens == list(completed.path.tokens) or lead < TIE
    if remembered:
        named = {
            source.document for source in completed.reference.sources("", " ".join(f"{1_700 + n}" for n in range(60)))
        }
        assert named == {str(number) for number in range(completed.reference.unread, 60)}
        assert 0 < completed.reference.unread <= 60


def test_keys_that_come_faster_than_passes_do_not_keep_a_text_from_being_read(completing: Completing) -> None:
    """One key falls into each pass, and what the pass reads is there for the next key."""
    text = " ".join(SENTENCES * 12)
    document = Document(text, len(text), 0)
    begun, typed = threading.Event(), threading.Event()
    passes: list[int] = []
    read = completing.compute._read

    def read_slowly(segments: Sequence[Segment], interrupt: Interrupt) -> list[Heads]:
        begun.set()
        completing.main.post(lambda: None)
        assert typed.wait(WAIT_S)
        typed.clear()
        behind = read(segments, interrupt)
        passes.append(sum(len(row) for segment in segments for row in segment.tokens))
        return behind

    completing.compute._read = read_slowly
    completing.completer.suggest(document)
    tokens = len(completing.completer.context(document))
    for version in range(1, tokens // PART + 2):
        completing.main.until(begun.is_set)
        begun.clear()
        at = document.cursor
        assert document.apply(Edit(REQUEST, version - 1, version, at, 0, "z", at + 1))
        completing.completer.suggest(document)
        typed.set()
    completing.main.until(begun.is_set)
    have_read = sum(passes)
    completing.compute._read = read
    typed.set()
    assert completing.suggested(document.version).passes
    assert have_read > tokens - PART


def test_a_text_that_is_closed_takes_no_row_again(completing: Completing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Newer memory that was read is heard of too late: the fixture finds all rows free."""
    document = Document("The ferry to", 12, 0)
    completing.completer.suggest(document)
    completing.suggested(0)
    memory = Takeaways(120, len)
    memory.add("cloud", [Takeaway(text=SENTENCES[0], document="d")], 0.0)
    heard: list[tuple[Any, ...]] = []
    on_read = completing.completer._on_read
    monkeypatch.setattr(completing.completer, "_on_read", lambda *outcome: heard.append(outcome))
    completing.completer.renew(document, memory.items, memory.changed_s)
    completing.main.until(lambda: bool(heard))
    completing.completer.close()
    on_read(*heard[0])
    completing.main.settle(completing.compute)
    assert len(completing.completed) == 1
