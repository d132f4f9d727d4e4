"""The dialogue of two sides of which one aggregates: verdicts go out and come in (DRAGON, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hocket_bus import messages as wire
from hocket_bus.messages import Aggregated, Target

from ..dialogue import Dialogue
from ..exchange.exchange import Exchange
from ..exchange.session_terms import Confirmed
from .aggregator import AggregatorExchange, Verdict


class AggregatorDialogue(Dialogue):
    """The state that one side keeps of its dialogue, while it aggregates and while it does not."""

    exchange_type: ClassVar[type[Exchange]] = AggregatorExchange
    exchange: AggregatorExchange

    def _begin_epoch(self, name: str, epoch: int, confirmed: int) -> None:
        super()._begin_epoch(name, epoch, confirmed)
        self.exchange.begin_epoch(confirmed)

    def _take(self, name: str, message: wire.Draft | Target | Aggregated) -> None:
        if isinstance(message, Aggregated):
            self._messages.targets.check([message.token])
            self.exchange.add_verdict(_verdict(message))
        else:
            super()._take(name, message)

    def _news(self, first: int, confirmed: Sequence[Confirmed]) -> list[tuple[str, wire.Message]]:
        if self.exchange.solo:
            return super()._news(first, confirmed)
        return [(self._peer, self._aggregated(verdict)) for verdict in self.exchange.take_verdicts()]

    def _aggregated(self, verdict: Verdict) -> Aggregated:
        return Aggregated(
            session=self._session,
            epoch=self.epoch,
            step=verdict.step,
            prefix=verdict.prefix,
            token=verdict.token,
            accepted_device=verdict.accepted_device,
            accepted_cloud=verdict.accepted_cloud,
            aggregator=verdict.aggregator,
        )


def _verdict(message: Aggregated) -> Verdict:
    return Verdict(
        message.step,
        message.prefix,
        message.token,
        message.accepted_device,
        message.accepted_cloud,
        message.aggregator,
    )
