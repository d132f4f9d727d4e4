"""Logging: one structlog set-up for every process: JSON for machines, coloured lines for people."""

from __future__ import annotations

import logging
import sys
from typing import Literal

import structlog

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
