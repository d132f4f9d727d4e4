"""What a way of working together is, as the daemon sees it. A mode is a folder; modes.py names them all.

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
    """What a record says of who asked what."""
    said = {"searched as": ask.prompt.sought, "asked by": ask.asker}
    return {"question": ask.prompt.query, **{name: text for name, text in said.items() if text}}


class Peer(Protocol):
    """The other side, one record for both roles."""

    @property
    def user(self) -> str:
        """The name under which its key is allowed; empty where the file system guards the socket."""

    @property
    def up(self) -> bool:
        """Whether messages reach it now."""

    @property
    def reason(self) -> HocketError | None:
        """Why they do not, where that is known."""

    @property
    def rtt_s(self) -> float:
        """The round trip to it now, in seconds; 0 while none is known."""

    @property
    def first_tokens_s(self) -> Sequence[float]:
        """Equally likely seconds to its first token, as it tells them; none where it does not."""

    @property
    def aggregates(self) -> bool:
        """Whether its model tells probabilities, as far as it has said."""

    @property
    def silence_s(self) -> float:
        """For how long nothing has come from it."""

    def send(self, message: Message) -> None:
        """Send; what does not reach it is lost. Raises Forbidden where it must not leave, Unavailable unlinked."""


class Session(Protocol):
    """One request's work on one side. Everything is called on the main thread."""

    @property
    def id(self) -> bytes:
        """What messages between the sides name it by."""

    @property
    def closed(self) -> bool:
        """Whether it is over; nothing is called any more then but `record`."""

    def receive(self, message: Message) -> None:
        """A message of the other side about this session. Raises BadMessage for one that cannot be read."""

    def on_peer(self, up: bool, reason: HocketError | None) -> None:
        """The other side can be reached from now on, or cannot, and why."""

    def due_s(self) -> float:
        """When `tick` is next needed, on the monotonic clock."""

    def tick(self, now: float) -> None:
        """Act on what has not come in time."""

    def cancel(self) -> None:
        """Whoever asked wants no more."""

    def fail(self, error: HocketError) -> None:
        """End with an error that is not the session's own, such as the daemon's end."""

    def record(self) -> Facts:
        """What was decided, from which figures, and what came of it. The cloud's has no text of anybody's."""


class FollowedSession(Session, Protocol):
    """A session that the other side has opened."""

    @property
    def has_read(self) -> bool:
        """Whether this side has read its prompt: what comes next is the other side's to say."""

    @property
    def steps(self) -> int:
        """How many tokens have come of it."""

    @property
    def leads(self) -> bool:
        """Whether this side is at work while the other one need not say anything."""

    def reopen(self, opening: Message, peer: Peer) -> None:
        """The opening came again: after a break, or by another route."""

    def end(self, message: Message) -> None:
        """The other side has ended it; it may still be answered."""

    def close(self) -> None:
        """The other side has gone."""


@runtime_checkable
class Asks(Protocol):
    """A mode that clients' questions name."""

    @property
    def name(self) -> str:
        """By which they name it."""

    def check(self, ask: Ask) -> None:
        """Raises BadRequest for what cannot be asked of this mode."""

    def rows(self, ask: Ask) -> int:
        """Rows of the model's memory that the question needs on this side."""

    def begin(self, ask: Ask, reply: Reply, peer: Peer | None) -> Session:
        """Begin a session on the side that was asked; `peer` is the other side, None where there is none."""


@runtime_checkable
class Peers(Protocol):
    """A mode whose sessions have both sides: what passes between them, and the side that follows."""

    opens: tuple[type[Message], ...]  # what opens a session on the other side
    takes: tuple[type[Message], ...]  # what it is told there of an open one
    answers: tuple[type[Message], ...]  # what it says of one
    ends: tuple[type[Message], ...]  # what ends one there

    @property
    def name(self) -> str:
        """By which its records name it."""

    def rows_of(self, opening: Message) -> int:
        """Rows of the model's memory that a session of the other side's needs here."""

    def accept(self, opening: Message, peer: Peer) -> FollowedSession:
        """Begin a session that the other side has opened."""

    def refusal(self, opening: Message, error: HocketError) -> Message:
        """What tells the other side that this one cannot take part, and why."""


@runtime_checkable
class Reports(Protocol):
    """A mode that has something to say of itself."""

    def facts(self) -> Mapping[str, str]:
        """Lines of its own for `hocket status`."""

    def metrics(self) -> Mapping[str, float]:
        """The same for programs."""
