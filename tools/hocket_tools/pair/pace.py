"""Rates and shares of a daemon between two looks at its figures; knows the figures' names and no terminal."""

from __future__ import annotations

import re
import time
from collections import deque
from dataclasses import dataclass, field

from hocket_tools.pair.state import DaemonState

WINDOW_S = 10.0
_LABELLED = re.compile(r'(\w+)\{\w+="(.*)"\}')


@dataclass(frozen=True, slots=True)
class Pace:
    """The figures of one daemon between two looks, `seconds` apart.

    Rates are per second. A figure is None where nothing happened meanwhile.
    """

    name: str
    problem: str
    ready: bool
    model: str
    seconds: float
    requests: int = 0
    waiting: int = 0
    tokens: int = 0
    tokens_per_s: float = 0.0
    proposed: dict[str, float] = field(default_factory=dict)
    accepted: dict[str, float] = field(default_factory=dict)
    members: dict[str, float] = field(default_factory=dict)  # of the group: share of the tokens that their drafts were
    member_rtts_s: dict[str, float] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    budget: float | None = None  # of dispatch, and what was spent of it, both as shares of all prompt tokens
    spent: float | None = None
    rollbacks_per_s: float = 0.0
    decode_s: float | None = None
    first_token_s: float | None = None
    rtt_s: float | None = None
    sent_bytes_per_s: dict[str, float] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)


class Watch:
    """The looks at one daemon in the last `WINDOW_S`."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, DaemonState]] = deque()

    def add(self, state: DaemonState) -> Pace:
        """Add a look; return the pace since the oldest look that is stored."""
        now = time.monotonic()
        if self._looks and not (state.answering and self._looks[-1][1].answering):
            self._looks.clear()
        self._looks.append((now, state))
        while len(self._looks) > 2 and now - self._looks[0][0] > WINDOW_S:
            self._looks.popleft()
        since, before = self._looks[0]
        return pace(before, state, now - since)


def pace(before: DaemonState, after: DaemonState, seconds: float) -> Pace:
    """Return the pace of a daemon from one look to another, `seconds` later."""
    now = after.metrics
    grown = {name: _growth(before.metrics.get(name, 0.0), value) for name, value in now.items()}
    by_source = _by_label(grown, "tokens_total")
    joint = sum(by_source.values()) - by_source.get("solo", 0.0)

    def rate(name: str) -> float:
        return grown.get(name, 0.0) / seconds if seconds > 0 else 0.0

    return Pace(
        name=after.name,
        problem=after.problem,
        ready=after.ready,
        model=after.facts.get("model", ""),
        seconds=seconds,
        requests=int(now.get("requests", 0.0) + now.get("sessions", 0.0)),
        waiting=int(now.get("waiting", 0.0) + now.get("events_waiting", 0.0)),
        tokens=int(sum(_by_label(now, "tokens_total").values())),
        tokens_per_s=sum(by_source.values()) / seconds if seconds > 0 else 0.0,
        members=_accepted_of(now),
        member_rtts_s=_by_label(now, "member_rtt_s"),
        proposed=_shares(by_source, sum(by_source.values())),
        accepted=_shares(_by_label(grown, "accepted_total"), joint),
        written={side: int(count) for side, count in _by_label(now, "written_total").items() if count},
        budget=now.get("dispatch_budget"),
        spent=_mean(now, "dispatch_spent_tokens_total", "dispatch_prompt_tokens_total"),
        rollbacks_per_s=rate("rollbacks_total"),
        decode_s=_mean(grown, "decode_seconds_total", "decode_steps_total"),
        first_token_s=_mean(grown, "first_token_seconds_total", "first_tokens_total"),
        rtt_s=now.get("rtt_s"),
        sent_bytes_per_s={
            kind: count / seconds for kind, count in _by_label(grown, "sent_bytes_total").items() if count and seconds
        },
        errors={kind: int(count) for kind, count in _by_label(now, "errors_total").items() if count},
    )


def _growth(before: float, after: float) -> float:
    """Return how much a figure grew; one that fell belongs to a restarted daemon and grew from zero."""
    return after - before if after >= before else after


def _by_label(figures: dict[str, float], name: str) -> dict[str, float]:
    found = ((_LABELLED.fullmatch(full), value) for full, value in figures.items())
    return {match[2]: value for match, value in found if match is not None and match[1] == name}


def _shares(counts: dict[str, float], total: float) -> dict[str, float]:
    return {name: count / total for name, count in counts.items()} if total else {}


def _accepted_of(metrics: dict[str, float]) -> dict[str, float]:
    """Return each member's share of accepted drafts since the daemon's start, since answers with members are few."""
    tokens, accepted = _by_label(metrics, "member_tokens_total"), _by_label(metrics, "member_accepted_total")
    return {name: accepted.get(name, 0.0) / count for name, count in tokens.items() if count}


def _mean(grown: dict[str, float], total: str, count: str) -> float | None:
    return grown[total] / grown[count] if grown.get(count) else None
