"""Explanations of answers: the decision record of each, with what left this side for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hocket_bus import as_json
from hocket_bus.errors import HocketError, Untrusted
from hocket_bus.faults import error_message
from hocket_bus.messages import Explain, Explained
from hocket_bus.sockets import Received, Routes, Server

from ...privacy.egress import Ledger
from ..mode import Facts
from .decisions import DecisionRecord, Decisions


class Explaining:
    """The records of sessions that are over, stored, and sent to clients that may read their file, too."""

    def __init__(
        self,
        decisions: Decisions,
        ledger: Ledger,
        server: Server,
        *,
        post: Callable[[Callable[[], None]], None],
        sweep: Callable[[], None],
    ) -> None:
        """Set up; `post` runs a callable on the main thread, `sweep` has `keep` called for sessions that are over."""
        self._decisions, self._ledger = decisions, ledger
        self._server, self._post, self._sweep = server, post, sweep

    def add_to(self, routes: Routes) -> None:
        """Register the handler for clients' requests."""
        routes.add([Explain], self._on_explain)

    def keep(self, number: bytes, mode: str, record: Callable[[], Facts]) -> None:
        """Store the record of a session that is over."""
        self._decisions.keep(number, mode, lambda: self._with_what_left(record()))

    def _with_what_left(self, record: Facts) -> Facts:
        """Add what left: bytes of each class, and seconds from the first of all to its first and its last message."""
        trail = self._ledger.trail(record.get("sessions", []))
        began_s = trail[0].first_s if trail else 0.0
        left: list[dict[str, Any]] = [
            {
                "class": each.kind,
                "from_s": round(each.first_s - began_s, 4),
                "to_s": round(each.last_s - began_s, 4),
                "messages": each.messages,
                "bytes": each.size_bytes,
            }
            for each in trail
        ]
        return {**record, "left": left} if left else record

    def _on_explain(self, event: Received) -> None:
        asked = event.message
        assert isinstance(asked, Explain)
        if event.user:
            refused = Untrusted("records contain the questions of all users", "run hocket explain on its machine")
            self._server.send(event.route, error_message(refused, asked.request))
            return
        self._sweep()  # whoever has the end of an answer may ask at once
        answer = partial(self._answer, event.route, asked.request)
        self._decisions.find(asked.number, lambda found: self._post(partial(answer, found)))

    def _answer(self, route: bytes, request: bytes, found: DecisionRecord | HocketError) -> None:
        if isinstance(found, HocketError):
            self._server.send(route, error_message(found, request))
        else:
            record = as_json.text(found)
            self._server.send(route, Explained(request=request, record=record))
