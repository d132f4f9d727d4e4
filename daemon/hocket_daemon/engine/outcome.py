"""How work on the compute thread ends, and how the main thread hears of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import structlog

from hocket_bus.errors import HocketError

from .preemption import Preempted

News: TypeAlias = Callable[[], None]
log = structlog.get_logger(__name__)


class Post(Protocol):
    """Runs callables on the main thread, in this order."""

    def __call__(self, *commands: News) -> None:
        """Hand them over and return at once."""


def outcome_of(job: Callable[[], object]) -> object:
    """What `job` returns, or the HocketError or Preempted that it ends with; any other error becomes a HocketError."""
    try:
        return job()
    except (HocketError, Preempted) as ended:
        return ended
    except Exception as error:
        log.exception("error on the compute thread")
        return HocketError(f"the model failed: {error}", "look into the daemon's log")
