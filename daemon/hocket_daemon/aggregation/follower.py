"""The cloud's part in a device's question: it drafts along and takes the device's final tokens."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

from hocket_bus.errors import BadRequest, HocketError
from hocket_bus.messages import Aggregated, Begin, Draft, End, Message, PromptProgress, Ready, Sync, Target

from ..engine.runtime.sequences import rows_of
from ..serving.disclosure import Disclosure
from ..serving.mode import Facts, Peer
from ..serving.search.evidence import nearest
from ..serving.search.follow_up import search_text
from ..serving.search.gatherer import MAX_NOTICES
from ..serving.services import Services
from ..serving.sessions.following import Following
from ..serving.stream.support import lacking
from .answer_summary import of_follower
from .dialogue import Effects
from .dialogues import dialogue_type
from .drafter import Drafter
from .exchange.lookahead import lookahead
from .exchange.schedule import Scheduler
from .patience import REPORT_S


class Follower(Following):
    """The follower in a device's session, until the device ends it, or is silent for too long."""

    def __init__(
        self,
        services: Services,
        begin: Begin,
        peer: Peer,
        scheduler: Callable[[], Scheduler],
        disclosure: Disclosure | None = None,
    ) -> None:
        """Prepare to draft along; `disclosure` bounds what this side's drafts tell of its passages."""
        super().__init__(services, begin.session, peer)
        self._begin = begin
        self._rows = rows_of(begin.documents, alone=bool(begin.contrast) or disclosure is not None)
        self._report_at_s = time.monotonic() + REPORT_S
        question = search_text(begin.prompt)
        find = self._find(question, begin.documents, scorer=begin.scorer, escalates=begin.escalates)
        bounds = disclosure.session() if disclosure is not None else None
        begins = dialogue_type(begin)
        self._dialogue = begins("cloud", begin, scheduler, vocabulary=services.model.vocabulary)
        self._drafter = Drafter(services, begin, self, self._dialogue, side="cloud", find=find, disclosure=bounds)

    @property
    def has_read(self) -> bool:
        """Tell whether this side has read its prompt."""
        return self._drafter.has_read

    @property
    def rtt_s(self) -> float:
        """The round trip to the device, which may know it better where it is another device's."""
        return self._begin.rtt_s or self._peer.rtt_s

    @property
    def max_lookahead(self) -> int:
        """The most steps to draft ahead: fewer the fuller this side is, to serve more devices before it is `busy`."""
        return lookahead(self._services.admission.headroom(self._rows))

    def start(self) -> None:
        """Search and read."""
        self._drafter.start()

    # --- events

    def receive(self, message: Message) -> None:
        """Take a message of the device."""
        if isinstance(message, Draft | Target | Aggregated | Sync):
            try:
                effects = self._dialogue.receive(message)
            except BadRequest as error:
                self.fail(error)
            else:
                self.act(effects)

    def reopen(self, opening: Message, peer: Peer) -> None:
        """Report again to a device that is back, perhaps by another route: the last report may not have reached it."""
        if isinstance(opening, Begin) and opening.epoch >= self._dialogue.epoch:
            self._peer = peer
            self._send_ready()

    def on_read(self) -> None:
        """Report to the device that this side has read, and what it has found."""
        self._send_ready()

    def on_static(self, reason: HocketError) -> None:
        """Do nothing: the reason is in the log."""

    def due_s(self) -> float:
        """Return the monotonic time of the next progress report, every `REPORT_S` seconds while busy; else infinity."""
        return self._report_at_s if self._drafter.is_busy else inf

    def tick(self, now: float) -> None:
        """Report progress, so that the device does not take a long computation for silence."""
        self._report_at_s = now + REPORT_S
        read, left_s = self._drafter.progress
        self._peer.send(PromptProgress(session=self.id, epoch=self._dialogue.epoch, read=read, left_s=left_s))

    # --- actions

    def act(self, effects: Effects) -> None:
        """Send the messages, and draft on; the device publishes."""
        for _, message in effects.send:
            self._peer.send(message)
        self._report_at_s = time.monotonic() + REPORT_S
        self._drafter.draft_next()
        self.steps += len(effects.confirmed)
        self._drafter.count(effects.confirmed)

    def _send_ready(self) -> None:
        drafter = self._drafter
        if not drafter.has_read or drafter.passages is None:
            return
        self._peer.send(
            Ready(
                session=self.id,
                epoch=self._dialogue.epoch,
                documents=drafter.documents,
                best=nearest(drafter.passages),
                scorer=drafter.passages.scorer,
                scorers=drafter.passages.scorers,
                retrieval_s=drafter.retrieval_s,
                prefill_s=drafter.prefill_s,
                matched=self._gathered.matched[:MAX_NOTICES] if self._gathered else [],
                notices=self._services.notices(self._gathered),
            )
        )

    # --- the end

    @property
    def _epoch(self) -> int:
        return self._dialogue.epoch

    def end(self, message: Message) -> None:
        """Tell the device what this side's passages had to do with its answer."""
        found = self._drafter.passages
        if isinstance(message, End) and found is not None and not self.closed:
            lacks = lacking(self._drafter.text, self._drafter.begin.prompt, found.passages)
            self._peer.send(self._dialogue.sources(found.passages, message.tokens, lacks, side=self._services.side))
        self.close()

    def _free(self) -> None:
        self._drafter.close()

    def record(self) -> Facts:
        """Return the record for `hocket explain`, without the question or a passage's text."""
        return of_follower(self._drafter, self.steps, self.age_s, self._ended)
