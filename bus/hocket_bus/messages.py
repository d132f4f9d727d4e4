"""Every message of the protocol: a closed table of frozen records. docs/protocol.md tells what each is for.

A last field named `payload` travels as a raw frame of its own; what is in it is not the bus's business.
Ids of requests, sessions and topics are 16 random bytes. Digests are unsigned 64-bit integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from .documents import (
    Chunks as Chunks,
    Document as Document,
    Documents as Documents,
    Ingest as Ingest,
    Ingested as Ingested,
    ListChunks as ListChunks,
    ListDocuments as ListDocuments,
    Part as Part,
    Passage as Passage,
    Passages as Passages,
    Place as Place,
    Progress as Progress,
    Remove as Remove,
    Removed as Removed,
    Score as Score,
    Scores as Scores,
    Search as Search,
)
from .egress import DataClass
from .errors import Code
from .fields import Count, Digest, Id, Line, Message as Message, Record, Scorers, Seconds, Text, TokenId, TokenIds

PROTOCOL_VERSION = 4

Side = Literal["device", "cloud"]
Role = Literal["client", "device", "cloud", "retrieval"]
Aggregation = Literal["coupled", "independent", "sync", "sync-both"]
Mode = Literal["coupled", "independent", "sync", "sync-both", "alone"]
Task = Literal["answer", "complete"]
Weights = Literal["off", "static", "dynamic"]
Source = Literal["both", "device", "cloud", "resampled", "solo"]
Finish = Literal["eos", "stop", "length", "cancelled"]
AGGREGATIONS: tuple[str, ...] = get_args(Aggregation)
WEIGHTS: tuple[str, ...] = get_args(Weights)

MAX_QUESTION_CHARS = 8_000
MAX_TOKENS = 4_096


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
    """`sent_s` is the sender's own clock and comes back unchanged; `rtt_s` tells the round trip it knows, 0 if none."""

    sent_s: float
    rtt_s: Seconds = 0.0


class Pong(Message, frozen=True):
    """The echo of a Ping, with the number of requests in work, and of steps and prompts that wait for the model."""

    sent_s: float
    load: Count = 0
    waiting: Count = 0


class Error(Message, frozen=True):
    """A request, or a message, that was refused. `request` is empty where the message could not be read."""

    code: Code
    text: Line
    remedy: Line = ""
    request: Annotated[bytes, Meta(max_length=16)] = b""
    retry_after_s: Seconds = 0.0


class StatusRequest(Message, frozen=True):
    """Asks any daemon how it is."""

    request: Id


class Status(Message, frozen=True):
    """How a daemon is; `facts` are lines for people: name and value. `figures` are numbers for programs."""

    request: Id
    role: Role
    ready: bool
    facts: Annotated[dict[str, Line], Meta(max_length=64)]
    figures: Annotated[dict[str, float], Meta(max_length=64)] = {}


# --- client and daemon ----------------------------------------------------------------------------------------------


class Sampling(Record, frozen=True):
    """How tokens are drawn. Temperature 0 is greedy; temperature and top-p act after mixing."""

    temperature: Annotated[float, Meta(ge=0, le=10)] = 0.7
    top_p: Annotated[float, Meta(gt=0, le=1)] = 0.9
    seed: Digest = 0
    max_tokens: Annotated[int, Meta(ge=1, le=MAX_TOKENS)] = 128


class Ask(Message, frozen=True):
    """One question. Its stream is published on `topic`; `deadline_s` is what the client will still wait.

    `window` is how many events may be published beyond those that the client has said it has read.
    """

    request: Id
    topic: Id
    question: Annotated[str, Meta(max_length=100_000)]
    sampling: Sampling = Sampling()
    aggregation: Line = "coupled"
    weights: Line = "dynamic"
    task: Task = "answer"
    documents: Annotated[int, Meta(ge=0, le=64)] = 2
    stop: Annotated[list[Line], Meta(max_length=16)] = []
    ignore_eos: bool = False
    require_cloud: bool = False
    alone: bool = False
    deadline_s: Seconds = 120.0
    window: Annotated[int, Meta(ge=1, le=MAX_TOKENS)] = 512


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


class Credit(Message, frozen=True):
    """The client has read everything below `seq`, so more may be published."""

    request: Id
    topic: Id
    seq: Count


class Lost(Message, frozen=True):
    """The events that a Resume or Credit needs next are no longer kept; the oldest that is has the number `first`."""

    request: Id
    first: Count


class Token(Message, frozen=True):
    """One token of the answer. `text` is what became readable with it; `t_s` counts from the arrival of the Ask."""

    request: Id
    seq: Count
    step: Count
    id: TokenId
    text: Annotated[str, Meta(max_length=10_000)]  # more than the longest stop text, which may have held it back
    source: Source
    t_s: Seconds


class Notice(Message, frozen=True):
    """Something the reader should know; the stream goes on."""

    request: Id
    seq: Count
    text: Line


class Done(Message, frozen=True):
    """The end of a stream that succeeded; every number needed to repeat it. `expect_…` is the paper's Eq. 5."""

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
    expect_device: float | None = None
    expect_cloud: float | None = None


class Failed(Message, frozen=True):
    """The end of a stream that did not."""

    request: Id
    seq: Count
    code: Code
    text: Line
    remedy: Line = ""


# --- device and cloud -----------------------------------------------------------------------------------------------


class Begin(Message, frozen=True):
    """Opens a session on the cloud. The question travels as text: each model lays out its own prompt.

    `weights` says how documents and sides are weighed; dynamic ones change every `reweigh_every` tokens. `scorer` is
    the one that both sides are to use, empty where the device does not know of a common one yet.
    """

    session: Id
    epoch: Count
    question: Annotated[str, Meta(max_length=MAX_QUESTION_CHARS)]
    task: Task
    sampling: Sampling
    aggregation: Aggregation
    documents: Annotated[int, Meta(ge=0, le=64)]
    eos: Annotated[list[TokenId], Meta(max_length=64)]
    weights: Weights
    reweigh_every: Annotated[int, Meta(ge=1, lt=1 << 16)]
    relevance_temperature: Annotated[float, Meta(ge=1e-6)]
    wire_mass: Annotated[float, Meta(gt=0, le=1)]
    scorer: Line = ""


class Ready(Message, frozen=True):
    """The cloud has searched and read `documents` passages; `scorer` and `scorers` are as in its Passages."""

    session: Id
    epoch: Count
    documents: Count
    scorer: Line
    scorers: Scorers
    retrieval_s: Seconds
    prefill_s: Seconds


class Draft(Message, frozen=True):
    """A side's draft of one step. `payload` is its encoded distribution; `prefix` digests the tokens before it.

    `digest` is that of the `confirmed` tokens which the side has confirmed.
    """

    session: Id
    epoch: Count
    step: Count
    prefix: Digest
    confirmed: Count
    digest: Digest
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


class Aggregated(Message, frozen=True):
    """Independent: the aggregator's target token of `step` behind `prefix`, which drafts it accepts, who is next."""

    session: Id
    epoch: Count
    step: Count
    prefix: Digest
    token: TokenId
    accepted_device: bool
    accepted_cloud: bool
    aggregator: Side


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
    """The cloud cannot take part in a session; 0 for `retry_after_s` is never."""

    session: Id
    epoch: Count
    code: Code
    text: Line
    remedy: Line = ""
    retry_after_s: Seconds = 0.0


# Every message that exists, in the order of its codes, and the class of data that it carries.
_TABLE: dict[type[Message], DataClass] = {
    Hello: "control", Welcome: "control", Subscribed: "control", Ping: "control", Pong: "control", Error: "control",
    StatusRequest: "control", Status: "control",
    Ask: "query", Accepted: "control", Cancel: "control", Resume: "control",
    Token: "answer", Notice: "answer", Done: "answer", Failed: "answer",
    Begin: "query", Ready: "control", Draft: "drafts", Target: "targets", Sync: "control", End: "control",
    Refused: "control",
    Search: "query", Passages: "documents",
    Ingest: "documents", Progress: "documents", Ingested: "documents", Remove: "documents", Removed: "documents",
    ListDocuments: "documents", Documents: "documents", ListChunks: "documents", Chunks: "documents",
    Score: "documents", Scores: "documents",
    Aggregated: "targets",
    Part: "documents",
    Credit: "control", Lost: "control",
}  # fmt: skip
BY_CODE: dict[int, type[Message]] = dict(enumerate(_TABLE, start=1))
CODE_OF: dict[type[Message], int] = {kind: code for code, kind in BY_CODE.items()}
CLASS_OF: Mapping[type[Message], DataClass] = _TABLE
HAS_PAYLOAD: frozenset[type[Message]] = frozenset(
    kind for kind in _TABLE if any(field.name == "payload" for field in msgspec.structs.fields(kind))
)
