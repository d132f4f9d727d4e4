"""The mode `aggregation` as clients ask it: where a side's model is a server, one side writes instead of both.

A server tells text and no probabilities, so there is nothing to aggregate: the answer is dispatched, to the side that
found something about the question.
"""

from __future__ import annotations

import msgspec

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Ask, DispatchOptions, Side, other

from .aggregation.leader_terms import options_of
from .aggregation.mode import AggregationMode
from .dispatch.mode import DispatchMode
from .serving.mode import Peer, Session
from .serving.reply import Reply
from .serving.services import Services


class AggregationOrDispatch:
    """Decides for each question."""

    name = AggregationMode.name

    def __init__(self, aggregation: AggregationMode, dispatch: DispatchMode, services: Services) -> None:
        self._aggregation, self._dispatch, self._services = aggregation, dispatch, services

    def check(self, ask: Ask) -> None:
        """As an aggregation's."""
        self._aggregation.check(ask)

    def rows(self, ask: Ask) -> int:
        """As an aggregation's, which are no fewer."""
        return self._aggregation.rows(ask)

    def begin(self, ask: Ask, reply: Reply, peer: Peer | None, *, escalates: bool = False) -> Session:
        """Lead a session of either mode. Raises BadRequest."""
        options = options_of(ask)
        remote = self._remote(None if options.alone else peer)
        if remote is None:
            return self._aggregation.begin(ask, reply, peer, escalates=escalates)
        why = f"the {remote}'s model is a server, which tells no probabilities"
        if options.require_cloud:
            raise BadRequest(f"{why}, so the two sides cannot answer together", "ask without --require-cloud")
        if not options.alone and peer is not None:
            reply.notice(f"{why}: one side writes this answer, and not both")
        reply.ask = msgspec.structs.replace(ask, options=DispatchOptions(alone=options.alone))
        return self._dispatch.begin(reply.ask, reply, peer, begins="cloud" if escalates else "evidence")

    def _remote(self, peer: Peer | None) -> Side | None:
        """The side whose model is a server."""
        own = self._services.side
        if self._services.reader is not None:
            return own
        return other(own) if peer is not None and not peer.aggregates else None
