"""Graph: devices that share summaries of what they know, and a cloud that asks those of them which may know more.

A device sends its cloud summaries of the parts of its knowledge graph. For a question of another device of its group
the cloud gathers evidence: passages of those devices whose summaries match. `Refused` is aggregation's.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from .retrieval import Passage
from .types import MAX_QUESTION_CHARS, Conversation, Count, Entry, Id, Line, Message, Name, Record, Seconds

MAX_SUMMARY_CHARS = 4_000
MAX_SUMMARIES = 5_000  # of one device
PAGE_SUMMARIES = 32
MAX_EVIDENCE = 16  # passages of one device

SummaryText = Annotated[str, Meta(max_length=MAX_SUMMARY_CHARS)]
Ids = Annotated[list[Count], Meta(max_length=MAX_SUMMARIES)]
Devices = Annotated[list[Name], Meta(max_length=1_000)]


class Summary(Record, frozen=True):
    """The topic of one subgraph, as it may leave its device; without a text, its id and version alone."""

    id: Count
    version: Count
    text: SummaryText = ""


class Summaries(Message, frozen=True):
    """New summaries of a device, or new versions; an empty message asks what the cloud holds.

    `store` is the device's document store, by a number of its own: another store's summaries replace all.
    """

    store: Name
    summaries: Annotated[list[Summary], Meta(max_length=PAGE_SUMMARIES)] = []


class Withdraw(Message, frozen=True):
    """A request that the cloud forget these subgraphs of the device; all of them if none is named."""

    store: Name
    ids: Ids = []


class SummariesHeld(Message, frozen=True):
    """The summaries that the cloud holds of the device now; `problem` says why not more, if something was not taken."""

    store: Name
    held: Annotated[list[Summary], Meta(max_length=MAX_SUMMARIES)]
    problem: Line = ""


class Gather(Message, frozen=True):
    """The cloud's request to a device for the `k` passages nearest another device's question, within `deadline_s`."""

    session: Id
    question: Annotated[str, Meta(max_length=MAX_QUESTION_CHARS)]
    k: Annotated[int, Meta(ge=1, le=MAX_EVIDENCE)]
    deadline_s: Seconds


class Evidence(Message, frozen=True):
    """The answer to Gather: passages, best first. The cloud scores them itself."""

    session: Id
    passages: Annotated[list[Passage], Meta(max_length=MAX_EVIDENCE)]


class NoEvidence(Message, frozen=True):
    """The answer to Gather without passages: the reason."""

    session: Id
    why: Line


class Recall(Message, frozen=True):
    """A device's request for the texts that the cloud holds of it, of the subgraphs with ids above `after`."""

    request: Id
    after: Count = 0


class Recalled(Message, frozen=True):
    """A page of summaries word for word, by id; `total` counts all that are held."""

    request: Id
    summaries: Annotated[list[Summary], Meta(max_length=MAX_SUMMARIES)]
    total: Count


class ListShared(Message, frozen=True):
    """A client's request to its device for the texts that the cloud holds of it, as in Recall."""

    request: Id
    after: Count = 0


class StopSharing(Message, frozen=True):
    """A client's request that its device withdraw all summaries, and share no more until it starts again."""

    request: Id


class Keep(Message, frozen=True):
    """A request to store a device's summaries; forget `dropped` ones, and all of another store. Answered with Held."""

    request: Id
    device: Name
    store: Name
    summaries: Annotated[list[Summary], Meta(max_length=PAGE_SUMMARIES)] = []
    dropped: Ids = []
    drop_all: bool = False


class Held(Message, frozen=True):
    """The summaries that are stored of a device, without texts; `problem` says why not more."""

    request: Id
    held: Annotated[list[Summary], Meta(max_length=MAX_SUMMARIES)]
    problem: Line = ""


class ListHeld(Message, frozen=True):
    """A request for the texts that are stored of a device. Answered with Recalled."""

    request: Id
    device: Name
    after: Count = 0


class Expire(Message, frozen=True):
    """A request to forget devices not in `devices`, or not updated for `keep_s` seconds. Answered with Removed."""

    request: Id
    devices: Devices
    keep_s: Seconds


class Match(Message, frozen=True):
    """A request for the summary nearest a question of each of these devices."""

    request: Id
    query: Annotated[str, Meta(max_length=100_000)]
    devices: Devices


class Matching(Record, frozen=True):
    """A matching summary: its device, its subgraph, and how well it matches."""

    device: Name
    subgraph: Count
    score: float


class Matched(Message, frozen=True):
    """The answer to Match, best first."""

    request: Id
    matches: Annotated[list[Matching], Meta(max_length=1_100)]


CONVERSATION = Conversation(
    codes=range(88, 104),
    entries=(
        Entry(88, Summaries, "summaries", "pair"),
        Entry(89, Withdraw, "control", "pair"),
        Entry(90, SummariesHeld, "control", "never"),
        Entry(91, Gather, "query", "never"),
        Entry(92, Evidence, "evidence", "pair"),
        Entry(93, NoEvidence, "control", "pair"),
        Entry(94, Recall, "control", "pair"),
        Entry(95, Recalled, "documents", "never"),
        Entry(96, ListShared, "documents", "documents"),
        Entry(97, StopSharing, "documents", "documents"),
        Entry(98, Keep, "documents", "documents"),
        Entry(99, Held, "documents", "never"),
        Entry(100, ListHeld, "documents", "documents"),
        Entry(101, Expire, "documents", "documents"),
        Entry(102, Match, "query", "documents"),
        Entry(103, Matched, "documents", "never"),
    ),
)
