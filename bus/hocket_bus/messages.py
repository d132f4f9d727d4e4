"""Every message of the protocol: a closed table of frozen records. docs/protocol.md tells what each is for.

A field named `payload` travels as a raw frame of its own; what is in it is not the bus's business.
Ids of requests, sessions and topics are 16 random bytes. Digests are unsigned 64-bit integers.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from .errors import Code

PROTOCOL_VERSION = 1

Id = Annotated[bytes, Meta(min_length=16, max_length=16)]
Digest = Annotated[int, Meta(ge=0)]  # msgpack itself stops at 64 bits
Count = Annotated[int, Meta(ge=0, lt=1 << 32)]
TokenId = Annotated[int, Meta(ge=0, lt=1 << 18)]
TokenIds = Annotated[list[TokenId], Meta(max_length=65_536)]
Line = Annotated[str, Meta(max_length=2_000)]
Text = Annotated[str, Meta(max_length=500_000)]
Seconds = Annotated[float, Meta(ge=0)]
Side = Literal["device", "cloud"]
Role = Literal["client", "device", "cloud", "retrieval"]
Aggregation = Literal["coupled", "sync", "sync-both"]
Mode = Literal["coupled", "sync", "sync-both", "alone"]
Task = Literal["answer", "complete"]
Source = Literal["both", "device", "cloud", "resampled", "solo"]
Finish = Literal["eos", "stop", "length", "cancelled"]
AGGREGATIONS: tuple[str, ...] = get_args(Aggregation)

MAX_QUESTION_CHARS = 8_000
MAX_TOKENS = 4_096


class Message(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all messages."""


# --- greeting, liveness, errors -------------------------------------------------------------------------------------


class Hello(Message, frozen=True):
    """First message of a connecting end. `tokenizer` is empty for ends without a model."""

    role: Role
    protocol: Count = PROTOCOL_VERSION
    tokenizer: Line = ""


class Welcome(Message, frozen=True):
    """The answer to Hello: the application is ready. `epoch` is random at every start of the daemon."""

    role: Role
    epoch: Digest
    tokenizer: Line = ""
    model: Line = ""


class Subscribed(Message, frozen=True):
    """Published on a topic as soon as its subscription is live."""


class Ping(Message, frozen=True):
    """`sent_s` is the sender's own clock and comes back unchanged."""

    sent_s: float


class Pong(Message, frozen=True):
    """The echo of a Ping, with the number of requests in work."""

    sent_s: float
    load: Count = 0


class Error(Message, frozen=True):
    """A request, or a message, that was refused. `request` is empty where the message could not be read."""

    code: Code
    text: Line
    remedy: Line = ""
    request: bytes = b""


class StatusRequest(Message, frozen=True):
    """Asks any daemon how it is."""

    request: Id


class Status(Message, frozen=True):
    """How a daemon is; `facts` are lines for people: name and value."""

    request: Id
    role: Role
    ready: bool
    facts: Annotated[dict[str, Line], Meta(max_length=64)]


# --- client and daemon ----------------------------------------------------------------------------------------------


class Sampling(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How tokens are drawn. Temperature 0 is greedy; temperature and top-p act after mixing."""

    temperature: Annotated[float, Meta(ge=0, le=10)] = 0.7
    top_p: Annotated[float, Meta(gt=0, le=1)] = 0.9
    seed: Digest = 0
    max_tokens: Annotated[int, Meta(ge=1, le=MAX_TOKENS)] = 128


class Ask(Message, frozen=True):
    """One question. Its stream is published on `topic`; `deadline_s` is what the client will still wait."""

    request: Id
    topic: Id
    question: Annotated[str, Meta(max_length=100_000)]
    sampling: Sampling = Sampling()
    aggregation: Line = "coupled"
    task: Task = "answer"
    documents: Annotated[int, Meta(ge=0, le=64)] = 2
    stop: Annotated[list[Line], Meta(max_length=16)] = []
    ignore_eos: bool = False
    require_cloud: bool = False
    alone: bool = False
    deadline_s: Seconds = 120.0


class Accepted(Message, frozen=True):
    """The request has a session; its stream follows on the topic."""

    request: Id


class Cancel(Message, frozen=True):
    """Stop a request; repeating it does no harm."""

    request: Id


class Resume(Message, frozen=True):
    """Publish the stream of a request again from sequence number `seq` on."""

    request: Id
    topic: Id
    seq: Count


class Token(Message, frozen=True):
    """One token of the answer. `text` is what became readable with it; `t_s` counts from the arrival of the Ask."""

    request: Id
    seq: Count
    step: Count
    id: TokenId
    text: Line
    source: Source
    t_s: Seconds


class Notice(Message, frozen=True):
    """Something the reader should know; the stream goes on."""

    request: Id
    seq: Count
    text: Line


class Done(Message, frozen=True):
    """The end of a stream that succeeded; every number needed to repeat it."""

    request: Id
    seq: Count
    finish: Finish
    token_ids: TokenIds
    text: Text
    ttft_s: Seconds
    ms_per_token: Annotated[float, Meta(ge=0)]
    accept_device: float | None
    accept_cloud: float | None
    mode: Mode
    seed: Digest
    solo_steps: TokenIds = []
    drafts_device: Count = 0
    drafts_cloud: Count = 0


class Failed(Message, frozen=True):
    """The end of a stream that did not."""

    request: Id
    seq: Count
    code: Code
    text: Line
    remedy: Line = ""


# --- device and cloud -----------------------------------------------------------------------------------------------


class Begin(Message, frozen=True):
    """Opens a session on the cloud. The question travels as text: each model lays out its own prompt."""

    session: Id
    epoch: Count
    question: Annotated[str, Meta(max_length=MAX_QUESTION_CHARS)]
    task: Task
    sampling: Sampling
    aggregation: Aggregation
    documents: Count
    eos: Annotated[list[TokenId], Meta(max_length=64)]
    relevance_temperature: Annotated[float, Meta(gt=0)]
    wire_mass: Annotated[float, Meta(gt=0, le=1)]
    rtt_s: Seconds = 0.0


class Ready(Message, frozen=True):
    """The cloud has searched and read `documents` passages; `scorer` names what their scores mean."""

    session: Id
    epoch: Count
    documents: Count
    scorer: Line
    retrieval_s: Seconds
    prefill_s: Seconds


class Draft(Message, frozen=True):
    """A side's draft of one step. `payload` is its encoded distribution; `prefix` digests the tokens before it."""

    session: Id
    epoch: Count
    step: Count
    prefix: Digest
    confirmed: Count
    token: TokenId
    log_h: float | None
    decode_s: Seconds
    payload: bytes


class Target(Message, frozen=True):
    """The device's word: the target tokens from step `first` on; `digest` covers all tokens up to the last of them."""

    session: Id
    epoch: Count
    first: Count
    ids: TokenIds
    digest: Digest


class Sync(Message, frozen=True):
    """Where a side stands, sent first after every reconnect (R3)."""

    session: Id
    epoch: Count
    confirmed: Count
    digest: Digest


class End(Message, frozen=True):
    """The device closes a session."""

    session: Id
    reason: Line


class Refused(Message, frozen=True):
    """The cloud cannot take part in a session."""

    session: Id
    epoch: Count
    code: Code
    text: Line
    remedy: Line = ""


# --- any end and a retrieval daemon ---------------------------------------------------------------------------------


class Search(Message, frozen=True):
    """Ask for the best `k` passages."""

    request: Id
    query: Annotated[str, Meta(max_length=100_000)]
    k: Annotated[int, Meta(ge=0, le=64)] = 2


class Passage(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A chunk of a document. `score` is the scorer's similarity to the query, the same scale on both sides."""

    document: Line
    title: Line
    ordinal: Count
    text: Annotated[str, Meta(max_length=50_000)]
    score: float


class Passages(Message, frozen=True):
    """The answer to Search, best first. `documents_total` is 0 where nothing is ingested."""

    request: Id
    passages: Annotated[list[Passage], Meta(max_length=64)]
    scorer: Line
    documents_total: Count
    seconds: Seconds


class Ingest(Message, frozen=True):
    """Read these files and folders, absolute paths on the retrieval daemon's machine."""

    request: Id
    paths: Annotated[list[Annotated[str, Meta(max_length=4_096)]], Meta(max_length=1_000)]


class Progress(Message, frozen=True):
    """How far an ingestion is; several come before Ingested. Chunks are those of the file `current`."""

    request: Id
    files_done: Count
    files_total: Count
    chunks_done: Count
    chunks_total: Count
    current: Line = ""


class Ingested(Message, frozen=True):
    """The end of an ingestion. `failures` are lines for people, one for each file that could not be read.

    `skipped` counts files of folders that are of no known type, `embedded` the chunks whose vectors were not there yet.
    """

    request: Id
    added: Count
    unchanged: Count
    replaced: Count
    skipped: Count
    chunks: Count
    embedded: Count
    seconds: Seconds
    embedding_s: Seconds
    failures: Annotated[list[Line], Meta(max_length=1_000)] = []


class Remove(Message, frozen=True):
    """Forget documents by name, or by the folder they lie in."""

    request: Id
    documents: Annotated[list[Line], Meta(max_length=1_000)]


class Removed(Message, frozen=True):
    """The answer to Remove; `missing` were not there."""

    request: Id
    removed: Count
    missing: Annotated[list[Line], Meta(max_length=1_000)]


class ListDocuments(Message, frozen=True):
    """Ask for the documents, from the `offset`-th on in the order of their names."""

    request: Id
    offset: Count = 0


class Document(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One ingested document."""

    name: Line
    title: Line
    chunks: Count


class Documents(Message, frozen=True):
    """A page of documents; `total` counts all of them."""

    request: Id
    documents: Annotated[list[Document], Meta(max_length=1_000)]
    total: Count


_TYPES: tuple[type[Message], ...] = (
    Hello, Welcome, Subscribed, Ping, Pong, Error, StatusRequest, Status,
    Ask, Accepted, Cancel, Resume, Token, Notice, Done, Failed,
    Begin, Ready, Draft, Target, Sync, End, Refused,
    Search, Passages, Ingest, Progress, Ingested, Remove, Removed, ListDocuments, Documents,
)  # fmt: skip
BY_CODE: dict[int, type[Message]] = dict(enumerate(_TYPES, start=1))
CODE_OF: dict[type[Message], int] = {kind: code for code, kind in BY_CODE.items()}
HAS_PAYLOAD: frozenset[type[Message]] = frozenset(
    kind for kind in _TYPES if any(field.name == "payload" for field in msgspec.structs.fields(kind))
)
