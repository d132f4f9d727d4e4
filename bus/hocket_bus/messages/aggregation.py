"""Aggregation: a client's options for it, and the messages between the two sides of a session."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from msgspec import Meta

from hocket_bus.errors import Code

from .retrieval import Bridge, Place
from .types import (
    MAX_LOGPROBS,
    MAX_TOKENS,
    Conversation,
    Count,
    Digest,
    Entry,
    Fraction,
    Id,
    Line,
    Message,
    Name,
    Prompt,
    Ranked,
    Record,
    Sampling,
    Scorers,
    Seconds,
    Side,
    Spans,
    Strength,
    Task,
    TokenId,
    TokenIds,
    Unit,
    Word,
)

Method = Literal["coupled", "independent", "sync", "sync-both"]
Weights = Literal["off", "static", "dynamic", "likelihood"]
METHODS: tuple[str, ...] = get_args(Method)
WEIGHTS: tuple[str, ...] = get_args(Weights)
DEFAULT_WEIGHTS: Weights = "likelihood"


class AggregationOptions(Record, frozen=True, tag="aggregation"):
    """A client's options: how drafts become tokens, how passages are weighed, and whether the other side takes part.

    `require_cloud` makes the other side's part mandatory, `alone` forbids it. `members` are devices of the group that
    shall take part, in the modes that ask others.
    """

    method: Line = "coupled"
    weights: Line = DEFAULT_WEIGHTS
    require_cloud: bool = False
    alone: bool = False
    members: Annotated[list[Name], Meta(max_length=16)] = []


class MemberOutcome(Record, frozen=True):
    """A party's part in an answer of several: the steps at which it took part, as half-open pairs [first, end) in turn.

    `accept` is the share of those steps whose token its draft was.
    """

    name: Name
    steps: Annotated[list[Count], Meta(max_length=256)]
    accept: float | None
    drafts: Count


class AggregationOutcome(Record, frozen=True, tag="aggregation"):
    """An outcome: how an answer was written, `method` "alone" if one side did it; `expect_…` is the paper's Eq. 5.

    `members` are the other parties of an answer that several wrote; there `accept_cloud` is of any of them.
    """

    method: Literal["coupled", "independent", "sync", "sync-both", "alone"]
    accept_device: float | None = None
    accept_cloud: float | None = None
    solo_steps: TokenIds = []
    drafts_device: Count = 0
    drafts_cloud: Count = 0
    expect_device: float | None = None
    expect_cloud: float | None = None
    members: Annotated[list[MemberOutcome], Meta(max_length=17)] = []


class Begin(Message, frozen=True):
    """The opening of a session on the cloud. The question travels as text: each model lays out its own prompt.

    `weights` says how documents and sides are weighed; dynamic ones change every `reweigh_every` tokens. `scorer` is
    the one that both sides are to use, empty if the device does not know of a common one yet. `escalates` lets the
    cloud read passages of other devices, too. `contrast` is how strongly each passage's row is set against one that has
    read the question alone; 0: not at all. `rtt_s` is the round trip if it is not the link's own, as between two
    devices; 0: it is. `bridge` has names that the device found, for a second step of the cloud's search, if they may
    leave. `unit` is what a step is: a token of the `tokenizer` with this fingerprint, or a word of any.
    """

    session: Id
    epoch: Count
    prompt: Prompt
    task: Task
    sampling: Sampling
    method: Method
    documents: Annotated[int, Meta(ge=0, le=64)]
    eos: Annotated[list[TokenId], Meta(max_length=64)]
    weights: Weights
    reweigh_every: Annotated[int, Meta(ge=1, lt=1 << 16)]
    relevance_temperature: Annotated[float, Meta(ge=1e-6)]
    wire_mass: Annotated[float, Meta(gt=0, le=1)]
    scorer: Line = ""
    escalates: bool = False
    contrast: Strength = 0.0
    rtt_s: Seconds = 0.0
    bridge: Bridge | None = None
    tokenizer: Line = ""
    unit: Unit = "token"


class Ready(Message, frozen=True):
    """The cloud's report that it has searched and read `documents` passages; `scorer`, `scorers` are as in Passages.

    `best` is how near the nearest one is to the question, -1 if there is none. `matched` are devices that may know
    more, best first, and `notices` what the reader should know of them.
    """

    session: Id
    epoch: Count
    documents: Count
    best: float
    scorer: Line
    scorers: Scorers
    retrieval_s: Seconds
    prefill_s: Seconds
    matched: Annotated[list[Name], Meta(max_length=16)] = []
    notices: Annotated[list[Line], Meta(max_length=16)] = []


class PromptProgress(Message, frozen=True):
    """Progress report to the leader: the sender has read the fraction `read` of its prompt, and drafts once it is 1.

    `left_s` is how long the rest is expected to take at the measured pace; 0 while no pace is known.
    """

    session: Id
    epoch: Count
    read: Fraction
    left_s: Seconds


class Draft(Message, frozen=True):
    """A side's draft of one step. `payload` is its encoded distribution; `prefix` digests the tokens before it.

    In a session of words `payload` is a word with its probability, and `token` is 0.

    `digest` is that of the `confirmed` tokens which the side has confirmed. With `weights` "likelihood" the first draft
    of an epoch says how likely the side's passages make each of the question's tokens.
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
    likelihoods: Annotated[bytes, Meta(max_length=256)] | None
    payload: bytes


class Target(Message, frozen=True):
    """Tokens of the answer from step `first` on, by the side that decides them: in an aggregation the device.

    `digest` covers all tokens up to the last of them. A cloud that writes a dispatched answer sends with each token,
    if requested, its log-probability and those of the most likely tokens in its place. In a session of words they are
    `words`, of which the empty one ends the answer.
    """

    session: Id
    epoch: Count
    first: Count
    ids: TokenIds
    digest: Digest
    logprobs: Annotated[
        list[Annotated[list[Ranked], Meta(max_length=MAX_LOGPROBS + 1)]], Meta(max_length=MAX_TOKENS)
    ] = []
    words: Annotated[list[Word], Meta(max_length=MAX_TOKENS)] = []


class Aggregated(Message, frozen=True):
    """The aggregator's target token of `step` after `prefix`, the drafts it accepts, and the next aggregator.

    For the method "independent".
    """

    session: Id
    epoch: Count
    step: Count
    prefix: Digest
    token: TokenId
    accepted_device: bool
    accepted_cloud: bool
    aggregator: Side


class Sync(Message, frozen=True):
    """A side's state of a session, sent first after every reconnect (R3)."""

    session: Id
    epoch: Count
    confirmed: Count
    digest: Digest


class End(Message, frozen=True):
    """The device's end of a session, of whose answer it has confirmed so many `tokens`."""

    session: Id
    reason: Line
    tokens: Count = 0


class Sources(Message, frozen=True):
    """The answer to End: the places of the cloud's passages, and the part of each in what the cloud said of each token.

    It is about the first `tokens` tokens, of this `digest`; they are no more than End has named. `payload` has a row
    for each token, with two bytes for each passage (big-endian). Their sum stands for 1, and for "not known" if it
    is 0. `unsupported` are the words of their text, after its first blanks, that none of the passages has.
    """

    session: Id
    tokens: Count
    digest: Digest
    places: Annotated[list[Place], Meta(max_length=128)]
    unsupported: Spans
    payload: bytes


class Refused(Message, frozen=True):
    """The cloud's refusal to take part in a session; 0 for `retry_after_s` is never."""

    session: Id
    epoch: Count
    code: Code
    text: Line
    remedy: Line = ""
    retry_after_s: Seconds = 0.0


CONVERSATION = Conversation(
    codes=range(32, 48),
    entries=(
        Entry(32, Begin, "query", "pair"),
        Entry(33, Ready, "control", "never"),
        Entry(34, Draft, "drafts", "pair"),
        Entry(35, Target, "targets", "pair"),
        Entry(36, Aggregated, "targets", "pair"),
        Entry(37, Sync, "control", "pair"),
        Entry(38, End, "control", "pair"),
        Entry(39, Refused, "control", "never"),
        Entry(40, Sources, "sources", "never"),
        Entry(41, PromptProgress, "control", "never"),
    ),
)
