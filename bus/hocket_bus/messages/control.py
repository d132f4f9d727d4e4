"""Greeting, liveness, errors and status: messages between any two ends."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from hocket_bus.errors import Code

from .types import PROTOCOL_VERSION, Conversation, Count, Digest, Entry, Id, Line, Message, Name, Role, Seconds, Text


class Hello(Message, frozen=True):
    """The first message of a connecting end. `tokenizer` is empty without a model, `name` for an end without one.

    `words` is the fingerprint of the law by which its model writes words, empty where it cannot.
    `sealing_key` is a device's public key for what other devices of its group seal for it.
    """

    role: Role
    protocol: Count = PROTOCOL_VERSION
    tokenizer: Line = ""
    name: Name = ""
    sealing_key: Annotated[bytes, Meta(max_length=32)] = b""
    words: Line = ""


class Welcome(Message, frozen=True):
    """The answer to Hello: the application is ready. `epoch` is random at every start of the daemon.

    `streams_port` is where its streams are read, at the host that was dialled; 0 is the port after the dialled one.
    `aggregates` says whether its model gives probabilities: a model behind a server gives text alone. `words` is as in
    Hello.
    """

    role: Role
    epoch: Digest
    tokenizer: Line = ""
    model: Line = ""
    streams_port: Annotated[int, Meta(ge=0, lt=1 << 16)] = 0
    aggregates: bool = True
    words: Line = ""


class Subscribed(Message, frozen=True):
    """A confirmation, published on a topic as soon as its subscription is live."""


class Ping(Message, frozen=True):
    """A sign of life. `sent_s`, on the sender's clock, comes back unchanged; `rtt_s` is its known round trip, or 0."""

    sent_s: float
    rtt_s: Seconds = 0.0


class Pong(Message, frozen=True):
    """The echo of a Ping, with the number of requests in work, and of steps and prompts that wait for the model.

    `first_tokens_s` are equally likely times from a question to its first token here, ascending; none if none is known.
    `draining`: no new requests are taken, and those in work go elsewhere if they can.
    """

    sent_s: float
    load: Count = 0
    waiting: Count = 0
    first_tokens_s: Annotated[list[Seconds], Meta(max_length=32)] = []
    draining: bool = False


class Error(Message, frozen=True):
    """A refusal of a request or message. `request` is empty if the message could not be read."""

    code: Code
    text: Line
    remedy: Line = ""
    request: Annotated[bytes, Meta(max_length=16)] = b""
    retry_after_s: Seconds = 0.0


class StatusRequest(Message, frozen=True):
    """A request for the status of any daemon."""

    request: Id


class Status(Message, frozen=True):
    """The status of a daemon; `facts` are lines for people: name and value. `metrics` are numbers for programs."""

    request: Id
    role: Role
    ready: bool
    facts: Annotated[dict[str, Line], Meta(max_length=64)]
    metrics: Annotated[dict[str, float], Meta(max_length=256)] = {}


class Drain(Message, frozen=True):
    """A request to end a cloud daemon once it is idle, at most `within_s` from now; until then nothing new is taken."""

    request: Id
    within_s: Seconds


class Drained(Message, frozen=True):
    """The last message of a daemon that was drained, with the number of sessions it had to end."""

    request: Id
    ended: Count


class SwitchLink(Message, frozen=True):
    """A request to cut the device daemon off from the cloud and every server elsewhere, or to let it connect again."""

    request: Id
    cut: bool


class LinkSwitched(Message, frozen=True):
    """The state of the link from now on. Nothing leaves after this answer while it is `cut`."""

    request: Id
    cut: bool


class Explain(Message, frozen=True):
    """A request for what was decided for the request with this number, and what left the machine for it."""

    request: Id
    number: Id


class Explained(Message, frozen=True):
    """A decision record, as one JSON object."""

    request: Id
    record: Text


CONVERSATION = Conversation(
    codes=range(1, 16),
    entries=(
        Entry(1, Hello, "control", "nothing"),
        Entry(2, Welcome, "control", "never"),
        Entry(3, Subscribed, "control", "never"),
        Entry(4, Ping, "control", "nothing"),
        Entry(5, Pong, "control", "never"),
        Entry(6, Error, "control", "never"),
        Entry(7, StatusRequest, "control", "watch"),
        Entry(8, Status, "control", "never"),
        Entry(9, Drain, "control", "drain"),
        Entry(10, Drained, "control", "never"),
        Entry(11, SwitchLink, "control", "drain"),
        Entry(12, LinkSwitched, "control", "never"),
        Entry(13, Explain, "control", "watch"),
        Entry(14, Explained, "answer", "never"),
    ),
)
