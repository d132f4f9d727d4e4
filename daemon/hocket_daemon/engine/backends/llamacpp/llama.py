"""llama.cpp as it is: one GGUF file, its vocabulary, and rows of keys and values, by its C functions.

Every row is a sequence of its own stream: it attends to its own cells alone, however many rows there are.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import structlog
from numpy.typing import NDArray

from hocket_bus.errors import BadConfiguration, HocketError
from hocket_bus.missing import lack

from ...language_model import Shape
from ...preemption import Preempted
from .llama_interface import PACKAGE, VERSION, Functions

log = structlog.get_logger(__name__)
_MAGIC = b"GGUF"
_WARNING, _ERROR = 3, 4  # of llama.cpp's log levels
_ABORTED = 2
_WORD, _HEAD = 4, 3  # bytes of a number, and numbers before the rows of a state: whose it is, its kind, how many rows
KV_TYPES = {"float32": 0, "float16": 1, "bfloat16": 30}  # numbers of ggml
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


class Library(NamedTuple):
    """The functions of llama.cpp, and its last warnings and errors."""

    functions: ModuleType | Functions  # llama-cpp-python's module, or the wheel's under the same names
    build: str  # of whom, and which: what is kept by one is not another's
    complaints: deque[str]
    logs: object  # is called from C: it must live as long as the library


@cache
def library() -> Library:
    """llama.cpp, loaded once: one that was built for this machine, or the wheel's. Raises BadConfiguration."""
    built = _built_here()
    functions: ModuleType | Functions = built or _of_the_wheel()
    complaints: deque[str] = deque(maxlen=20)

    @functions.llama_log_callback  # type: ignore[untyped-decorator,unused-ignore]
    def log(level: int, text: bytes, _: object) -> None:
        if level in {_WARNING, _ERROR}:
            complaints.append(text.decode("utf-8", "replace").strip())

    functions.llama_log_set(log, ctypes.c_void_p(0))
    functions.llama_backend_init()
    name = f"llama-cpp-python {metadata.version('llama-cpp-python')}" if built else f"{PACKAGE} {VERSION}"
    return Library(functions, f"{name} {functions.llama_print_system_info().decode()}", complaints, log)


def _built_here() -> ModuleType | None:
    """Return llama-cpp-python, which users with a compiler may install; None where it is not installed."""
    try:
        from llama_cpp import llama_cpp
    except (ImportError, OSError, RuntimeError) as error:
        if getattr(error, "name", None) != "llama_cpp":  # it is there, and broken
            reason = lack("llama-cpp-python", "llama_cpp", "pip install llama-cpp-python", error)
            log.warning("llama.cpp of the wheel is used", reason=": ".join(reason))
        return None
    module: ModuleType = llama_cpp
    return module


def _of_the_wheel() -> Functions:
    try:
        return Functions()
    except ImportError as error:
        raise BadConfiguration(*lack("llama.cpp", PACKAGE, f"pip install {PACKAGE}=={VERSION}", error)) from error


def obstacle() -> BadConfiguration | None:
    """Return why no GGUF file can be read here; None where one can."""
    try:
        library()
    except BadConfiguration as error:
        return error
    return None


def is_installed() -> bool:
    """Tell whether a GGUF file can be read here."""
    return obstacle() is None


class Stop:
    """A place in memory that llama.cpp looks at between two operations, without the interpreter's lock."""

    def __init__(self) -> None:
        self._text = ctypes.create_string_buffer(2)  # the empty string
        self.address = ctypes.cast(self._text, ctypes.c_void_p)

    @property
    def asked(self) -> bool:
        """Tell whether the pass is to end."""
        return bool(self._text.value)

    def set(self) -> None:
        """Abort the pass that looks here."""
        self._text[0] = b"\x01"


class Model:
    """The weights and the vocabulary of a GGUF file."""

    def __init__(self, file: Path) -> None:
        """Load a file. Raises BadConfiguration where it is no language model, or none that can be read here."""
        self._c, _, complaints, _ = library()
        _look_at(file)
        complaints.clear()
        how = self._c.llama_model_default_params()
        # llama.cpp's kernels for AMX end the process with quantised weights (its issue 20824); the others do not.
        how.use_extra_bufts = b"AMX_INT8 = 1" not in self._c.llama_print_system_info()
        self.handle = self._c.llama_model_load_from_file(str(file).encode(), how)
        if not self.handle:
            raise _refused(file, _reason(complaints), "use a complete GGUF file of a language model")
        self._vocabulary = self._c.llama_model_get_vocab(self.handle)
        self.size = int(self._c.llama_vocab_n_tokens(self._vocabulary))
        if (why := self._unfit()) is not None:
            self.close()
            raise _refused(file, why, "use another model")

    def _unfit(self) -> str | None:
        c, handle = self._c, self.handle
        if c.llama_vocab_type(self._vocabulary) == c.LLAMA_VOCAB_TYPE_NONE:
            return "it has no tokenizer"
        if c.llama_model_has_encoder(handle) or not c.llama_model_has_decoder(handle):
            return "it has an encoder"
        if c.llama_model_is_recurrent(handle) or c.llama_model_is_hybrid(handle) or c.llama_model_is_diffusion(handle):
            return "its memory cannot be rolled back to a shorter text"
        return None

    def vocabulary(self) -> dict[str, int]:
        """Return every piece and its number, without those that only pad the vocabulary."""
        c = self._c
        used = (id for id in range(self.size) if not self._attributes(id) & c.LLAMA_TOKEN_ATTR_UNUSED)
        return {c.llama_vocab_get_text(self._vocabulary, id).decode("utf-8", "replace"): id for id in used}

    def _attributes(self, id: int) -> int:
        return int(self._c.llama_vocab_get_attr(self._vocabulary, id))

    @property
    def ends(self) -> list[int]:
        """The ids that end an answer, ascending."""
        return [id for id in range(self.size) if self._c.llama_vocab_is_eog(self._vocabulary, id)]

    @property
    def trained_context(self) -> int:
        """The number of positions that the model was trained with."""
        return int(self._c.llama_model_n_ctx_train(self.handle))

    @property
    def description(self) -> str:
        """Architecture, size and precision in llama.cpp's words."""
        text = ctypes.create_string_buffer(128)
        self._c.llama_model_desc(self.handle, text, len(text))
        return text.value.decode("utf-8", "replace")

    @property
    def shape(self) -> Shape:
        """The model's sizes as the file's header states them."""
        c, width = self._c, int(self._c.llama_model_n_embd(self.handle))
        hidden = self._metadata(f"{self._metadata('general.architecture')}.feed_forward_length")
        layers, heads = int(c.llama_model_n_layer(self.handle)), int(c.llama_model_n_head(self.handle))
        return Shape(layers, width, heads, int(hidden) if hidden.isdigit() else 4 * width, self.size)

    def kv_bytes(self, tokens: int, kv: str) -> int:
        """Return the bytes that the keys and values of `tokens` tokens take."""
        c = self._c
        heads, width = c.llama_model_n_head(self.handle), c.llama_model_n_embd(self.handle)
        row = c.llama_model_n_head_kv(self.handle) * self._length("key", width // heads)
        row += c.llama_model_n_head_kv(self.handle) * self._length("value", width // heads)
        return int(tokens * c.llama_model_n_layer(self.handle) * row * _BYTES[kv])

    def _length(self, of: str, otherwise: int) -> int:
        written = self._metadata(f"{self._metadata('general.architecture')}.attention.{of}_length")
        return int(written) if written.isdecimal() else otherwise

    def _metadata(self, key: str) -> str:
        text = ctypes.create_string_buffer(256)
        found = self._c.llama_model_meta_val_str(self.handle, key.encode(), text, len(text))
        return text.value.decode("utf-8", "replace") if found >= 0 else ""

    def close(self) -> None:
        """Free the model."""
        self._c.llama_model_free(self.handle)


class Context:
    """Rows of a model. A row's cells are its tokens from position 0 on."""

    def __init__(self, model: Model, rows: int, context: int, *, threads: int, kv: str, pass_tokens: int) -> None:
        """Allocate `rows` of `context` tokens, stored as `kv`. Raises BadConfiguration where they find no room."""
        self._c, _, complaints, _ = library()
        self._model = model
        how = self._c.llama_context_default_params()
        how.n_ctx = how.n_batch = rows * context
        how.n_ubatch = min(pass_tokens, rows * context)
        how.n_seq_max, how.n_outputs_max = rows, how.n_ubatch
        how.n_outputs_max_per_seq = how.n_ubatch  # the likelihood of a question is asked of every token
        how.n_threads = how.n_threads_batch = threads
        how.type_k = how.type_v = KV_TYPES[kv]
        if kv == "float32":  # its fast attention rounds to float16 in between: 0.003 nats
            how.flash_attn_type = self._c.LLAMA_FLASH_ATTN_TYPE_DISABLED
        how.kv_unified, how.swa_full, how.no_perf = False, True, True
        complaints.clear()
        self._handle = self._c.llama_init_from_model(model.handle, how)
        if not self._handle:
            raise BadConfiguration(
                f"llama.cpp cannot create a context ({_reason(complaints)})", "lower 'slots' or 'context'"
            )
        self._memory = self._c.llama_get_memory(self._handle)
        self._cells = np.arange(rows, dtype=np.int32)  # the one sequence of each row
        empty = self._state(0)
        self._before, self._other = empty[: _HEAD * _WORD], empty[-_WORD:]
        self.rows_move = empty.view(np.uint32)[_HEAD - 1 :].tolist() == [rows, *[0] * rows]
        self._strlen = ctypes.cast(ctypes.CDLL(None).strlen, self._c.ggml_abort_callback)

    def append(self, feeds: Sequence[Feed], stop: Stop) -> list[NDArray[np.float32]]:
        """Append to each of `feeds`' rows, which are all different.

        Returns for each the logits after its last token, [1, size], or after every token, [tokens, size]. Raises
        Preempted once `stop` is set; the rows are then as they were.
        """
        # What C calls here is strlen: 0, or false, for as long as the text at `stop` is empty.
        self._c.llama_set_abort_callback(self._handle, self._strlen, stop.address)
        batch = _Batch(self._c, self._cells, feeds)
        result = self._c.llama_decode(self._handle, batch.described)
        if result:
            for feed in feeds:
                self.cut(feed.row, feed.start)
            if result == _ABORTED:
                raise Preempted
            raise HocketError(f"llama.cpp's decoding failed ({result})", "see the daemon's log")
        return [np.stack([self._logits(at) for at in places]) for places in batch.wanted]

    def _logits(self, at: int) -> NDArray[np.float32]:
        return np.ctypeslib.as_array(self._c.llama_get_logits_ith(self._handle, at), (self._model.size,))

    def cut(self, row: int, length: int) -> None:
        """Forget a row's tokens from position `length` on."""
        self._c.llama_memory_seq_rm(self._memory, row, length, -1)

    def copy_out(self, row: int) -> NDArray[np.uint8]:
        """Copy all that a row holds, as bytes; where `rows_move`, a context with any number of rows takes them.

        llama.cpp writes a header with the number of rows, then for each row the number of its cells, and these; for a
        single row, the others have none. A model whose attention has windows has two such memories.
        """
        state = self._state(row)
        if not self.rows_move:
            return state
        return state[(_HEAD + row) * _WORD : state.size - (self._cells.size - 1 - row) * _WORD]

    def copy_in(self, row: int, state: NDArray[np.uint8]) -> int:
        """Fill a row from such bytes; return how many tokens it holds, 0 where they do not fit this context."""
        if self.rows_move:
            state = np.concatenate([self._before, state, *[self._other] * (self._cells.size - 1)])
        read = self._c.llama_state_seq_set_data(self._handle, _bytes_of(state), state.size, row)
        return int(self._c.llama_memory_seq_pos_max(self._memory, row)) + 1 if read else 0

    def _state(self, row: int) -> NDArray[np.uint8]:
        size = self._c.llama_state_seq_get_size(self._handle, row)
        state = np.empty(size, np.uint8)
        return state[: self._c.llama_state_seq_get_data(self._handle, _bytes_of(state), size, row)]

    def close(self) -> None:
        """Free the context."""
        self._c.llama_free(self._handle)


class Feed(NamedTuple):
    """Tokens to append to a row that holds `start`; logits are wanted after the last one, or after `every` one."""

    row: int
    tokens: Sequence[int]
    start: int
    every: bool


class _Batch:
    """A llama_batch over numpy's memory; `wanted` has for each row the places of the tokens whose logits are wanted."""

    def __init__(self, functions: ModuleType | Functions, cells: NDArray[np.int32], feeds: Sequence[Feed]) -> None:
        rows, tokens, starts, every = zip(*feeds, strict=True)
        widths = [len(each) for each in tokens]
        places = zip(np.cumsum(widths), widths, every, strict=True)
        self.wanted = [range(end - (width if whole else 1), end) for end, width, whole in places]
        self._ids = np.concatenate([np.asarray(each, np.int32) for each in tokens])
        self._positions = np.concatenate(
            [np.arange(start, start + width, dtype=np.int32) for start, width in zip(starts, widths, strict=True)]
        )
        self._one = np.ones(len(self._ids), np.int32)
        self._sequences = cells.ctypes.data + cells.itemsize * np.repeat(np.asarray(rows, np.uint64), widths)
        self._asked = np.zeros(len(self._ids), np.int8)
        self._asked[list(chain.from_iterable(self.wanted))] = 1
        described = self.described = functions.llama_batch()
        described.n_tokens = len(self._ids)
        for field, array in (
            ("token", self._ids), ("pos", self._positions), ("n_seq_id", self._one), ("seq_id", self._sequences),
            ("logits", self._asked),
        ):  # fmt: skip
            setattr(described, field, ctypes.cast(array.ctypes.data, type(getattr(described, field))))


def _bytes_of(state: NDArray[np.uint8]) -> object:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


def _look_at(file: Path) -> None:
    try:
        with file.open("rb") as opened:
            magic = opened.read(len(_MAGIC))
    except OSError as error:
        raise _refused(file, str(error.strerror), "name an existing file") from error
    if magic != _MAGIC:
        raise _refused(file, "it is not a GGUF file", "name a folder, or a GGUF file")


def _reason(complaints: deque[str]) -> str:
    reasons = [line for line in complaints if "error" in line.lower()] or list(complaints)
    return " ".join((reasons[0] if reasons else "no reason given").split())[:200]


def _refused(file: Path, why: str, remedy: str) -> BadConfiguration:
    return BadConfiguration(f"the model '{file}' does not load ({why})", remedy)
