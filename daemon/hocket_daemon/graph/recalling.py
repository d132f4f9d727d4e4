"""What the cloud holds of a device is told from hand to hand, under each asker's own number."""

from __future__ import annotations

from hocket_bus.errors import HocketError
from hocket_bus.faults import error_message
from hocket_bus.messages import Error, Recalled


def passed_on(outcome: Recalled | HocketError, request: bytes) -> Recalled | Error:
    """The answer to `request`, from that of whoever was asked for it."""
    if isinstance(outcome, HocketError):
        return error_message(outcome, request)
    return Recalled(request=request, summaries=outcome.summaries, total=outcome.total)
