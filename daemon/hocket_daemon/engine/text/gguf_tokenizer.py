"""The tokenizer of a GGUF file: the one beside it where that has the same tokens, or else as transformers reads it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hocket_bus.errors import BadConfiguration

from .file_tokenizer import FileTokenizer
from .spelling import AnyTokenizer

_REMEDY = "put the model's tokenizer.json and tokenizer_config.json beside it"


def tokenizer_of(file: Path, vocabulary: dict[str, int]) -> AnyTokenizer:
    """A tokenizer that numbers its tokens as `vocabulary` does. Raises BadConfiguration."""
    beside = _beside(file)
    if beside is not None and _has_same_numbers(beside, vocabulary):
        return beside
    try:
        read = _read(file)
    except Exception as error:  # its readers raise what they meet
        raise BadConfiguration(
            f"transformers does not read the tokenizer of '{file}' ({' '.join(str(error).split())[:200]})",
            _REMEDY,
        ) from error
    if not _has_same_numbers(read, vocabulary):
        raise BadConfiguration(
            f"transformers gives the tokens of '{file}' other ids than the file",
            _REMEDY,
        )
    return read


def _read(file: Path) -> AnyTokenizer:
    """Read the file from a folder of its own: transformers would prefer another tokenizer that lies beside it."""
    from transformers import AutoTokenizer

    with TemporaryDirectory() as folder:
        (Path(folder) / file.name).symlink_to(file.resolve())
        tokenizer: AnyTokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file.name, trust_remote_code=False)
        return tokenizer


def _beside(file: Path) -> AnyTokenizer | None:
    try:
        return FileTokenizer(file.parent)
    except (OSError, ValueError):
        return None


def _has_same_numbers(tokenizer: AnyTokenizer, vocabulary: dict[str, int]) -> bool:
    """Tell whether every token of the file has its number; transformers may add one of its own after them."""
    known = tokenizer.get_vocab()
    return all(known.get(piece) == id for piece, id in vocabulary.items())
