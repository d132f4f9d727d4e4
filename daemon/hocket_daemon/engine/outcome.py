"""What became of a job: its result, or the error that it ended with, as a value that can be handed on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import structlog

from hocket_bus.errors import HocketError

from .preemption import Preempted

T = TypeVar("T")
log = structlog.get_logger(__name__)


def outcome(job: Callable[[], T]) -> T | HocketError | Preempted:
    """What `job` returns, or the HocketError or Preempted that it ends with."""
    try:
        return job()
    except (HocketError, Preempted) as ended:
        return ended
    except Exception as error:
        log.exception("error on the compute thread")
        return HocketError(f"the model failed: {error}", "look into the daemon's log")
