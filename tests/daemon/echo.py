"""A small mode: the answer is the question, a letter a token, written when the test says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from hocket_bus.errors import BadMessage, HocketError
from hocket_bus.faults import refused
from hocket_bus.messages import Ask, Begin, End, Message, Ready, Sync
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.serving.mode import Facts, Peer
from hocket_daemon.serving.stream.reply import Reply


@dataclass
class Echo:
    """A session of either role; `reply` is None where the other side leads it."""

    id: bytes
    peer: Peer | None
    reply: Reply | None = None
    tokens: list[int] = field(default_factory=list)
    closed: bool = False
    due: float = inf
    heard: list[object] = field(default_factory=list)
    has_read: bool = True
    leads: bool = False
    steps: int = 0

    def write(self) -> None:
        """A token of the answer."""
        assert self.reply is not None
        finish = self.reply.add(self.tokens.pop(0), "solo") or ("eos" if not self.tokens else None)
        self.reply.publish()
        if finish is not None:
            self.reply.finish(finish, None)
            self.closed = True

    def receive(self, message: Message) -> None:
        if isinstance(message, Sync):
            raise BadMessage("a Sync that cannot be read")
        self.heard.append(message)

    def reopen(self, opening: Message, peer: Peer) -> None:
        self.heard.append("reopened")
        self.peer = peer

    def on_peer(self, up: bool, reason: HocketError | None) -> None:
        self.heard.append((up, reason))

    def due_s(self) -> float:
        return self.due

    def tick(self, now: float) -> None:
        self.heard.append(now)
        self.due = inf

    def cancel(self) -> None:
        if self.reply is not None:
            self.reply.finish("cancelled", None)
        self.closed = True

    def fail(self, error: HocketError) -> None:
        if self.reply is not None:
            self.reply.fail(error)
        self.heard.append(error)
        self.closed = True

    def end(self, message: Message) -> None:
        self.close()

    def close(self) -> None:
        self.closed = True

    def record(self) -> Facts:
        return {"closed": self.closed}


@dataclass
class EchoMode:
    """Its sessions in the order they began; `trouble` is what beginning one ends with."""

    model: LanguageModel
    name: str = "echo"
    trouble: HocketError | None = None
    made: list[Echo] = field(default_factory=list)
    number: bytes = b""  # of the next session; empty: the request's
    opens: tuple[type[Message], ...] = (Begin,)
    takes: tuple[type[Message], ...] = (Ready, Sync)
    answers: tuple[type[Message], ...] = (Ready, Sync)
    ends: tuple[type[Message], ...] = (End,)

    def check(self, ask: Ask) -> None:
        """Anything can be echoed."""

    def rows(self, ask: Ask) -> int:
        return 1

    def begin(self, ask: Ask, reply: Reply, peer: Peer | None) -> Echo:
        if self.trouble is not None:
            raise self.trouble
        session = Echo(self.number or ask.request, peer, reply, self.model.prompt(ask.prompt.query, ask.task)[1:])
        self.made.append(session)
        return session

    def rows_of(self, opening: Message) -> int:
        assert isinstance(opening, Begin)
        return opening.documents

    def accept(self, opening: Message, peer: Peer) -> Echo:
        assert isinstance(opening, Begin)
        self.made.append(Echo(opening.session, peer))
        return self.made[-1]

    def refusal(self, opening: Message, error: HocketError) -> Message:
        assert isinstance(opening, Begin)
        return refused(error, opening.session, opening.epoch)
