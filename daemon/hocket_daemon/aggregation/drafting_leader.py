"""What leaders of an answer from drafts have in common, whoever else takes part."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from functools import partial

from hocket_bus.errors import HocketError
from hocket_bus.messages import Begin, Finish, Ready

from ..serving.leading import Leading
from ..serving.reply import Reply
from ..serving.services import Services
from ..serving.sources import shares_of
from .answer_summary import AnswerSummary
from .drafter import Drafter
from .exchange import Confirmed
from .leader_terms import LeaderTerms, nothing_found
from .lookahead import MAX_LOOKAHEAD


class DraftingLeader(Leading, ABC):
    """Publishes every target token."""

    max_lookahead = MAX_LOOKAHEAD  # as far as pays
    _begin: Begin
    _drafter: Drafter

    def __init__(self, services: Services, reply: Reply, terms: LeaderTerms) -> None:
        super().__init__(services, reply)
        self._terms = terms
        self._steps: list[Confirmed] = []
        self._account = AnswerSummary()

    @property
    def id(self) -> bytes:
        """The session's number."""
        return self._begin.session

    def on_static(self, reason: HocketError) -> None:
        """The reader is told, since the same question would have other tokens with a retrieval daemon that answers."""
        self._reply.notice(
            f"{reason.text}: from here on the {self._services.side}'s passages are weighed by the question alone"
        )

    def _add(self, confirmed: Sequence[Confirmed]) -> tuple[Finish | None, Sequence[Confirmed]]:
        """How the answer ends, if it does; tokens confirmed beyond its end are nobody's business."""
        traces = self._drafter.dialogue.exchange.traces
        for number, each in enumerate(confirmed, start=1):
            self._steps.append(each)
            trace = traces[each.step]
            finish = self._reply.add(each.token, each.source, trace.ranking, partial(shares_of, trace))
            if finish is not None:
                return finish, confirmed[:number]
        return None, confirmed

    def _check_documents(self, ready: Ready | None = None) -> bool:
        """Say that an answer without documents is the model's own; fail where others' have begun it.

        `ready` is what the other side has said of its own.
        """
        if self._begin.documents == 0 or self._drafter.documents:
            return True
        missing = nothing_found(self._services.side, ready, self.within)
        if self._steps:
            self.fail(missing)
        else:
            self._reply.notice(f"the model's own answer, which may be invented: {missing}")
        return not self._steps
