"""Conversion of a GGUF file by transformers: its tokenizer as files, and its weights in float32."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path

from hocket_bus.errors import BadRequest

_TIED = {"lm_head.weight"}  # is the embedding where a file has none


def write_tokenizer(file: Path, folder: Path) -> None:
    """Write the tokenizer and chat template of `file` as files in `folder`. Raises BadRequest."""
    from transformers import AutoTokenizer

    with _understood(file):
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, trust_remote_code=False)
    tokenizer.save_pretrained(folder)


def write_weights(file: Path, folder: Path, progress: Callable[[str], None]) -> None:
    """Write configuration and weights into `folder`; `progress` gets what is done. Raises BadRequest."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    with _understood(file):
        config = AutoConfig.from_pretrained(file.parent, gguf_file=file.name, trust_remote_code=False)
        weights = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        progress("reading the weights")
        with redirect_stderr(StringIO()):  # a progress bar that nothing else turns off
            read = load_gguf_checkpoint(str(file), return_tensors=True, model_to_load=weights)
        lacking = weights.load_state_dict(read["tensors"], strict=False).missing_keys
    if not set(lacking) <= _TIED:
        raise BadRequest(f"{file.name} lacks {', '.join(lacking[:3])}", "use a complete GGUF file")
    weights.tie_weights()
    progress("writing the weights")
    weights.save_pretrained(folder)


@contextmanager
def _understood(file: Path) -> Iterator[None]:
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError, NotImplementedError) as error:
        raise BadRequest(f"{file.name} does not load ({error})", "use a GGUF file of a Llama-like model") from error
