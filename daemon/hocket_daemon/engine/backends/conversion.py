"""A GGUF file made into a folder that transformers reads: float32 weights, configuration, tokenizer, chat template.

The folder is written beside its place and renamed, so that it is there whole or not at all. What a conversion that was
killed has left is removed by the next one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import IO

from hocket_bus.errors import BadRequest, Unavailable
from hocket_bus.private import lock, private_folder

_TIED = {"lm_head.weight"}  # is the embedding where a file has none


def convert(file: Path, folder: Path, progress: Callable[[str], None]) -> None:
    """Make `folder`, which may be there already, of a GGUF file; `progress` hears what is done.

    Raises BadRequest for a file that transformers does not understand, and Unavailable while another one converts.
    """
    private_folder(folder.parent)
    partial = folder.with_name(f".{folder.name}-new")
    with _alone(folder):
        _tidy(folder)
        try:
            private_folder(partial)
            _write(file, partial, progress)
            _swap_in(partial, folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _alone(folder: Path) -> IO[str]:
    try:
        return lock(folder.with_name(f".{folder.name}.lock"))
    except BlockingIOError as error:
        raise Unavailable(f"another program is converting {folder.name}", "wait until it is done") from error


def _tidy(folder: Path) -> None:
    """After a kill: what was half written goes, and what was being replaced comes back."""
    old = _old(folder)
    if old.exists() and not folder.exists():
        old.rename(folder)
    for left in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(left, ignore_errors=True)


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}-old")


def _write(file: Path, folder: Path, progress: Callable[[str], None]) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    progress("reading the tokenizer")
    try:
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, trust_remote_code=False)
        config = AutoConfig.from_pretrained(file.parent, gguf_file=file.name, trust_remote_code=False)
        weights = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        progress("reading the weights")
        with redirect_stderr(StringIO()):  # a progress bar that nothing else turns off
            read = load_gguf_checkpoint(str(file), return_tensors=True, model_to_load=weights)
        lacking = weights.load_state_dict(read["tensors"], strict=False).missing_keys
    except (OSError, ValueError, KeyError, RuntimeError, NotImplementedError) as error:
        raise BadRequest(f"{file.name} does not load ({error})", "take a GGUF file of a Llama-like model") from error
    if not set(lacking) <= _TIED:
        raise BadRequest(f"{file.name} lacks {', '.join(lacking[:3])}", "take a whole GGUF file")
    weights.tie_weights()
    progress("writing the weights")
    weights.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _swap_in(partial: Path, folder: Path) -> None:
    old = _old(folder)
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
