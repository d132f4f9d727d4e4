"""A language model without weights: characters for tokens, distributions a function of a row's tokens alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hocket_bus.errors import BadRequest, Busy
from hocket_bus.messages import Task
from hocket_daemon.engine.language_model import DocumentStore, Shape
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.sampling.heads import Heads, whole
from hocket_daemon.engine.segments import Contents, Segment, wanted
from hocket_daemon.engine.text.tokenizer import Layout, Prefix

CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))
BOS, EOS, FIRST = 0, 1, 2
SPREAD = 3.0  # of the logits


class FakeSlots:
    """Rows that are lists of tokens."""

    def __init__(self, slots: int, context: int) -> None:
        self.context = context
        self.held: list[list[int]] = [[] for _ in range(slots)]
        self.free = set(range(slots))

    @property
    def lengths(self) -> list[int]:
        return [len(tokens) for tokens in self.held]

    def take(self, rows: int) -> list[int]:
        if rows > len(self.held):
            raise BadRequest(
                f"the question needs {rows} rows, the model has {len(self.held)} slots", "ask for fewer documents"
            )
        if rows > len(self.free):
            raise Busy("all slots of the model are taken", "try again shortly, or raise 'slots' in the configuration")
        taken = sorted(self.free)[:rows]
        self.free -= set(taken)
        for row in taken:
            self.held[row] = []
        return taken

    def declare(self, row: int, contents: Contents) -> None:
        pass

    def give_back(self, rows: Sequence[int]) -> None:
        assert not self.free & set(rows), "a row is freed once"
        self.free |= set(rows)

    def roll_back(self, row: int, length: int) -> None:
        assert length <= len(self.held[row]), "a row rolls back, not forward"
        del self.held[row][length:]


@lru_cache(20_000)  # references ask for what daemons have asked for
def drawn(data: bytes, vocabulary: int) -> np.ndarray:
    """[vocabulary], the same for the same data, and not to be changed."""
    rng = np.random.default_rng(int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big"))
    weights = np.exp(SPREAD * rng.standard_normal(vocabulary))
    weights[BOS] = 0
    distribution = np.asarray(weights / weights.sum(), np.float32)
    distribution.flags.writeable = False
    return distribution


class FakeModel:
    """Models with the same `seed` say the same; all have the same tokens."""

    name = "fake"
    compute = "nothing"
    precision = "float32"
    why = ""
    fingerprint = "characters"
    vocabulary = FIRST + len(CHARACTERS)
    prefill_tokens = 16
    reads_ahead = True
    rows_cost = False
    writes_words = False
    word_tokens = None
    shape = Shape(2, 8, 2, 32, vocabulary)

    def __init__(self, seed: int = 0, *, slots: int = 16, context: int = 512) -> None:
        self.eos = [EOS]
        self.slots = FakeSlots(slots, context)
        self.stored: DocumentStore | None = None
        self.passes: list[list[Segment]] = []
        self.tokens_read = 0  # by passes that were wanted to their end
        self._seed = seed

    def text(self, ids: list[int]) -> str:
        return "".join(CHARACTERS[token - FIRST] for token in ids if token >= FIRST)

    def piece(self, id: int) -> bytes:
        return self.text([id]).encode()

    def layout(self, task: Task, system: str = "", *, grounded: bool = True) -> Layout:
        if task == "complete":
            return Layout("", "\n\n", "", (BOS,), self.encode)
        return Layout(
            "", "\n\nQuestion: ", "\nAnswer:", (BOS,), self.encode, "\nAnswer: ", "\n\nQuestion: ", system=system
        )

    def prompt(self, text: str, task: Task) -> list[int]:
        return [BOS, *self.encode("", text, "")]

    def continued(self, text: str) -> list[int]:
        return self.encode("", text, "")

    def encode(self, before: str, text: str, behind: str) -> list[int]:
        return [FIRST + max(0, CHARACTERS.find(character)) for character in before + text + behind]

    def read(self, segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        self.passes.append(list(segments))
        asked = wanted(segments)
        found = [
            distribution
            for segment in segments
            for row, tokens, given in segment.each()
            for distribution in self._append(row, tokens, every=segment.every or bool(given))
        ]
        if interrupt is not None:
            interrupt.raise_if_set()
        self.tokens_read += sum(len(tokens) for segment in segments for tokens in segment.tokens)
        return whole(np.stack(found), asked)

    def _append(self, row: int, tokens: list[int], *, every: bool) -> np.ndarray:
        """[wanted, vocabulary]: what follows the last token, or every one."""
        assert row not in self.slots.free, "whoever reads into a row has taken it"
        assert tokens
        held = self.slots.held[row]
        before = len(held)
        held += tokens
        assert len(held) <= self.slots.context
        ends = range(before + 1 if every else len(held), len(held) + 1)
        return np.stack([self.distribution(held[:end]) for end in ends])

    def distribution(self, tokens: list[int]) -> np.ndarray:
        """[vocabulary], behind a row of `tokens`."""
        return drawn(np.array([self._seed, *tokens], dtype=">u4").tobytes(), self.vocabulary)

    def restore(self, row: int, prefix: Prefix, length: int) -> bool:
        return False

    def keep(self, row: int, prefix: Prefix) -> None:
        pass

    def keep_ahead(self, row: int, prefix: Prefix) -> bool:
        return False
