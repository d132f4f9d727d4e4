"""Dispatch: a client's options for it, and the messages between the two sides of a session.

The tokens of an answer travel as `Target`, either way; `End`, `Refused` and `Sources` are those of aggregation.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from .types import (
    MAX_THOUGHT_CHARS,
    Conversation,
    Count,
    Entry,
    Id,
    Line,
    Message,
    Name,
    Prompt,
    Record,
    Sampling,
    Seconds,
    Side,
    Strength,
    Task,
    TokenId,
    Unit,
)

Writer = Literal["", "device", "cloud", "server"]
MAX_MOVES = 64  # of an answer between the sides that are told of


class DispatchOptions(Record, frozen=True, tag="dispatch"):
    """A client's options: whether this side writes alone, how fast the answer is read, and who is to write it.

    `pace` is in tokens a second, 0 for the daemon's own. `to` is empty for whoever is faster or cheaper.
    """

    alone: bool = False
    pace: Annotated[float, Meta(ge=0, le=10_000)] = 0.0
    to: Writer = ""


class Migration(Record, frozen=True):
    """A change of the writer: from token `step` on another side wrote, `late_s` after the reader wanted that token."""

    step: Count
    source: Side
    target: Side
    late_s: Seconds


class DispatchOutcome(Record, frozen=True, tag="dispatch"):
    """An outcome: the side that had the first token (None if there was none), tokens of each side, and every move."""

    winner: Side | None
    device_tokens: Count
    cloud_tokens: Count
    migrations: Annotated[list[Migration], Meta(max_length=MAX_MOVES)] = []


class Dispatch(Message, frozen=True):
    """The opening of a session on the cloud, or its reopening under a new epoch: after a break, or for a new writer.

    `tokens` of the answer exist already, and `Target` sends them next. `writer` goes on after them; a cloud that
    does not write reads them, and stands by. One that `escalates` may ask other devices, too. `contrast`, `tokenizer`
    and `unit` are Begin's.
    """

    session: Id
    epoch: Count
    prompt: Prompt
    task: Task
    sampling: Sampling
    documents: Annotated[int, Meta(ge=0, le=64)]
    eos: Annotated[list[TokenId], Meta(max_length=64)]
    relevance_temperature: Annotated[float, Meta(ge=1e-6)]
    wire_mass: Annotated[float, Meta(gt=0, le=1)]
    writer: Side
    tokens: Count = 0
    escalates: bool = False
    contrast: Strength = 0.0
    tokenizer: Line = ""
    unit: Unit = "token"


class Hold(Message, frozen=True):
    """An order to stop and stand by, as another side writes."""

    session: Id
    epoch: Count


class WriterStatus(Message, frozen=True):
    """A report of the cloud: it has read the prompt, stands by after `tokens` of the answer, or holds.

    It has found `documents` passages, the nearest of which scores `best` by its scorer, -1 if there is none.
    `matched` and `notices` are those of a Ready.

    It reports what it has computed so far, in tokens of all rows. `prompt` is the whole prompt, `prefilled` what had to
    be computed of it and of the answer. `decoded` are the steps that gave a token, `late` those that ended after it was
    told to hold.
    """

    session: Id
    epoch: Count
    state: Literal["read", "stands", "held"]
    tokens: Count
    documents: Count
    best: float
    scorer: Line
    prompt: Count
    prefilled: Count
    decoded: Count
    late: Count
    retrieval_s: Seconds
    prefill_s: Seconds
    matched: Annotated[list[Name], Meta(max_length=16)] = []
    notices: Annotated[list[Line], Meta(max_length=16)] = []


class Reasoning(Message, frozen=True):
    """A part of what the cloud's server thinks before it writes; no token of the answer."""

    session: Id
    epoch: Count
    text: Annotated[str, Meta(max_length=MAX_THOUGHT_CHARS)]


CONVERSATION = Conversation(
    codes=range(72, 80),
    entries=(
        Entry(72, Dispatch, "query", "pair"),
        Entry(73, Hold, "control", "pair"),
        Entry(74, WriterStatus, "control", "never"),
        Entry(75, Reasoning, "targets", "never"),
    ),
)
