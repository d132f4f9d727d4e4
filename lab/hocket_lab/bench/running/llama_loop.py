"""llama.cpp's own decoding of a GGUF file: the plainest loop over its C functions, which a model is compared with."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

from hocket_daemon.engine.backends.llamacpp.llama import library

TOKEN = 7


class LlamaLoop:
    """A decoder of `rows` sequences that grow together, token by token; it reads only where their logits are."""

    def __init__(self, file: Path, rows: int, context: int, threads: int, part: int) -> None:
        """Make rows of `context` tokens; prompts are read in parts of `part` tokens."""
        c = self._c = library().functions
        self._model = c.llama_model_load_from_file(str(file).encode(), c.llama_model_default_params())
        how = c.llama_context_default_params()
        how.n_ctx, how.n_batch, how.n_ubatch, how.n_seq_max = rows * context, rows * context, part, rows
        how.n_threads = how.n_threads_batch = threads
        how.n_outputs_max = rows
        self._context = c.llama_init_from_model(self._model, how)
        self._memory = c.llama_get_memory(self._context)
        self._rows, self._part, self._length = rows, part, 0
        self._batch = c.llama_batch_init(max(rows, part), 0, 1)

    def prompt_s(self, length: int) -> float:
        """Return the seconds for a prompt of `length` tokens in the first row, which is emptied before."""
        self._c.llama_memory_seq_rm(self._memory, 0, -1, -1)
        started_s = time.perf_counter()
        for first in range(0, length, self._part):
            self._decode([(0, at) for at in range(first, min(length, first + self._part))])
        return time.perf_counter() - started_s

    def fill(self, length: int) -> None:
        """Let all rows hold `length` tokens."""
        for row in range(self._rows):
            self._c.llama_memory_seq_rm(self._memory, row, -1, -1)
            for first in range(0, length, self._part):
                self._decode([(row, at) for at in range(first, min(length, first + self._part))])
        self._length = length

    def step(self) -> None:
        """Decode one more token in each row."""
        self._decode([(row, self._length) for row in range(self._rows)], all_logits=True)
        for at in range(self._rows):
            ctypes.addressof(self._c.llama_get_logits_ith(self._context, at).contents)
        self._length += 1

    def _decode(self, placed: list[tuple[int, int]], *, all_logits: bool = False) -> None:
        batch = self._batch
        batch.n_tokens = len(placed)
        for at, (row, position) in enumerate(placed):
            batch.token[at], batch.pos[at], batch.n_seq_id[at], batch.seq_id[at][0] = TOKEN, position, 1, row
            batch.logits[at] = all_logits or at == len(placed) - 1
        result = self._c.llama_decode(self._context, batch)
        assert result == 0, f"llama.cpp's own loop failed ({result})"

    def close(self) -> None:
        """Free the batch, the context and the model."""
        self._c.llama_batch_free(self._batch)
        self._c.llama_free(self._context)
        self._c.llama_model_free(self._model)
