"""Base classes of all messages, the types of their fields, and the entries of the protocol's table."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, get_args

from msgspec import Meta, Struct

PROTOCOL_VERSION = 33
MAX_QUESTION_CHARS = 8_000
MAX_TOKENS = 4_096
MAX_LOGPROBS = 20  # of the tokens in one place
MAX_TURNS = 64  # of a conversation that are told with a question
MAX_ANSWER_CHARS = 32_000  # of one of them
MAX_SYSTEM_CHARS = 8_000
MAX_GRAMMAR_CHARS = 64_000
MAX_THOUGHT_CHARS = 10_000  # of one message
MAX_REASONING_CHARS = 64_000  # of all that is thought before an answer; what is beyond is left out
MAX_UNSUPPORTED = 256  # words of an answer that are named

Side = Literal["device", "cloud"]
Role = Literal["client", "device", "cloud", "retrieval"]
Task = Literal["answer", "complete"]
Unit = Literal["token", "word"]  # of which an answer is made, step by step

PeerClass = Literal[
    "query", "drafts", "targets", "control", "summaries", "evidence", "memory", "passages", "history", "bridges"
]
# The first two are for clients and for the own retrieval daemon; what is sealed was judged by what is in it.
DataClass = PeerClass | Literal["answer", "documents", "sources", "sealed"]
PEER_CLASSES: tuple[PeerClass, ...] = get_args(PeerClass)

Right = Literal["dial", "pair", "ask", "documents", "watch", "drain"]  # what a key may do; `dial`: be connected to
RIGHTS: tuple[Right, ...] = get_args(Right)
Needs = Right | Literal["nothing", "never"]

Id = Annotated[bytes, Meta(min_length=16, max_length=16)]
Digest = Annotated[int, Meta(ge=0)]  # msgpack itself stops at 64 bits
Count = Annotated[int, Meta(ge=0, lt=1 << 32)]
TokenId = Annotated[int, Meta(ge=0, lt=1 << 18)]
TokenIds = Annotated[list[TokenId], Meta(max_length=65_536)]
Word = Annotated[bytes, Meta(max_length=48)]  # of an answer, in UTF-8
Name = Annotated[str, Meta(max_length=64)]
Line = Annotated[str, Meta(max_length=2_000)]
Scorers = Annotated[list[Line], Meta(max_length=8)]
Text = Annotated[str, Meta(max_length=500_000)]
Folders = Annotated[list[Annotated[str, Meta(max_length=4_096)]], Meta(max_length=64)]
Seconds = Annotated[float, Meta(ge=0)]
Strength = Annotated[float, Meta(ge=0, le=4)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
LogProbability = Annotated[float, Meta(ge=-1e4, le=0)]


class Record(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all that travels inside messages: on the wire, its fields in their order, without names."""


class Message(Record, frozen=True):
    """Base of all messages."""


class Span(Record, frozen=True):
    """A range of a text's characters, from `start` to before `end`."""

    start: Count
    end: Count


Spans = Annotated[list[Span], Meta(max_length=MAX_UNSUPPORTED)]


class Sampling(Record, frozen=True):
    """Parameters of the drawing of tokens. Temperature 0 is greedy; temperature and top-p act after mixing.

    `logprobs` asks for each token's log-probability, and for those of so many tokens that were the most likely. The
    answer obeys the `grammar`, in llguidance's dialect of Lark; empty: any text.
    """

    temperature: Annotated[float, Meta(ge=0, le=10)] = 0.0
    top_p: Annotated[float, Meta(gt=0, le=1)] = 0.9
    seed: Digest = 0
    max_tokens: Annotated[int, Meta(ge=1, le=MAX_TOKENS)] = 128
    logprobs: Annotated[int, Meta(ge=0, le=MAX_LOGPROBS)] | None = None
    grammar: Annotated[str, Meta(max_length=MAX_GRAMMAR_CHARS)] = ""


class Ranked(Record, frozen=True):
    """A token, and the natural logarithm of its probability before temperature and top-p."""

    id: TokenId
    logprob: LogProbability


class Turn(Record, frozen=True):
    """An earlier question of a conversation, and its answer."""

    query: Annotated[str, Meta(max_length=MAX_QUESTION_CHARS)]
    answer: Annotated[str, Meta(max_length=MAX_ANSWER_CHARS)]


class Prompt(Record, frozen=True):
    """The input of a model: a query, the turns before it, oldest first, and a program's instructions to the model.

    `sought` is what is searched for in the query's place, if a model made it out of query and turns.
    """

    query: Annotated[str, Meta(max_length=100_000)]
    turns: Annotated[list[Turn], Meta(max_length=MAX_TURNS)] = []
    system: Annotated[str, Meta(max_length=MAX_SYSTEM_CHARS)] = ""
    sought: Annotated[str, Meta(max_length=MAX_QUESTION_CHARS)] = ""


class Entry(NamedTuple):
    """The place of a message in the protocol: its code, the class of data that it carries, and who may send it.

    `needs` is the right that a server requires of a key for it: `nothing` if every key that is let in may send it,
    `never` if no server takes it at all.
    """

    code: int
    kind: type[Message]
    data: DataClass
    needs: Needs


class Conversation(NamedTuple):
    """The messages of one purpose, and the codes that are reserved for them."""

    codes: range
    entries: tuple[Entry, ...]


def other(side: Side) -> Side:
    """Return the side across the link."""
    return "cloud" if side == "device" else "device"
