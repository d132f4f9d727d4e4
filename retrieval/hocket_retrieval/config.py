"""The configuration of a retrieval daemon; the one place of its defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hocket_bus.config import FOR_EXPERTS, Endpoint, FilePath
from hocket_bus.log import Format, Level
from hocket_bus.web.server_address import KeyFile

from .text.chunking import DEFAULT_WORDS, MAX_WORDS, MIN_WORDS

BUNDLED_EMBEDDER = "all-MiniLM-L6-v2"
Precision = Literal["auto", "float32", "bfloat16"]


class GraphConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The knowledge graph of the documents: docs/graph.md."""

    entities: Annotated[
        int,
        Meta(
            ge=8, le=1_000, description="maximum number of entities in a subgraph; each summary describes one subgraph"
        ),
        FOR_EXPERTS,
    ] = 40
    min_documents: Annotated[
        int, Meta(ge=1, le=1_000_000, description="a summary names only what appears in at least this many documents")
    ] = 1
    engine: Annotated[
        str,
        Meta(
            description="a server with OpenAI's API that is sent the text of all documents and finds entities in "
            "it; `https://host`, or `http://localhost:port` on this machine only; a path replaces `/v1`; empty: "
            "built-in rules find them on this machine"
        ),
    ] = ""
    model: Annotated[
        str,
        Meta(
            description="the model's name on the server; required with `engine`; a change reads all documents "
            "again at the next start"
        ),
    ] = ""
    key_file: KeyFile = ""


class StoreConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The document store: docs/stores.md."""

    kind: Annotated[
        Literal["sqlite", "lancedb", "postgres"],
        Meta(description="`sqlite` for one machine; `lancedb` or `postgres` for many documents or several daemons"),
    ] = "sqlite"
    place: Annotated[
        str,
        Meta(
            description="for `lancedb`: a folder, relative to the state folder, or a bucket such as "
            "`s3://name/folder`; empty: `lance`; for `postgres`: a connection string such as "
            "`postgresql://user@host/database`, without a password; `sqlite` is always in the state folder"
        ),
    ] = ""


class RetrievalConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A retrieval daemon: it reads documents and ranks their passages."""

    endpoint: Annotated[Endpoint, Meta(description="address to listen at: `ipc://path` or `tcp://address:port`")]
    state: Annotated[
        FilePath, Meta(description="folder for documents, vectors and index; only one process at a time may use it")
    ]
    embedder: Annotated[
        str,
        Meta(
            description="model that embeds documents: all-MiniLM-L6-v2, installed with hocket; one of `hocket "
            "model list`, for notes in several languages; or a sentence-transformers folder or name. A change "
            "embeds everything again at the next start"
        ),
    ] = BUNDLED_EMBEDDER
    reranker: Annotated[
        str, Meta(description="folder or name of a CrossEncoder that rescores the best passages; empty: none")
    ] = ""
    chunk_words: Annotated[
        int,
        Meta(
            ge=MIN_WORDS,
            le=MAX_WORDS,
            description=f"maximum words per passage, {MIN_WORDS} to {MAX_WORDS}; a change splits every document "
            "again at the next start",
        ),
        FOR_EXPERTS,
    ] = DEFAULT_WORDS
    threads: Annotated[
        int,
        Meta(
            ge=1,
            le=256,
            description="cores that embedding documents may use; more than there are idle cores slow it down",
        ),
    ] = 1
    precision: Annotated[
        Precision,
        Meta(
            description="number format in which documents are embedded: `float32`, or `bfloat16`, which takes "
            "less than half the time on processors with instructions for it, and changes scores by up to 0.002; "
            "`auto`: bfloat16 on such processors"
        ),
        FOR_EXPERTS,
    ] = "auto"
    keys: Annotated[
        FilePath,
        Meta(description="folder of this machine's keys, required for tcp; empty: the folder that `hocket keys` uses"),
    ] = ""
    log_level: Annotated[Level, Meta(description="`debug`, `info`, `warning` or `error`")] = "info"
    log_format: Annotated[
        Format, Meta(description="`json`, `people` (plain text), or `auto`: plain text on a terminal, else JSON")
    ] = "auto"
    store: StoreConfig = StoreConfig()
    graph: GraphConfig = GraphConfig()
