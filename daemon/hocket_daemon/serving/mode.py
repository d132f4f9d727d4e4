"""The interface between the daemon and a mode, a way of working together. A mode is a folder; modes.py names them all.

It is one or more of Asks, Peers and Reports. The daemon checks, admits and routes; a mode decides. It is handed the
reader's end (Reply) and the other side (Peer).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from hocket_bus.errors import HocketError
from hocket_bus.messages import Ask, Message

from .stream.reply import Reply

Facts = dict[str, Any]  # what JSON has: of one session, for its decision record


def question_of(ask: Ask) -> Facts:
    """Return what a decision record says of the question and of who asked it."""
    said = {"searched as": ask.prompt.sought, "asked by": ask.asker}
    return {"question": ask.prompt.query, **{name: text for name, text in said.items() if text}}


class Peer(Protocol):
    """The other side of a session, one interface for both roles."""

    @property
    def user(self) -> str:
        """The name under which its key is allowed; empty where the file system guards the socket."""

    @property
    def up(self) -> bool:
        """Tell whether messages reach it now."""

    @property
    def reason(self) -> HocketError | None:
        """The reason why messages do not reach it, where that is known."""

    @property
    def rtt_s(self) -> float:
        """The round trip to it now, in seconds; 0 while none is known."""

    @property
    def first_tokens_s(self) -> Sequence[float]:
        """Equally likely seconds to its first token, as it reports them; empty where it reports none."""

    @property
    def aggregates(self) -> bool:
        """Tell whether its model reports probabilities, as far as it has said."""

    @property
    def tokenizer(self) -> str:
        """The fingerprint of its model's tokenizer; empty where that is not known."""

    @property
    def silence_s(self) -> float:
        """Seconds since anything came from it."""

    def send(self, message: Message) -> None:
        """Send a message, which may be lost. Raises Forbidden if it must not leave, Unavailable without a link."""


class Session(Protocol):
    """The work on one request on one side. All methods are called on the main thread."""

    @property
    def id(self) -> bytes:
        """The number that names the session in messages between the sides."""

    @property
    def closed(self) -> bool:
        """Tell whether the session is over; from then on only `record` is called."""

    def receive(self, message: Message) -> None:
        """Handle a message of the other side about this session. Raises BadMessage for one that cannot be read."""

    def on_peer(self, up: bool, reason: HocketError | None) -> None:
        """Note that the other side can be reached from now on, or cannot, and why."""

    def due_s(self) -> float:
        """Return the time, on the monotonic clock, at which `tick` is next needed."""

    def tick(self, now: float) -> None:
        """Act on what has not come in time."""

    def cancel(self) -> None:
        """Stop: the client wants no more."""

    def fail(self, error: HocketError) -> None:
        """End with an error that is not the session's own, such as the daemon's end."""

    def record(self) -> Facts:
        """Return what was decided, from which figures, and the outcome. A cloud's record has no text of anybody's."""


class FollowedSession(Session, Protocol):
    """A session that the other side has opened."""

    @property
    def has_read(self) -> bool:
        """Tell whether this side has read its prompt and waits for the other side."""

    @property
    def steps(self) -> int:
        """The number of tokens that have come of the session."""

    @property
    def leads(self) -> bool:
        """Tell whether this side is working, so that the other one may be silent."""

    def reopen(self, opening: Message, peer: Peer) -> None:
        """Handle the opening again: it came after a break, or by another route."""

    def end(self, message: Message) -> None:
        """End the session as the other side has asked; a last answer may still be sent."""

    def close(self) -> None:
        """Close the session: the other side has gone."""


@runtime_checkable
class Asks(Protocol):
    """A mode that clients can name in a question."""

    @property
    def name(self) -> str:
        """The name by which clients name it."""

    def check(self, ask: Ask) -> None:
        """Check a question. Raises BadRequest for what cannot be asked of this mode."""

    def rows(self, ask: Ask) -> int:
        """Return the rows of the model's memory that the question needs on this side."""

    def begin(self, ask: Ask, reply: Reply, peer: Peer | None) -> Session:
        """Begin a session on the side that was asked; `peer` is the other side, None where there is none."""


@runtime_checkable
class Peers(Protocol):
    """A mode whose sessions have both sides: the messages between them, and the side that follows."""

    opens: tuple[type[Message], ...]  # what opens a session on the other side
    takes: tuple[type[Message], ...]  # what it is told there of an open one
    answers: tuple[type[Message], ...]  # what it says of one
    ends: tuple[type[Message], ...]  # what ends one there

    @property
    def name(self) -> str:
        """The name by which its decision records name it."""

    def rows_of(self, opening: Message) -> int:
        """Return the rows of the model's memory that a session opened by the other side needs here."""

    def accept(self, opening: Message, peer: Peer) -> FollowedSession:
        """Begin a session that the other side has opened."""

    def refusal(self, opening: Message, error: HocketError) -> Message:
        """Return the message that tells the other side that this one cannot take part, and why."""


@runtime_checkable
class Reports(Protocol):
    """A mode that reports facts about itself."""

    def facts(self) -> Mapping[str, str]:
        """Return this mode's lines for `hocket status`."""

    def metrics(self) -> Mapping[str, float]:
        """Return the same facts as numbers, for programs."""
