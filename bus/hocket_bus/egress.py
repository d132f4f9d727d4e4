"""The gate that every message to another machine passes."""

from __future__ import annotations

from typing import Protocol

from .messages import Message


class Gate(Protocol):
    """A check of every message before a link to another machine sends it."""

    def check(self, message: Message) -> None:
        """Raise Forbidden if `message` must not leave this machine."""

    def count(self, message: Message, size_bytes: int) -> None:
        """Count a message that ZeroMQ has taken for sending. Called in the loop of the bus; must not block."""


class Open:
    """A gate that lets everything pass, for links that stay on one side: clients and retrieval daemons."""

    def check(self, message: Message) -> None:
        """Let every message pass."""

    def count(self, message: Message, size_bytes: int) -> None:
        """Count nothing."""
