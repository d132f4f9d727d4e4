"""llama.cpp's C functions as the wheel `xllamacpp` has them: no compiler is needed, and no header comes with them.

What is passed by value must be laid out as in the wheel, so one version is taken and looked at before it is used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import (
    POINTER,
    Structure,
    c_bool,
    c_char_p,
    c_float,
    c_int,
    c_int8,
    c_int32,
    c_size_t,
    c_uint8,
    c_uint32,
    c_void_p,
)
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGE, VERSION = "xllamacpp", "2026.10.11549"
_FILE = "xllamacpp/xllamacpp.abi3.so"

LLAMA_VOCAB_TYPE_NONE = 0
LLAMA_TOKEN_ATTR_UNUSED = 2
LLAMA_FLASH_ATTN_TYPE_DISABLED = 0

llama_log_callback = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)
ggml_abort_callback = ctypes.CFUNCTYPE(c_bool, c_void_p)


class llama_model_params(Structure):  # noqa: N801 - its name in C, as are those of its fields
    """The parameters for loading a file."""

    _fields_ = (
        ("devices", c_void_p),
        ("tensor_buft_overrides", c_void_p),
        ("n_gpu_layers", c_int32),
        ("split_mode", c_int32),
        ("load_mode", c_int32),
        ("lazy_mode", c_int32),
        ("main_gpu", c_int32),
        ("tensor_split", c_void_p),
        ("progress_callback", c_void_p),
        ("progress_callback_user_data", c_void_p),
        ("kv_overrides", c_void_p),
        ("vocab_only", c_bool),
        ("check_tensors", c_bool),
        ("use_extra_bufts", c_bool),
        ("no_host", c_bool),
        ("no_alloc", c_bool),
        ("load_mtp", c_bool),
    )


class llama_context_params(Structure):  # noqa: N801
    """The parameters for laying out and computing rows."""

    _fields_ = (
        ("n_ctx", c_uint32),
        ("n_batch", c_uint32),
        ("n_ubatch", c_uint32),
        ("n_seq_max", c_uint32),
        ("n_rs_seq", c_uint32),
        ("n_outputs_max", c_uint32),
        ("n_outputs_max_per_seq", c_uint32),
        ("n_threads", c_int32),
        ("n_threads_batch", c_int32),
        ("ctx_type", c_int32),
        ("rope_scaling_type", c_int32),
        ("pooling_type", c_int32),
        ("attention_type", c_int32),
        ("flash_attn_type", c_int32),
        ("rope_freq_base", c_float),
        ("rope_freq_scale", c_float),
        ("yarn_ext_factor", c_float),
        ("yarn_attn_factor", c_float),
        ("yarn_beta_fast", c_float),
        ("yarn_beta_slow", c_float),
        ("yarn_orig_ctx", c_uint32),
        ("defrag_thold", c_float),
        ("cb_eval", c_void_p),
        ("cb_eval_user_data", c_void_p),
        ("type_k", c_int32),
        ("type_v", c_int32),
        ("callbacks", c_void_p * 3),  # all null here: the abort callback is set by its function
        ("embeddings", c_bool),
        ("offload_kqv", c_bool),
        ("no_perf", c_bool),
        ("op_offload", c_bool),
        ("swa_full", c_bool),
        ("kv_unified", c_bool),
        ("samplers", c_void_p),
        ("n_samplers", c_size_t),
        ("ctx_other", c_void_p),
    )


class llama_batch(Structure):  # noqa: N801
    """Tokens to append to rows."""

    _fields_ = (
        ("n_tokens", c_int32),
        ("token", POINTER(c_int32)),
        ("embd", POINTER(c_float)),
        ("pos", POINTER(c_int32)),
        ("n_seq_id", POINTER(c_int32)),
        ("seq_id", POINTER(POINTER(c_int32))),
        ("logits", POINTER(c_int8)),
    )


_FUNCTIONS: dict[str, tuple[Any, ...]] = {  # what each returns, and takes
    "llama_backend_init": (None,),
    "llama_context_default_params": (llama_context_params,),
    "llama_decode": (c_int32, c_void_p, llama_batch),
    "llama_free": (None, c_void_p),
    "llama_get_logits_ith": (POINTER(c_float), c_void_p, c_int32),
    "llama_get_memory": (c_void_p, c_void_p),
    "llama_init_from_model": (c_void_p, c_void_p, llama_context_params),
    "llama_log_set": (None, llama_log_callback, c_void_p),
    "llama_memory_seq_pos_max": (c_int32, c_void_p, c_int32),
    "llama_memory_seq_rm": (c_bool, c_void_p, c_int32, c_int32, c_int32),
    "llama_model_default_params": (llama_model_params,),
    "llama_model_desc": (c_int32, c_void_p, c_char_p, c_size_t),
    "llama_model_free": (None, c_void_p),
    "llama_model_get_vocab": (c_void_p, c_void_p),
    "llama_model_has_decoder": (c_bool, c_void_p),
    "llama_model_has_encoder": (c_bool, c_void_p),
    "llama_model_is_diffusion": (c_bool, c_void_p),
    "llama_model_is_hybrid": (c_bool, c_void_p),
    "llama_model_is_recurrent": (c_bool, c_void_p),
    "llama_model_load_from_file": (c_void_p, c_char_p, llama_model_params),
    "llama_model_meta_val_str": (c_int32, c_void_p, c_char_p, c_char_p, c_size_t),
    "llama_model_n_ctx_train": (c_int32, c_void_p),
    "llama_model_n_embd": (c_int32, c_void_p),
    "llama_model_n_head": (c_int32, c_void_p),
    "llama_model_n_head_kv": (c_int32, c_void_p),
    "llama_model_n_layer": (c_int32, c_void_p),
    "llama_print_system_info": (c_char_p,),
    "llama_set_abort_callback": (None, c_void_p, ggml_abort_callback, c_void_p),
    "llama_state_seq_get_data": (c_size_t, c_void_p, POINTER(c_uint8), c_size_t, c_int32),
    "llama_state_seq_get_size": (c_size_t, c_void_p, c_int32),
    "llama_state_seq_set_data": (c_size_t, c_void_p, POINTER(c_uint8), c_size_t, c_int32),
    "llama_supports_gpu_offload": (c_bool,),
    "llama_version": (c_char_p,),
    "llama_vocab_get_attr": (c_int32, c_void_p, c_int32),
    "llama_vocab_get_text": (c_char_p, c_void_p, c_int32),
    "llama_vocab_is_eog": (c_bool, c_void_p, c_int32),
    "llama_vocab_n_tokens": (c_int32, c_void_p),
    "llama_vocab_type": (c_int32, c_void_p),
}


class Functions:
    """The functions of llama.cpp that are used here, by name, with the records and constants that they need."""

    LLAMA_VOCAB_TYPE_NONE = LLAMA_VOCAB_TYPE_NONE
    LLAMA_TOKEN_ATTR_UNUSED = LLAMA_TOKEN_ATTR_UNUSED
    LLAMA_FLASH_ATTN_TYPE_DISABLED = LLAMA_FLASH_ATTN_TYPE_DISABLED
    llama_batch = llama_batch
    llama_log_callback = llama_log_callback
    ggml_abort_callback = ggml_abort_callback

    def __init__(self) -> None:
        """Load the library. Raises ImportError where the wheel is missing, or is another than the one that is known."""
        file = _file()
        try:
            library = ctypes.CDLL(str(file))
            for name, (returns, *takes) in _FUNCTIONS.items():
                function = getattr(library, name)
                function.restype, function.argtypes = returns, takes
                setattr(self, name, function)
        except (OSError, AttributeError) as error:
            raise ImportError(f"{PACKAGE} does not load: {error}") from error
        if not _is_known(self):
            raise ImportError(f"{PACKAGE} {VERSION} has other struct layouts here")

    def __getattr__(self, name: str) -> Callable[..., Any]:  # all that there are were set by name
        raise AttributeError(name)


def _file() -> Path:
    """Return the path of the library in the wheel, none of whose Python is run."""
    try:
        package = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError as error:
        raise ModuleNotFoundError(f"{PACKAGE} is not installed", name=PACKAGE) from error
    if package.version != VERSION:
        raise ImportError(f"{PACKAGE} {package.version} is not the supported version, {VERSION}")
    return Path(str(package.locate_file(_FILE)))


def _is_known(functions: Functions) -> bool:
    """Tell whether values that llama.cpp documents are where they should be at both ends of its records."""
    model, context = functions.llama_model_default_params(), functions.llama_context_default_params()
    flags = (context.embeddings, context.offload_kqv, context.no_perf, context.op_offload, context.swa_full)
    return (
        (model.n_gpu_layers, model.main_gpu, model.vocab_only, model.use_extra_bufts) == (-1, 0, False, True)
        and (context.n_ctx, context.n_batch, context.n_ubatch, context.n_seq_max) == (512, 2048, 512, 1)
        and (context.flash_attn_type, context.yarn_beta_slow, context.type_k, context.type_v) == (-1, -1.0, 1, 1)
        and (*flags, context.kv_unified, context.n_samplers) == (False, True, True, True, True, False, 0)
    )
