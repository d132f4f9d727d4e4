"""llama.cpp's models: a GGUF file, quantised or not, over rows of llama.cpp's own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket_bus.errors import BadConfiguration, HocketError

from ...preemption import Interrupt
from ...runtime.entry import KV
from ...runtime.file_digest import digest_of
from ...runtime.stored import open_store
from ...sampling.heads import Heads, whole
from ...segments import Segment, wanted
from ...settings import PREFILL_TOKENS, KVSettings, ModelSettings
from ...text.gguf_tokenizer import tokenizer_of
from ...text.tokenizer import Worded, fingerprint_of, size_of
from ..keeping import Keeping
from ..rows import RowMemory
from .llama import KV_TYPES, Context, Feed, Model, Stop, library

SUFFIX = ".gguf"
_FIRST_ROWS = 4  # one question over two passages takes two or three
_PRECISIONS = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}  # in llama.cpp's description
_KV_DTYPE = {"auto": "float16"} | {name: name for name in KV_TYPES}


class GGUFModel(Worded, Keeping):
    """Weights, tokenizer and rows. Used by one thread at a time."""

    reads_ahead = False  # two tokens of a row cost 1.5 to 2.1 of a step: reading ahead costs what it saves
    rows_cost = True
    slots: _LlamaRows

    def __init__(self, settings: ModelSettings, file: Path, kv: KVSettings | None = None, why: str = "") -> None:
        """Load the model; `why` is the reason for which it was chosen. Raises BadConfiguration."""
        self.name, self.why = settings.name, why
        self.file = file
        model = self._model = Model(file)
        vocabulary = model.vocabulary()
        self.fingerprint = fingerprint_of(vocabulary)
        self.vocabulary = size_of(vocabulary, str(file))
        super().__init__(tokenizer_of(file, vocabulary))
        self.shape = model.shape
        self.eos = model.ends
        self._kind = model.description.rpartition(" ")[2]
        self.prefill_tokens = settings.prefill_tokens or PREFILL_TOKENS
        self.compute = _compute()
        self.slots = _LlamaRows(model, settings)
        self.stored = open_store(kv, self._digest(kv)) if kv is not None else None
        self.read([Segment([0], [[0]])])  # what is slow the first time is done
        self.slots.roll_back(0, 0)

    @property
    def precision(self) -> str:
        """The coarser one of the weights and of the keys and values."""
        weights = _PRECISIONS.get(self._kind, "quantised")
        return self.slots.kv if weights == "float32" else weights

    def read(self, segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        """Append all segments in one forward pass; return for each the whole vocabulary's probabilities.

        Raises Preempted, and BadRequest where a row has no room; the rows are then as they were.
        """
        self.slots.check_room(segments)
        stop = Stop()
        if interrupt is not None:
            interrupt.when_set(stop.set)
        asked = wanted(segments)
        logits = self.slots.append(segments, stop)
        return whole(_softmax(logits[:, : self.vocabulary]), asked)

    def close(self) -> None:
        """Free the weights and the rows."""
        self.slots.close()
        self._model.close()

    def _digest(self, kv: KVSettings) -> bytes:
        """Digest all that stored bytes depend on: the file, the layout of its rows, and llama.cpp's build."""
        if not kv.folder:
            return b""
        row = f"a row of {self.slots.context} {self.slots.kv} {library().build}".encode()
        file = digest_of(self.file, Path(kv.folder).expanduser())
        return hashlib.blake2b(file + row, digest_size=32).digest()


class _LlamaRows(RowMemory):
    """The rows of llama.cpp, with their lengths.

    llama.cpp takes the memory of all rows that it may hold at once, so they are few until more are wanted together.
    """

    def __init__(self, model: Model, settings: ModelSettings) -> None:
        super().__init__(settings.slots, min(settings.context, model.trained_context))
        self._model, self._settings = model, settings
        if settings.dtype not in _KV_DTYPE:
            raise BadConfiguration(
                f"unknown dtype '{settings.dtype}' under [model]", f"use one of: {', '.join(_KV_DTYPE)}"
            )
        self.kv = _KV_DTYPE[settings.dtype]
        self.bytes = model.kv_bytes(settings.slots * self.context, self.kv)
        self.check_bytes(self.bytes, settings.kv_bytes)
        self._rows = min(_FIRST_ROWS, settings.slots)
        self._context = self._opened(self._rows)
        if not self._context.rows_move:
            self.make_room(settings.slots)

    def _opened(self, rows: int) -> Context:
        settings = self._settings
        return Context(
            self._model,
            rows,
            self.context,
            threads=settings.compute_threads,
            kv=self.kv,
            pass_tokens=(settings.prefill_tokens or PREFILL_TOKENS) + settings.slots,
        )

    def make_room(self, rows: int) -> None:
        """Double the rows until there are at least `rows` of them; the contents of the others move along.

        Raises HocketError where llama.cpp does not take a row that it gave; all is then as it was.
        """
        if rows <= self._rows:
            return
        more = min(max(rows, 2 * self._rows), len(self.lengths))
        context = self._opened(more)
        for row in range(self._rows):
            if not self._free[row] and context.copy_in(row, self._context.copy_out(row)) < self.lengths[row]:
                context.close()
                raise HocketError(
                    "llama.cpp cannot move a row of its KV cache", "ask again when fewer requests run; see the log"
                )
        self._context.close()
        self._context, self._rows = context, more

    def append(self, segments: Sequence[Segment], stop: Stop) -> NDArray[np.float32]:
        """Lengthen the rows of `segments`, all different; return logits [wanted, vocabulary] in their order."""
        feeds = [
            Feed(row, ids, self.lengths[row], segment.every or bool(given))
            for segment in segments
            for row, ids, given in segment.each()
        ]
        order = sorted(range(len(feeds)), key=lambda at: feeds[at].row)  # in this order alone neighbours are together
        logits = self._context.append([feeds[at] for at in order], stop)
        for feed in feeds:
            self.lengths[feed.row] = feed.start + len(feed.tokens)
        return np.concatenate([logits[at] for at in np.argsort(order)])

    def roll_back(self, row: int, length: int) -> None:
        """Forget all but the first `length` tokens of a row, which holds at least as many."""
        super().roll_back(row, length)
        self._context.cut(row, length)

    def copy_out(self, row: int, length: int) -> KV:
        """Cut a row to its first `length` tokens; return what llama.cpp holds of them, in its own layout."""
        self.roll_back(row, length)
        return KV("uint8", [self._context.copy_out(row)[None, None]])

    def copy_in(self, row: int, kv: KV, length: int) -> bool:
        """Begin an empty row with the first `length` tokens of such a copy; False where it does not fit."""
        fits = self._context.copy_in(row, kv.states[0].reshape(-1)) >= length
        self.roll_back(row, length if fits else 0)
        return fits

    def close(self) -> None:
        """Free the rows."""
        self._context.close()


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _compute() -> str:
    offloads = library().functions.llama_supports_gpu_offload()
    return "llama.cpp on a GPU" if offloads else "llama.cpp on a CPU"
