"""What may leave the device: the policy of its configuration, kept by the gate before the link to the cloud."""

from __future__ import annotations

from msgspec import Struct

from hocket_bus.errors import Forbidden
from hocket_bus.messages import CLASS_OF, PEER_CLASSES, Message, PeerClass

from .ledger import Ledger

NEEDED: tuple[PeerClass, ...] = ("control", "query", "targets")  # no question is answered together without these


class EgressSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which classes of data may leave. What is false stays, and so does whatever has no name here."""

    query: bool = True  # questions
    drafts: bool = True  # next-token distributions and the tokens drawn from them
    targets: bool = True  # the tokens of the answer so far
    control: bool = True  # greetings, pings, where a session stands
    summaries: bool = True  # summaries of documents; no message carries any yet
    memory: bool = True  # requests to a memory; no message carries any yet
    ledger: str = ""  # the file that counts what left; empty: none is kept


class PeerGate:
    """Lets the classes of the policy pass to one peer, and counts what left."""

    def __init__(self, settings: EgressSettings, peer: str, ledger: Ledger) -> None:
        self._allowed = frozenset(name for name in PEER_CLASSES if getattr(settings, name))
        self._peer = peer
        self._ledger = ledger

    def check(self, message: Message) -> None:
        """Raises Forbidden for every class that is not allowed by name."""
        kind = CLASS_OF[type(message)]
        if kind not in self._allowed:
            name = type(message).__name__
            raise Forbidden(f"[egress] keeps {kind} on this device, so no {name} may leave", f"set {kind} = true there")

    def count(self, message: Message, size_bytes: int) -> None:
        """Into the ledger."""
        session: bytes = getattr(message, "session", b"")
        self._ledger.count(self._peer, session.hex(), CLASS_OF[type(message)], size_bytes)


def obstacle(settings: EgressSettings) -> Forbidden | None:
    """Why no question can be answered together; then nothing leaves at all."""
    kept = [name for name in NEEDED if not getattr(settings, name)]
    if not kept:
        return None
    return Forbidden(f"[egress] keeps {' and '.join(kept)} on this device", "allow it in the device's configuration")


def fact(settings: EgressSettings) -> str:
    """The line of `hocket status`: what leaves, in plain words."""
    if hindered := obstacle(settings):
        return f"nothing: {hindered.text}"
    if settings.drafts:
        return "questions, answers' tokens and draft distributions (drafts = true, the default)"
    return "questions and answers' tokens, no distributions (drafts = false)"
