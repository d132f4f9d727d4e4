"""Logging: one structlog set-up for every process: JSON for machines, coloured lines for people."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Literal

import structlog

REST_S = 0.5

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["auto", "json", "people"]


def setup(level: Level = "info", style: Format = "auto") -> None:
    """Log to standard error; called once, by the process's own main function. `auto`: for people at a terminal."""
    colours = sys.stderr.isatty()
    people = style == "people" or (style == "auto" and colours)
    written: list[structlog.typing.Processor] = (
        [structlog.dev.ConsoleRenderer(colors=colours)]
        if people
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            *written,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


class RateLimitedLog:
    """One warning that may occur very often: its 1st, 2nd, 4th, 8th... occurrence is logged, with the count so far."""

    def __init__(self, log: structlog.typing.FilteringBoundLogger, event: str) -> None:
        self.count = 0
        self._log = log
        self._event = event

    def note(self, **facts: object) -> None:
        """Count one occurrence; `facts` are logged with it."""
        self.count += 1
        if self.count & (self.count - 1) == 0:
            self._log.warning(self._event, count=self.count, **facts)


class GuardedLoop:
    """Keeps a loop going: an iteration that raises is logged, and after two in a row it rests.

    So one bad event ends nothing, and a failure that comes each time fills no disk.
    """

    def __init__(self, log: structlog.typing.FilteringBoundLogger, event: str) -> None:
        self._log = log
        self._event = event
        self._failed = False

    def run(self, iteration: Callable[[], None]) -> None:
        """Run one iteration; rest for `REST_S` after one that failed when the one before it had failed, too."""
        try:
            iteration()
        except Exception:  # noqa: BLE001 - whatever it was, it is logged
            self._log.exception(self._event)
            if self._failed:
                time.sleep(REST_S)
            self._failed = True
        else:
            self._failed = False
