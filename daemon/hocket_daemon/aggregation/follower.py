"""The cloud's part in a device's question: it drafts along and takes the device's final tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf

import structlog

from hocket_bus.errors import BadRequest, HocketError
from hocket_bus.faults import refused
from hocket_bus.messages import Aggregated, Begin, Draft, End, Message, PromptProgress, Ready, Sync, Target

from ..engine.runtime.sequences import rows_of
from ..serving.disclosure import Disclosure
from ..serving.mode import Facts, Peer
from ..serving.search.evidence import nearest
from ..serving.search.follow_up import search_text
from ..serving.search.gatherer import MAX_NOTICES, Gathered, gathering
from ..serving.services import Services
from ..serving.stream.support import lacking
from .answer_summary import of_follower
from .dialogue import Effects
from .dialogues import dialogue_type
from .drafter import Drafter
from .exchange.lookahead import lookahead
from .exchange.schedule import Scheduler
from .patience import REPORT_S

log = structlog.get_logger(__name__)


class Follower:
    """The follower in a device's session, until the device ends it, or is silent for too long."""

    within: Sequence[str] = ()

    def __init__(
        self,
        services: Services,
        begin: Begin,
        peer: Peer,
        scheduler: Callable[[], Scheduler],
        disclosure: Disclosure | None = None,
    ) -> None:
        """Prepare to draft along; `disclosure` bounds what this side's drafts tell of its passages."""
        self.closed = False
        self._services = services
        self._begin = begin
        self._peer = peer
        self._rows = rows_of(begin.documents, alone=bool(begin.contrast) or disclosure is not None)
        self._began_s = time.monotonic()
        self._report_at_s = self._began_s + REPORT_S
        self._steps = 0
        self._ended = "ended by the device, or its silence"
        self._gathered: Gathered | None = None
        find = None
        if begin.escalates and (gatherer := services.gatherer) is not None and services.reads_here:
            find = gathering(
                gatherer, peer, search_text(begin.prompt), begin.documents, scorer=begin.scorer, take=self._take
            )
        bounds = disclosure.session() if disclosure is not None else None
        begins = dialogue_type(begin.method)
        self._dialogue = begins("cloud", begin, scheduler, vocabulary=services.model.vocabulary)
        self._drafter = Drafter(services, begin, self, self._dialogue, side="cloud", find=find, disclosure=bounds)

    @property
    def id(self) -> bytes:
        """The session's number."""
        return self._begin.session

    @property
    def user(self) -> str:
        """The key of the device."""
        return self._peer.user

    @property
    def has_read(self) -> bool:
        """Tell whether this side has read its prompt."""
        return self._drafter.has_read

    @property
    def steps(self) -> int:
        """Tokens confirmed so far."""
        return self._steps

    @property
    def leads(self) -> bool:
        """Return False: the device sends something with every token."""
        return False

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

    def on_found(self) -> None:
        """Do nothing: the device is informed when this side has read."""

    def on_read(self) -> None:
        """Report to the device that this side has read, and what it has found."""
        self._send_ready()

    def on_static(self, reason: HocketError) -> None:
        """Do nothing: the reason is in the log."""

    def on_peer(self, up: bool, reason: HocketError | None) -> None:
        """Do nothing: a device that is back opens the session again."""

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
        self._steps += len(effects.confirmed)
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

    def _take(self, gathered: Gathered) -> None:
        self._gathered = gathered

    # --- the end

    def cancel(self) -> None:
        """Close the session, as `close` does: nobody but the device asks here."""
        self.close()

    def fail(self, error: HocketError) -> None:
        """Refuse to go on, so that the device goes on alone, and says why."""
        if self.closed:
            return
        self._services.counters.add("errors_total", kind=error.code)
        log.warning("cannot take part", session=self.id.hex(), error=str(error))
        self._peer.send(refused(error, self.id, self._dialogue.epoch))
        self._ended = error.code
        self.close()

    def end(self, message: Message) -> None:
        """Tell the device what this side's passages had to do with its answer."""
        found = self._drafter.passages
        if isinstance(message, End) and found is not None and not self.closed:
            lacks = lacking(self._services.model.text, self._drafter.begin.prompt, found.passages)
            self._peer.send(self._dialogue.sources(found.passages, message.tokens, lacks, side=self._services.side))
        self.close()

    def close(self) -> None:
        """Free what it holds."""
        self._drafter.close()
        self.closed = True

    def record(self) -> Facts:
        """Return the record for `hocket explain`, without the question or a passage's text."""
        return of_follower(self._drafter, self._steps, time.monotonic() - self._began_s, self._ended)
