"""The gate that every message to another machine passes."""

from __future__ import annotations

from typing import Protocol

from .messages import Message


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
