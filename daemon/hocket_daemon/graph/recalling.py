"""Replies on what the cloud holds of a device, passed on under the number of each client's own request."""

from __future__ import annotations

from hocket_bus.errors import HocketError
from hocket_bus.faults import error_message
from hocket_bus.messages import Error, Recalled


def passed_on(outcome: Recalled | HocketError, request: bytes) -> Recalled | Error:
    """Return the answer to `request`, made of the answer of whoever was asked for it."""
    if isinstance(outcome, HocketError):
        return error_message(outcome, request)
    return Recalled(request=request, summaries=outcome.summaries, total=outcome.total)
