"""The handling of outcomes on the main thread: a fault in it ends the request it was for, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog

from hocket_bus.errors import HocketError

log = structlog.get_logger(__name__)


def handle(done: Callable[[Any], None], outcome: object) -> None:
    """Give an outcome to whoever waits for it; where that fails, give the failure in its place, once."""
    try:
        done(outcome)
    except Exception as error:  # noqa: BLE001 - it is logged, and ends one request
        done(failure(error))


def failure(error: Exception) -> HocketError:
    """Log a fault of this program with its traceback; return the error that its user gets."""
    log.exception("a request failed by a fault of this daemon")
    return HocketError(f"this daemon has a fault ({type(error).__name__})", "ask again, and report what its log says")
