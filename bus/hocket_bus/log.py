"""Logging: one structlog set-up for every process: JSON for machines, coloured lines for people.

Clients may be hostile, and a line may quote them. So each line is short and shows every character that it has, and
the lines of each event are limited per second.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from typing import Any, Literal

import structlog

from .limits.shares import Bucket
from .visible import visible_line

Level = Literal["debug", "info", "warning", "error"]
MAX_VALUE_CHARS = 500
A_SECOND, AT_ONCE = 5.0, 200  # lines of one event
MAX_EVENTS = 1_000  # that are told apart
Format = Literal["auto", "json", "people"]


def setup(level: Level = "info", style: Format = "auto") -> None:
    """Log to standard error; called once, by the process's own main function. `auto`: for people at a terminal."""
    colours = sys.stderr.isatty()
    people = style == "people" or (style == "auto" and colours)
    written: list[structlog.typing.Processor] = (
        [structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=structlog.dev.plain_traceback)]
        if people
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            BoundedEvents(),
            structlog.processors.TimeStamper(fmt="iso"),
            *written,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


class BoundedEvents:
    """A processor that limits the rate of each event's lines; the next line reports how many were left out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buckets: dict[str, Bucket] = {}
        self._left_out: dict[str, int] = {}

    def __call__(self, _: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        """Return the event with its values bounded, and how many were left out. Raises DropEvent over the rate."""
        name = str(event.get("event", ""))
        left_out = self.pass_on(name)
        facts = {key: _bounded(value) for key, value in event.items()}
        return facts | ({"left_out": left_out} if left_out else {})

    def pass_on(self, name: str) -> int:
        """Return how many of this event were left out before it. Raises DropEvent if this one is left out, too."""
        with self._lock:
            now = time.monotonic()
            name = name if name in self._buckets or len(self._buckets) < MAX_EVENTS else ""
            bucket = self._buckets.setdefault(name, Bucket(A_SECOND, AT_ONCE, now))
            if bucket.spend(1, now) < 0:
                bucket.spend(-1, now)
                self._left_out[name] = self._left_out.get(name, 0) + 1
                raise structlog.DropEvent
            return self._left_out.pop(name, 0)


class BoundedRecords(logging.Filter):
    """The same rate limit for log records of libraries, counted by the text of an event without its values."""

    def __init__(self) -> None:
        super().__init__()
        self._events = BoundedEvents()

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether the record is written; bound its text."""
        try:
            self._events.pass_on(f"{record.name} {record.msg}"[:MAX_VALUE_CHARS])
        except structlog.DropEvent:
            return False
        record.msg, record.args = visible_line(record.getMessage())[:MAX_VALUE_CHARS], ()
        return True


def _bounded(value: Any) -> Any:  # noqa: ANN401 - whatever is logged
    """Return a logged value without hidden characters, cut to the maximum length."""
    if isinstance(value, str):
        return visible_line(value[:MAX_VALUE_CHARS])
    if isinstance(value, list | tuple):
        return [_bounded(each) for each in value[:50]]
    return value


class RateLimitedLog:
    """A warning that may occur very often: its 1st, 2nd, 4th, 8th... occurrence is logged, with the count so far."""

    def __init__(self, log: structlog.typing.FilteringBoundLogger, event: str) -> None:
        self.count = 0
        self._log = log
        self._event = event

    def note(self, **facts: object) -> None:
        """Count one occurrence; `facts` are logged with it."""
        self.count += 1
        if self.count & (self.count - 1) == 0:
            self._log.warning(self._event, count=self.count, **facts)
