"""A question and its stream of events: messages between a client and a daemon."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from hocket_bus.errors import Code

from .aggregation import AggregationOptions, AggregationOutcome
from .dispatch import DispatchOptions, DispatchOutcome
from .types import (
    MAX_LOGPROBS,
    MAX_REASONING_CHARS,
    MAX_THOUGHT_CHARS,
    MAX_TOKENS,
    Conversation,
    Count,
    Digest,
    Entry,
    Folders,
    Fraction,
    Id,
    Line,
    LogProbability,
    Message,
    Name,
    Prompt,
    Record,
    Sampling,
    Seconds,
    Side,
    Spans,
    Task,
    Text,
    TokenId,
    TokenIds,
)


class NamedOptions(Record, frozen=True, tag="named"):
    """Options by name, of a mode without a record of its own here: the mode says which there are, and checks them."""

    values: Annotated[dict[Name, bool | int | float | Line], Meta(max_length=16)]


Options = AggregationOptions | DispatchOptions | NamedOptions
Outcome = AggregationOutcome | DispatchOutcome
Source = Literal["both", "device", "cloud", "resampled", "solo"]
Verdict = Literal["home", "escalate"]
Finish = Literal["eos", "stop", "length", "cancelled", "unknown"]  # the last: nothing that was read is about it
Unknown = Literal["say", "mark", "answer"]
MAX_ORIGINS = 129  # the passages of both sides, and what is not told; of more parties the best
Share = Annotated[float, Meta(ge=0)]


class Origin(Record, frozen=True):
    """A passage and its share of an answer: its mean part in the probability of each token of the answer.

    Without a document it is the sum of all passages of a side that did not report theirs. `device` is
    another device that has sent the passage, empty for a side's own; `subgraph` and `score` are as in a Passage.
    `place` is a Passage's of the side that was asked, or of the cloud; a device sends no other side its own.
    """

    side: Side
    document: Line
    ordinal: Count
    share: Share
    device: Name = ""
    subgraph: Count = 0
    score: float = 0.0
    place: Line = ""


class GateDecision(Record, frozen=True):
    """A decision whether home knows enough to answer alone: a metric of what it found, against a threshold."""

    decision: Verdict
    metric: float
    threshold: float
    reason: Line


class Routing(Record, frozen=True):
    """The way that a question went, and why; `matched` are devices that were taken to know more, best first."""

    way: Literal["home", "pair", "devices"]
    why: Line
    matched: Annotated[list[Name], Meta(max_length=16)] = []
    gate: GateDecision | None = None


class Ask(Message, frozen=True):
    """A question, for one mode; `options` are that mode's own, None stands for its defaults.

    Its stream is published on `topic`; `deadline_s` is what the client will still wait. `window` is how many events may
    be published beyond those that the client has reported as read. `within` are folders, or documents, of the asked
    side from which alone its passages are; empty: all are searched. `documents` are passages per side; None: as many as
    the asked one's model reads well. `unknown` is what comes of a question that nothing
    found is about: a sentence that says so, an answer with a notice, or an answer. With `shares` each token says where
    it comes from, as far as this side knows that at once. `asker` is the person for whom a program asks: it is stored
    in this side's record of the answer, and goes nowhere else.
    """

    request: Id
    topic: Id
    prompt: Prompt
    mode: Name = "aggregation"
    options: Options | None = None
    sampling: Sampling = Sampling()
    task: Task = "answer"
    documents: Annotated[int, Meta(ge=0, le=64)] | None = None
    stop: Annotated[list[Line], Meta(max_length=16)] = []
    ignore_eos: bool = False
    within: Folders = []
    unknown: Unknown = "say"
    shares: bool = False
    asker: Name = ""
    deadline_s: Seconds = 120.0
    window: Annotated[int, Meta(ge=1, le=MAX_TOKENS)] = 512


class Accepted(Message, frozen=True):
    """A confirmation that the request has a session; its stream follows on the topic."""

    request: Id


class Cancel(Message, frozen=True):
    """A request to stop another request; repeating it does no harm."""

    request: Id


class Resume(Message, frozen=True):
    """A request to publish the stream of a request again from sequence number `seq` on."""

    request: Id
    topic: Id
    seq: Count


class Credit(Message, frozen=True):
    """A report that the client has read everything below `seq`, so more may be published."""

    request: Id
    topic: Id
    seq: Count


class Lost(Message, frozen=True):
    """A notice that the events that a Resume or Credit needs next are lost; the oldest one stored is `first`."""

    request: Id
    first: Count


class Logprob(Record, frozen=True):
    """A token with its bytes, and the natural logarithm of its probability before temperature and top-p."""

    id: TokenId
    piece: Annotated[bytes, Meta(max_length=10_000)]
    logprob: LogProbability


class Token(Message, frozen=True):
    """A token of the answer. `text` is what became readable with it; `t_s` counts from the arrival of the Ask.

    `logprobs`, if requested and known, are the token's own and after it those of the most likely
    ones in its place, the likeliest first. They are the mixture's that it was drawn from. An end token has none.

    If shares were requested, the first token names the `places` of the passages that were read on the asked side, and
    each token has their `shares` in it; the last share is that of all passages of the other side together.
    """

    request: Id
    seq: Count
    step: Count
    id: TokenId
    text: Annotated[str, Meta(max_length=10_000)]  # more than the longest stop text, which may have held it back
    source: Source
    t_s: Seconds
    logprobs: Annotated[list[Logprob], Meta(max_length=MAX_LOGPROBS + 1)] = []
    places: Annotated[list[Origin], Meta(max_length=MAX_ORIGINS)] = []
    shares: Annotated[list[Share], Meta(max_length=MAX_ORIGINS)] = []


class Notice(Message, frozen=True):
    """A line that the reader should know; the stream goes on."""

    request: Id
    seq: Count
    text: Line


class Waiting(Message, frozen=True):
    """A report that the answer waits for `party`, which has read the fraction `read` of its prompt.

    `left_s` is how long the rest is expected to take; 0 if that is not known.
    """

    request: Id
    seq: Count
    party: Name
    read: Fraction
    left_s: Seconds


class Thought(Message, frozen=True):
    """A part of what a server's model thinks before it answers, which is no part of the answer. `t_s` is a Token's."""

    request: Id
    seq: Count
    text: Annotated[str, Meta(max_length=MAX_THOUGHT_CHARS)]
    t_s: Seconds


class Done(Message, frozen=True):
    """The end of a stream that succeeded, with every number needed to repeat it. `outcome` is the mode's own report.

    `sources` says where the answer comes from, the largest share first; there are none if no document was read.
    `token_sources` has the shares of each token by index of source, and is empty if that would be too large.
    `prompt_tokens` were read on the asked side, in all rows together.
    `routing` is there if the mode chose a way. `unsupported` are the words of `text` that are neither in a passage
    nor in what was asked, if all that were read are known.
    `reasoning` is what the side that had the first token thought before it, as far as that was sent; mostly nothing.
    """

    request: Id
    seq: Count
    finish: Finish
    token_ids: TokenIds
    text: Text
    ttft_s: Seconds
    ms_per_token: Annotated[float, Meta(ge=0)]
    mode: Name
    seed: Digest
    outcome: Outcome | None = None
    sources: Annotated[list[Origin], Meta(max_length=MAX_ORIGINS)] = []
    token_sources: Annotated[
        list[Annotated[list[Share], Meta(max_length=MAX_ORIGINS)]], Meta(max_length=MAX_TOKENS)
    ] = []
    routing: Routing | None = None
    unsupported: Spans = []
    prompt_tokens: Count = 0
    reasoning: Annotated[str, Meta(max_length=MAX_REASONING_CHARS)] = ""

    @property
    def aggregation(self) -> AggregationOutcome:
        """Return the outcome of an aggregation. Raises TypeError for another mode's."""
        if not isinstance(self.outcome, AggregationOutcome):
            raise TypeError(f"an answer by {self.mode} has no outcome of an aggregation")
        return self.outcome

    @property
    def dispatch(self) -> DispatchOutcome:
        """Return the outcome of a dispatch. Raises TypeError for another mode's."""
        if not isinstance(self.outcome, DispatchOutcome):
            raise TypeError(f"an answer by {self.mode} has no outcome of a dispatch")
        return self.outcome


class Failed(Message, frozen=True):
    """The end of a stream that failed."""

    request: Id
    seq: Count
    code: Code
    text: Line
    remedy: Line = ""


CONVERSATION = Conversation(
    codes=range(16, 32),
    entries=(
        Entry(16, Ask, "query", "ask"),
        Entry(17, Accepted, "control", "never"),
        Entry(18, Cancel, "control", "ask"),
        Entry(19, Resume, "control", "ask"),
        Entry(20, Credit, "control", "ask"),
        Entry(21, Lost, "control", "never"),
        Entry(22, Token, "answer", "never"),
        Entry(23, Notice, "answer", "never"),
        Entry(24, Done, "answer", "never"),
        Entry(25, Failed, "answer", "never"),
        Entry(26, Thought, "answer", "never"),
        Entry(27, Waiting, "answer", "never"),
    ),
)
