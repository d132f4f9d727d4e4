"""What leaves a machine: the class of data that each message carries, and the gate that every one of them passes."""

from __future__ import annotations

from typing import Literal, Protocol, get_args

from .fields import Message

PeerClass = Literal["query", "drafts", "targets", "control", "summaries", "memory"]
DataClass = PeerClass | Literal["answer", "documents"]  # these two are for clients and for the own retrieval daemon
PEER_CLASSES: tuple[PeerClass, ...] = get_args(PeerClass)


class Gate(Protocol):
    """Stands before a link to another machine."""

    def check(self, message: Message) -> None:
        """Raises Forbidden where `message` must not leave."""

    def count(self, message: Message, size_bytes: int) -> None:
        """ZeroMQ has taken the frames of `message`. Called in the loop of the bus; must not block."""


class Open:
    """The gate of links that stay on one side: clients and retrieval daemons."""

    def check(self, message: Message) -> None:
        """Everything passes."""

    def count(self, message: Message, size_bytes: int) -> None:
        """Nothing is counted."""
