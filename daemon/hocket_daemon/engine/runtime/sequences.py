"""Rows that are continued together: a prompt in each, and after it the same tokens in all.

A question over passages has a row for each passage, and one for itself alone where they are set against it (`read`); a
plain prompt has one (`read_prompt`, `read_text`). A row that nobody wants for a while is left out of passes, and reads
what it has missed once somebody does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket_bus.common_prefix import common_prefix_length
from hocket_bus.errors import BadRequest
from hocket_bus.messages import Prompt, Task, Turn

from ..language_model import LanguageModel
from ..preemption import Interrupt, Preempted
from ..sampling.heads import Heads, stacked
from ..segments import NOTHING, Contents, Segment, in_passes
from ..text.tokenizer import Layout, Prefix
from .copying import ReadAhead, proposal
from .likelihood import NO_LIKELIHOODS, log_likelihoods
from .lookup import Lookup

T = TypeVar("T")
Prefill: TypeAlias = Generator[Segment, Heads, T]  # asks for forward passes, and is sent what they gave


class SequenceGroup:
    """Rows in a model's slots, one for each prompt. Close it to free them."""

    def __init__(self, model: LanguageModel, prompts: Sequence[list[int]]) -> None:
        """Take the rows; nothing is read before `prefill`. Raises Busy, or BadRequest for more rows than there are."""
        self.model = model
        self.prompts = prompts
        self.rows = model.slots.take(len(prompts))
        self.documents: list[tuple[int, Prefix]] = []  # that stand at the beginning of rows, for the model to keep
        self.repeated = 0  # tokens of all rows that the last distribution had to read beside the newest of each
        self.likelihoods = NO_LIKELIHOODS  # of the question's tokens under each row, where they were wanted
        self._branch: list[int] = []  # tokens of which every row holds a beginning behind its prompt
        self._held = [0] * len(prompts)  # so many of them
        self._places: Sequence[int] = range(len(prompts))  # of the rows that the last distribution was wanted of
        self._proposed: list[int] = []  # of the branch, behind the tokens that were asked for
        self._known: ReadAhead | None = None
        self._lookup = Lookup(prompts, model.eos)

    @property
    def missing(self) -> int:
        """Tokens of the prompts that the rows do not hold yet, of all rows together."""
        held = self.model.slots.lengths
        return sum(len(prompt) - held[row] for row, prompt in zip(self.rows, self.prompts, strict=True))

    def prefill(self) -> Prefill[None]:
        """Read what the rows do not hold yet of their prompts, which is at least the last token of each."""
        held = self.model.slots.lengths
        missing = [prompt[held[row] :] for row, prompt in zip(self.rows, self.prompts, strict=True)]
        yield from self._read(missing)

    def prefill_with_likelihood(self, query: list[int], own: range, scored: int) -> Prefill[None]:
        """Read the prompts, which end in `query`, and how likely the first `scored` rows make its `own` tokens."""
        held = self.model.slots.lengths
        before = [prompt[held[row] : -len(query)] for row, prompt in zip(self.rows, self.prompts, strict=True)]
        yield from in_passes(self.rows, before, self.model.prefill_tokens)
        following = [query[1:] if row < scored else [] for row in range(len(self.rows))]
        given = yield from self._read([query] * len(self.rows), following)
        self.likelihoods = log_likelihoods(given.reshape(scored, -1), own)

    def _read(self, tokens: Sequence[list[int]], given: Sequence[list[int]] = ()) -> Prefill[NDArray[np.float32]]:
        """Append `tokens[i]` to row i, store what follows, and return the probabilities of `given`, row after row."""
        first, probabilities = dict[int, Heads](), list[NDArray[np.float32]]()
        for segment in in_passes(self.rows, tokens, self.model.prefill_tokens, given):
            behind = yield segment
            first |= {row: behind.at(place) for place, row in enumerate(segment.rows)}
            probabilities.append(behind.given)
        self._first = stacked([first[row] for row in self.rows])
        return np.concatenate(probabilities)

    def roll_back(self, tokens: list[int], places: Sequence[int] | None = None) -> Segment:
        """Roll all rows back to what they share with `tokens`; return what to read for the distribution after them.

        It is wanted of the rows at `places`, or of all; a row that was left out reads what it has missed. At least one
        token of each is read again, unless there are no tokens: then nothing is to be read.
        """
        common, self._places = common_prefix_length(self._branch, tokens), self.places(places)
        again = max(0, len(tokens) - 1)
        kept = [min(common, again) if place in self._places else common for place in range(len(self.rows))]
        self._held = [min(both) for both in zip(self._held, kept, strict=True)]
        for row, prompt, held in zip(self.rows, self.prompts, self._held, strict=True):
            self.model.slots.roll_back(row, len(prompt) + held)
        self._branch, self._proposed, self._known = list(tokens), [], None
        missing = [tokens[self._held[at] :] for at in self._places]
        self.repeated = sum(len(ids) - 1 for ids in missing) if tokens else 0
        return Segment([self.rows[at] for at in self._places], missing) if tokens else NOTHING

    def segment(self, tokens: list[int], share: float, places: Sequence[int] | None = None) -> Segment:
        """Roll back and return what to read, with tokens that likely come next; nothing where what follows is known.

        Tokens take the part `share` of the pass's time, in (0, 1]. Nothing is read ahead where a row has missed
        something.
        """
        if self._knows(tokens, self.places(places)):
            self.repeated = -len(self._places)
            return NOTHING
        segment = self.roll_back(tokens, places)
        if not tokens or self.repeated or not self.model.reads_ahead:
            return segment
        room = max(0, self.model.slots.context - self.length - 1)
        self._proposed = proposal(self._lookup, tokens, share)[:room]
        self.repeated = len(self._proposed) * len(self._places)
        ids = [*segment.tokens[0], *self._proposed]
        return Segment(segment.rows, [ids] * len(segment.rows), every=bool(self._proposed))

    def catch_up(self, tokens: list[int], places: Sequence[int] | None = None) -> Prefill[None]:
        """Read in parts the `tokens`, but for the last, that the rows at `places` lack: a decode reads all at once.

        What was read before an interrupt need not be read again.
        """
        at = {self.rows[place]: place for place in self.places(places)}
        self.roll_back(tokens, places)
        missing = [tokens[self._held[place] : -1] for place in at.values()]
        for segment in in_passes(list(at), missing, self.model.prefill_tokens):
            yield segment
            for row, ids in zip(segment.rows, segment.tokens, strict=True):
                self._held[at[row]] += len(ids)

    def take(self, tokens: list[int], read: Heads | None) -> Heads:
        """Return the heads of the wanted rows after `tokens`; `read` is the result of their segment, if any."""
        if read is None:
            return self._first.of_rows(self._places) if not tokens else self._read_ahead(tokens)
        self._branch = [*tokens, *self._proposed]
        for place in self._places:
            self._held[place] = len(self._branch)
        if not self._proposed:
            return read
        self._known = ReadAhead(self._branch, len(tokens), read)
        return self._read_ahead(tokens)

    def places(self, wanted: Sequence[int] | None) -> list[int]:
        """Indices in `rows` of the wanted ones; None: of all."""
        return list(range(len(self.rows)) if wanted is None else wanted)

    def _knows(self, tokens: list[int], places: list[int]) -> bool:
        return self._known is not None and self._known.behind(tokens) is not None and places == list(self._places)

    def _read_ahead(self, tokens: list[int]) -> Heads:
        found = self._known.behind(tokens) if self._known is not None else None
        assert found is not None
        return found

    @property
    def length(self) -> int:
        """Tokens in the longest row."""
        return max(self.model.slots.lengths[row] for row in self.rows)

    def close(self) -> None:
        """Free the rows; the model keeps their documents first."""
        for row, prefix in self.documents:
            self.model.keep(row, prefix)
        self.model.slots.give_back(self.rows)


def rows_of(documents: int, *, alone: bool) -> int:
    """Count the rows that `read` takes for a question over so many passages."""
    return documents + alone if documents else 1


def read(
    model: LanguageModel,
    prompt: Prompt,
    passages: list[str],
    *,
    task: Task,
    room: int,
    likelihood: bool = False,
    alone: bool = False,
    session: bytes = b"",
    expect: Callable[[int], None] = lambda _: None,
) -> Prefill[SequenceGroup]:
    """Read a prompt after each passage, or alone without passages; `room` is the number of answer tokens to come.

    With `likelihood` the group tells how likely each passage makes every token of the query. With `alone` the last row
    has the prompt alone, where there are passages.

    Passages are cut to what the rows hold, the oldest turns are left out where they would take more than half of it,
    and documents that had to be read are stored at the end. Raises BadRequest when query and answer leave no room, Busy
    when no rows are free, Forbidden where they may not leave for the model, and whatever is thrown in for a pass's
    outcome. `session` is the session that the rows belong to. `expect` is called on the compute thread with the number
    of tokens to read.
    """
    layout = model.layout(task, prompt.system, grounded=bool(passages))
    prompt = with_room(layout, prompt, (model.slots.context - room) // 2)
    query = layout.question(prompt)
    space = model.slots.context - len(query) - room
    documents = [prefix_of(model, layout, passage) for passage in _texts(passages, alone=alone)]
    if space < 1 or not query:
        raise BadRequest(
            f"the question has {len(query)} tokens and the answer may have {room}: "
            f"more than the model's context of {model.slots.context}",
            "shorten the question"
            if len(query) >= model.slots.context
            else "shorten the question or lower --max-tokens",
        )
    group = SequenceGroup(model, [[*document.ids[:space], *query] for document in documents])
    with _freed_on_error(group):
        _declare(group, documents, layout, prompt, session)
        computed = place_documents(model, group.rows, documents, space)
        expect(group.missing)
        if likelihood:
            yield from group.prefill_with_likelihood(query, layout.own(prompt), max(1, len(passages)))
        else:
            yield from group.prefill()
    group.documents = computed
    return group


def _declare(group: SequenceGroup, documents: list[Prefix], layout: Layout, prompt: Prompt, session: bytes) -> None:
    lead, query = layout.document(""), len(layout.question(prompt))
    turns = layout.earlier(prompt) if prompt.turns else 0
    for row, ids, document in zip(group.rows, group.prompts, documents, strict=True):
        before = len(ids) - query
        begin = min(before, common_prefix_length(document.ids, lead))
        group.model.slots.declare(row, Contents(begin, before, before + turns, len(ids), session))


def _texts(passages: list[str], *, alone: bool) -> list[str]:
    """Return the passage before the question for each row, empty for a row of the question alone."""
    return [*passages, ""] if alone or not passages else passages


def measure(
    model: LanguageModel, prompt: Prompt, passages: list[str], *, task: Task, room: int, alone: bool = False
) -> tuple[int, int]:
    """Count the tokens that `read` would lay out in all rows, and those of them whose KV is not stored."""
    layout = model.layout(task, prompt.system, grounded=bool(passages))
    query = len(layout.question(with_room(layout, prompt, (model.slots.context - room) // 2)))
    all_tokens = missing = 0
    for passage in _texts(passages, alone=alone):
        document = prefix_of(model, layout, passage)
        length = min(len(document.ids), max(0, model.slots.context - query))
        stored = bool(passage) and model.stored is not None and model.stored.has(document)
        all_tokens, missing = all_tokens + length + query, missing + query + (0 if stored else length)
    return all_tokens, missing


def with_room(layout: Layout, prompt: Prompt, limit: int) -> Prompt:
    """The prompt with as many of its latest turns as have at most `limit` tokens with the query."""
    left = limit - len(layout.question(msgspec.structs.replace(prompt, turns=[])))
    kept = list[Turn]()
    for turn in reversed(prompt.turns):
        left -= len(layout.turn(turn, layout.again))
        if left < 0:
            break
        kept.append(turn)
    return msgspec.structs.replace(prompt, turns=kept[::-1])


def read_prompt(model: LanguageModel, prompt: list[int], room: int) -> Prefill[SequenceGroup]:
    """Read the ids `prompt` into one row; `room` is the number of tokens to come.

    Raises BadRequest when they do not fit or there is no prompt, Busy when no row is free, and what is thrown in.
    """
    if not prompt:
        raise BadRequest("the prompt is empty", "write the beginning of the text")
    if len(prompt) + room > model.slots.context:
        raise BadRequest(
            f"the prompt has {len(prompt)} tokens and the text may have {room}: "
            f"more than the model's context of {model.slots.context}",
            "shorten the prompt or lower max_tokens",
        )
    group = SequenceGroup(model, [prompt])
    with _freed_on_error(group):
        yield from group.prefill()
    return group


def read_text(model: LanguageModel, text: str, *, task: Task, room: int, prefix: str = "") -> Prefill[SequenceGroup]:
    """Read a text, laid out for `task`, and the `prefix` written after it, as `read_prompt` does."""
    written = model.layout(task).encode("", prefix, "") if prefix else []
    return (yield from read_prompt(model, [*model.prompt(text, task), *written], room))


def metered(passes: Prefill[T], seen: Callable[[int], None]) -> Prefill[T]:
    """Yield `passes`, calling `seen` with the tokens of each, so that the count is right if reading is cancelled."""
    try:
        segment = next(passes)
        while True:
            try:
                given = yield segment
            except BaseException as error:  # noqa: BLE001 - the passes' own business
                segment = passes.throw(error)
                continue
            seen(sum(map(len, segment.tokens)))
            segment = passes.send(given)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def at_once(model: LanguageModel, passes: Prefill[T]) -> T:
    """Make the forward passes of `passes` one after the other, and return its result."""
    try:
        segment = next(passes)
        while True:
            segment = passes.send(model.read([segment])[0])
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


@contextmanager
def _freed_on_error(group: SequenceGroup) -> Iterator[None]:
    try:
        yield
    except BaseException:
        group.close()
        raise


class Ahead(NamedTuple):
    """The progress of `compute_ahead`: the number of texts done, and whether there is room for more."""

    done: int
    room: bool


def prefix_of(model: LanguageModel, layout: Layout, text: str) -> Prefix:
    """A document as the model reads it, at most as long as a row."""
    return Prefix(text, layout.document(text)[: model.slots.context])


def place_documents(
    model: LanguageModel, rows: Sequence[int], prefixes: Sequence[Prefix], space: int
) -> list[tuple[int, Prefix]]:
    """Copy the stored KV of the first `space` ids of prefix i into row i.

    Returns the rows that will hold a whole document which is not stored yet, once they are read.
    """
    return [
        (row, prefix)
        for row, prefix in zip(rows, prefixes, strict=True)
        if prefix.text and not model.restore(row, prefix, min(len(prefix.ids), space)) and 0 < len(prefix.ids) <= space
    ]


def compute_ahead(model: LanguageModel, texts: Sequence[str], interrupt: Interrupt) -> Ahead:
    """Compute and store the KV of those `texts` that lack it, evicting nothing, until interrupted or out of room."""
    assert model.stored is not None
    layout = model.layout("answer")
    for number, text in enumerate(texts):
        try:
            interrupt.raise_if_set()
            prefix = prefix_of(model, layout, text)
            if not model.stored.has(prefix) and not _compute(model, prefix, interrupt):
                return Ahead(number, room=False)
        except Preempted:
            return Ahead(number, room=True)
    return Ahead(len(texts), room=True)


def _compute(model: LanguageModel, prefix: Prefix, interrupt: Interrupt) -> bool:
    """Compute a document and store it; tell whether there was room for it."""
    rows = model.slots.take(1)
    try:
        for segment in in_passes(rows, [prefix.ids], model.prefill_tokens):
            model.read([segment], interrupt)
        return model.keep_ahead(rows[0], prefix)
    finally:
        model.slots.give_back(rows)
