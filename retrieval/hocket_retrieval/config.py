"""The configuration of a retrieval daemon; the one place of its defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hocket_bus.log import Format, Level

from .chunking import DEFAULT_WORDS, MAX_WORDS, MIN_WORDS

BUNDLED_EMBEDDER = "all-MiniLM-L6-v2"
Precision = Literal["float32", "bfloat16"]


class RetrievalConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one retrieval daemon is.

    `endpoint`     where it listens: ipc:///path or tcp://address:port
    `state`        its folder: documents, vectors and index; made when missing, used by one process at a time
    `embedder`     all-MiniLM-L6-v2 (installed with hocket), a sentence-transformers folder, or a hub name; changing it
                   embeds every document anew at the next start
    `reranker`     a sentence-transformers CrossEncoder, folder or hub name, to score the best passages; empty for none
    `chunk_words`  words per chunk at most; changing it cuts every document anew at the next start
    `threads`      cores that embedding documents may use; more than are idle make it slower
    `precision`    float32, or bfloat16 to embed documents in about a third of the time on processors that have
                   instructions for it; scores then differ by up to 0.002
    `keys`         the folder of this machine's keys, which tcp needs; empty: where `hocket keys` keeps them
    `log_level`    debug, info, warning or error
    `log_format`   json, people, or auto: for people at a terminal
    """

    endpoint: str
    state: str
    embedder: str = BUNDLED_EMBEDDER
    reranker: str = ""
    chunk_words: Annotated[int, Meta(ge=MIN_WORDS, le=MAX_WORDS)] = DEFAULT_WORDS
    threads: Annotated[int, Meta(ge=1, le=256)] = 1
    precision: Precision = "float32"
    keys: str = ""
    log_level: Level = "info"
    log_format: Format = "auto"
