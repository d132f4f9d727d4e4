"""Descriptions of the models on this machine, without reading their weights."""

from __future__ import annotations

from pathlib import Path

from hocket_bus import paths
from hocket_bus.errors import BadConfiguration
from hocket_daemon.engine.backends.automatic import place_of
from hocket_daemon.engine.backends.format_choice import GGUF, has_floats
from hocket_daemon.engine.backends.llamacpp.gguf_model import SUFFIX
from hocket_daemon.engine.backends.llamacpp.llama import Model
from hocket_daemon.engine.catalog.catalogue import CATALOGUE
from hocket_daemon.engine.catalog.store import is_installed, place
from hocket_daemon.engine.settings import BUNDLED
from hocket_daemon.engine.text.gguf_tokenizer import tokenizer_of
from hocket_daemon.engine.text.spelling import AnyTokenizer
from hocket_daemon.engine.text.tokenizer import fingerprint, fingerprint_of
from hocket_daemon.engine.text.word_tokens import is_byte_level
from hocket_tools.models.embedders import EMBEDDERS
from hocket_tools.models.listed import bytes_of


def described(name: str) -> dict[str, str | int]:
    """Return facts about a model by name, in order. Raises BadConfiguration where there is no such model."""
    if name in EMBEDDERS and is_installed(name):
        return _described_embedder(name)
    folder = Path(place_of(name, "device"))
    entry = CATALOGUE.get(name)
    known = {"model": entry.title, "licence": entry.licence} if entry is not None else {}
    if folder.suffix == SUFFIX:
        return _described_file(paths.expanded(folder))
    if (folder / GGUF).is_file() and not has_floats(folder):
        return known | _described_file(folder / GGUF)
    from transformers import AutoConfig, AutoTokenizer

    from hocket_daemon.engine.backends.transformers.adapter import base_of

    try:
        base = base_of(folder)
        whole = Path(place_of(base, "device")) if base else folder
        config = AutoConfig.from_pretrained(whole, trust_remote_code=False, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(whole, trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise BadConfiguration(
            f"'{name}' is not a model on this machine", "see: hocket model list; or name a folder"
        ) from error
    text = config.get_text_config()
    note = {"note": "the device's; the cloud's is larger"} if name == BUNDLED else {}
    note |= {"note": f"an adapter of {base}"} if base else {}
    return {
        **known,
        **note,
        "place": str(folder),
        "kind": str(config.model_type),
        "layers": int(text.num_hidden_layers),
        "width": int(text.hidden_size),
        "context": int(text.max_position_embeddings),
        "tokens": len(tokenizer),
        "bytes": bytes_of(folder),
        "chat": _chat(tokenizer),
        "fingerprint": fingerprint(tokenizer),
        "words": _words(tokenizer),
    }


def _described_embedder(name: str) -> dict[str, str | int]:
    from hocket_retrieval.embedding.embedder import Embedder

    known, folder, embedder = EMBEDDERS[name], place(name), Embedder(name)
    return {
        "model": known.title,
        "licence": known.licence,
        "place": str(folder),
        "kind": "embedder",
        "width": embedder.dimension,
        "bytes": bytes_of(folder),
        "fingerprint": embedder.fingerprint,
    }


def _described_file(file: Path) -> dict[str, str | int]:
    model = Model(file)
    try:
        vocabulary = model.vocabulary()
        tokenizer = tokenizer_of(file, vocabulary)
        return {
            "place": str(file),
            "kind": model.description,
            "context": model.trained_context,
            "tokens": len(vocabulary),
            "bytes": file.stat().st_size,
            "chat": _chat(tokenizer),
            "fingerprint": fingerprint_of(vocabulary),
            "words": _words(tokenizer),
        }
    finally:
        model.close()


def _words(tokenizer: AnyTokenizer) -> str:
    return "yes: with any other such model" if is_byte_level(tokenizer) else "no: with models of its tokenizer alone"


def _chat(tokenizer: AnyTokenizer) -> str:
    return "yes" if tokenizer.chat_template else "no: asked as `Question:` and `Answer:`"
