"""What may leave the device: the policy of its configuration, kept by the gate before whoever is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from hocket_bus.config import FilePath
from hocket_bus.errors import Forbidden
from hocket_bus.messages import CLASS_OF, PEER_CLASSES, DataClass, Message, PeerClass

from .ledger import Ledger

NEEDED: tuple[PeerClass, ...] = ("control", "query", "targets")  # no question is answered together without these
TO_SHARE: tuple[PeerClass, ...] = ("control", "summaries")  # nor summaries kept in step without these
TO_REMEMBER: tuple[PeerClass, ...] = ("control", "memory")  # and no memory is asked for without these


class EgressSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What may leave for the cloud, or for a server of text; false keeps it on the device: docs/privacy.md.

    Whatever has no name here stays.
    """

    query: Annotated[
        bool,
        Meta(description="questions; without them, `targets` or `control` the device answers every question alone"),
    ] = True
    drafts: Annotated[
        bool,
        Meta(
            description="next-token distributions and the tokens drawn from them; "
            "without them the device aggregates alone: the same tokens, more slowly"
        ),
    ] = True
    targets: Annotated[bool, Meta(description="the tokens of the answer so far")] = True
    control: Annotated[bool, Meta(description="greetings, pings, and where a session stands")] = True
    summaries: Annotated[
        bool,
        Meta(
            description="summaries of the parts of this device's knowledge graph: names, topics and relations, "
            "no sentences; without them the cloud is told to forget those that it has"
        ),
    ] = False
    evidence: Annotated[
        bool, Meta(description="passages of this device's documents, for questions of other devices of its group")
    ] = False
    memory: Annotated[
        bool,
        Meta(
            description="while you compose, what is new of the text, at most 64 words of it and redacted; "
            "without them, or `control`, suggestions are made from this device's documents alone"
        ),
    ] = True
    ledger: Annotated[
        FilePath, Meta(description="the file that counts what left, for `hocket audit`; empty: none is kept")
    ] = ""


class PeerGate:
    """Lets the classes of the policy pass to one peer, and counts what left."""

    def __init__(self, settings: EgressSettings, peer: str, ledger: Ledger) -> None:
        self._allowed = frozenset(name for name in PEER_CLASSES if getattr(settings, name))
        self._peer = peer
        self._ledger = ledger

    def check(self, message: Message) -> None:
        """Raises Forbidden for every class that is not allowed by name."""
        self.require(CLASS_OF[type(message)], type(message).__name__)

    def count(self, message: Message, size_bytes: int) -> None:
        """Into the ledger."""
        session: bytes = getattr(message, "session", b"")
        self.add(CLASS_OF[type(message)], session, size_bytes)

    def require(self, kind: DataClass, what: str) -> None:
        """`check` of what is no message of the bus; `what` names it. Raises Forbidden."""
        if kind not in self._allowed:
            raise Forbidden(f"[egress] keeps {kind} on this device, so no {what} may leave", f"set {kind} = true there")

    def add(self, kind: DataClass, session: bytes, size_bytes: int) -> None:
        """`count` of what is no message of the bus; `session` is empty for what belongs to none."""
        self._ledger.count(self._peer, session.hex(), kind, size_bytes)


def obstacle(settings: EgressSettings, needed: Sequence[PeerClass] = NEEDED) -> Forbidden | None:
    """Why nothing can be done together that needs these classes; then nothing leaves for it at all."""
    kept = [name for name in needed if not getattr(settings, name)]
    if not kept:
        return None
    return Forbidden(f"[egress] keeps {' and '.join(kept)} on this device", "allow it in the device's configuration")


def fact(settings: EgressSettings) -> str:
    """The line of `hocket status`: what leaves, in plain words."""
    hindered, alone = obstacle(settings), obstacle(settings, TO_REMEMBER)
    if hindered and alone and not _of_graph(settings):
        return f"nothing: {hindered.text}"
    composed = "" if alone else "what is new of a text that is composed, at most 64 words, redacted (memory = true)"
    return "; ".join(filter(None, ("" if hindered else _of_questions(settings), composed, _of_graph(settings))))


def _of_graph(settings: EgressSettings) -> str:
    shared = {
        "summaries of what documents are about (summaries = true)": settings.summaries,
        "passages that answer other devices' questions (evidence = true)": settings.evidence,
    }
    return "; ".join(line for line, allowed in shared.items() if allowed and settings.control)


def _of_questions(settings: EgressSettings) -> str:
    if settings.drafts:
        return "questions, answers' tokens and draft distributions (drafts = true, the default)"
    return "questions and answers' tokens, no distributions (drafts = false)"
