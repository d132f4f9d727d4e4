"""Counts since the daemon's start, under the names that Prometheus, Status and `hocket top` show."""

from __future__ import annotations

import threading
from functools import cache
from typing import get_args

from hocket_bus.errors import Code
from hocket_bus.messages import Finish, Side, Source


@cache
def labelled(name: str, **labels: str) -> str:
    """Return a metric's full name, as Prometheus writes it: `tokens_total{source="both"}`."""
    pairs = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{pairs}}}" if pairs else name


_KNOWN = [
    *(labelled("tokens_total", source=source) for source in get_args(Source)),
    *(labelled("accepted_total", side=side) for side in get_args(Side)),
    *(labelled("answers_total", finish=finish) for finish in get_args(Finish)),
    *(labelled("errors_total", kind=kind) for kind in get_args(Code)),
    *(labelled("written_total", side=side) for side in get_args(Side)),
    *("drafts_total", "rollbacks_total", "corrections_total"),
    *(labelled("ways_total", way=way) for way in ("home", "pair", "devices")),
    *(labelled("gate_total", decision=decision) for decision in ("home", "escalate")),
    *(labelled("rewritten_total", by=by) for by in ("model", "rules")),
    *("gathers_total", "gathered_passages_total", "summaries_total", "sealed_boxes_total", "sealed_bytes_total"),
    *("decode_steps_total", "decode_seconds_total"),
    *("first_tokens_total", "first_token_seconds_total"),
]


class Counters:
    """Metrics that only grow; counted from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(_KNOWN, 0.0)

    def add(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Count `amount` more."""
        with self._lock:
            self._counts[labelled(name, **labels)] += amount

    def metrics(self) -> dict[str, float]:
        """Return all counts as they are now."""
        with self._lock:
            return dict(self._counts)

    def token(self, source: Source, *, device: bool, cloud: bool) -> None:
        """Count a token of an answer, and for each side whether its draft was that token; solo steps accept nothing."""
        self.add("tokens_total", source=source)
        if source != "solo":
            self.add("accepted_total", float(device), side="device")
            self.add("accepted_total", float(cloud), side="cloud")

    def drafted(self, seconds: float | None) -> None:
        """Count a draft, and the seconds of its decode step; None where reading the question gave it."""
        self.add("drafts_total")
        if seconds is not None:
            self.add("decode_steps_total")
            self.add("decode_seconds_total", seconds)

    def answered(self, finish: Finish, first_token_s: float | None) -> None:
        """Count an answer that came to its end, and the seconds to its first token, if it had one."""
        self.add("answers_total", finish=finish)
        if first_token_s is not None:
            self.add("first_tokens_total")
            self.add("first_token_seconds_total", first_token_s)


def fact(metrics: dict[str, float]) -> str:
    """Return the line of `hocket status`."""
    tokens = {source: int(metrics[labelled("tokens_total", source=source)]) for source in get_args(Source)}
    joint = sum(tokens.values()) - tokens["solo"]
    shares = [
        f"{side} {metrics[labelled('accepted_total', side=side)] / joint:.0%}" for side in get_args(Side) if joint
    ]
    errors = sum(int(count) for name, count in metrics.items() if name.startswith("errors_total"))
    accepted = f", drafts accepted: {', '.join(shares)}" if shares else ""
    return f"{sum(tokens.values())} tokens, {tokens['solo']} of them alone{accepted}; {errors} error(s)"
