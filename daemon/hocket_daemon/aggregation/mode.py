"""DRAGON: both sides generate in parallel from their own documents, and their distributions are aggregated.

Where a side's model is a server that tells text and no probabilities there is nothing to aggregate: one side writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import structs

from hocket_bus.errors import BadRequest, HocketError, Unavailable
from hocket_bus.faults import refused
from hocket_bus.messages import (
    METHODS,
    WEIGHTS,
    Aggregated,
    AggregationOptions,
    Ask,
    Begin,
    Draft,
    End,
    Message,
    PromptProgress,
    Ready,
    Refused,
    Sampling,
    Side,
    Sources,
    Sync,
    Target,
    Task,
    Unit,
    other,
)

from ..engine.runtime.sequences import rows_of
from ..serving.disclosure import Disclosure
from ..serving.mode import Peer, Session
from ..serving.peers.peer_group import PeerGroup
from ..serving.services import NO_GRAMMAR, Services
from ..serving.stream.reply import Reply
from .exchange.schedule import Scheduler
from .follower import Follower
from .group.group_leader import GroupLeader, Invited
from .leader import Leader
from .leader_terms import LeaderTerms, options_of
from .partner import Waits
from .settings import COUNTED_TEMPERATURE, AggregationSettings, GroupSettings
from .steering import Guard, guard

NOT_FOR_OTHERS = Unavailable("this device's model runs on a remote server, which must not see other devices' questions")
Dispatched = Callable[[Ask, Reply, Peer | None, bool], Session]  # the last: whether other devices may be asked


class AggregationMode:
    """The mode that opens both sides' sessions, and remembers the scorer by which the last ones could agree."""

    name = "aggregation"
    opens: tuple[type[Message], ...] = (Begin,)
    takes: tuple[type[Message], ...] = (Draft, Target, Aggregated, Sync)
    answers: tuple[type[Message], ...] = (PromptProgress, Ready, Draft, Aggregated, Sync, Refused, Sources)
    ends: tuple[type[Message], ...] = (End,)

    def __init__(
        self,
        services: Services,
        settings: AggregationSettings,
        scheduler: Callable[[], Scheduler] = Scheduler,
        dispatched: Dispatched | None = None,
        disclosure: Disclosure | None = None,
    ) -> None:
        """Create the mode; `scheduler` makes what decides which side of a session aggregates next (independent).

        `dispatched` leads a session in which one side writes: whichever has found something about the question.
        `disclosure` bounds what this side's drafts tell in sessions that others lead.
        """
        self._services = services
        self._dispatched = dispatched
        self._disclosure = disclosure
        self._scheduler = scheduler
        self._settings = settings
        self._waits = Waits(settings.connect_wait_s, settings.peer_wait_s, settings.rejoin_wait_s)
        self._scorer = ""  # that both sides' retrieval daemons have, as the last answer found it

    def check(self, ask: Ask) -> None:
        """Raise BadRequest for what cannot be asked."""
        if not isinstance(ask.options, AggregationOptions | None):
            raise BadRequest(f"these options do not apply to mode {self.name}", "leave them out")
        options = options_of(ask)
        for what, value, known in (("aggregation", options.method, METHODS), ("weights", options.weights, WEIGHTS)):
            if value not in known:
                raise BadRequest(f"unknown {what} '{value[:50]}'", f"use one of: {', '.join(known)}")
        if options.alone and options.require_cloud:
            raise BadRequest("alone and require_cloud exclude each other", "choose one")
        if options.members:
            raise BadRequest("other devices take part only in modes graph and auto", "add: --mode graph")
        if ask.sampling.grammar and options.method == "independent":
            raise BadRequest("the method independent cannot aggregate by a grammar", "leave the method out")

    def rows(self, ask: Ask) -> int:
        """Count the rows of a question: one for each passage, and one for itself where passages are set against it."""
        return rows_of(self._services.passages(ask.documents), alone=bool(self._contrast(ask.task)))

    def begin(self, ask: Ask, reply: Reply, peer: Peer | None, *, escalates: bool = False) -> Session:
        """Lead a session; where it `escalates` the cloud may read other devices' passages, too. Raises BadRequest."""
        options = options_of(ask)
        remote = self._remote(None if options.alone else peer)
        if remote is not None and ask.sampling.grammar:
            return self._constrained(ask, reply, remote)
        if remote is not None and self._dispatched is not None:
            why = f"the {remote}'s model is a server that returns no probabilities"
            if options.require_cloud:
                raise BadRequest(f"{why}, so the two sides cannot answer together", "ask without --require-cloud")
            if not options.alone and peer is not None:
                reply.notice(f"{why}: only one side writes this answer")
            return self._dispatched(ask, reply, peer, escalates)

        return self._led(ask, reply, peer, escalates=escalates)

    def _led(self, ask: Ask, reply: Reply, peer: Peer | None, *, escalates: bool = False) -> Session:
        leader = Leader(self._services, reply, peer, self._terms(ask, escalates=escalates), self._scorer)
        leader.start()
        return leader

    def _constrained(self, ask: Ask, reply: Reply, remote: Side) -> Session:
        """Lead an answer that obeys a grammar where the model of the side `remote` cannot. Raises BadRequest."""
        if options_of(ask).require_cloud or remote == self._services.side:
            raise BadRequest(f"the {remote}'s {NO_GRAMMAR}", "leave out the grammar or the schema")
        reply.notice(f"the {remote}'s {NO_GRAMMAR}: answering without it")
        return self._led(ask, reply, None)

    def begin_group(
        self, ask: Ask, reply: Reply, cloud: Peer, peer_group: PeerGroup, settings: GroupSettings
    ) -> Session:
        """Lead a session in which other devices draft along, as in `graph`. Raises BadRequest."""
        names = options_of(ask).members
        remote = self._remote(cloud if settings.cloud else None)
        if remote is not None:
            why = f"the {remote}'s model is a server that returns no probabilities"
            raise BadRequest(f"{why}, so a group cannot answer together", "set with = passages under [group]")
        invited = Invited(peer_group, cloud, names, settings)
        terms = self._terms(ask, escalates=settings.with_ == "both")
        leader = GroupLeader(self._services, reply, terms, invited, self._scorer)
        leader.start()
        return leader

    def _terms(self, ask: Ask, *, escalates: bool) -> LeaderTerms:
        def agreed(scorer: str) -> None:
            self._scorer = scorer

        return LeaderTerms(
            self._waits,
            self._settings.progress_wait_s,
            self._scheduler,
            self._settings.min_evidence,
            self._guard,
            lambda scorer, unit: self._opening(ask, scorer, unit, escalates=escalates),
            self._unit,
            agreed,
        )

    @property
    def _guard(self) -> Guard:
        """The guard against a side that steers; none where an account counts what it learns."""
        trusts = self._settings.trust_cloud or self._services.account is not None
        return guard(trusts=trusts, shares_drafts=self._services.shares_drafts)

    def _remote(self, peer: Peer | None) -> Side | None:
        """The side whose model is a server that tells text alone."""
        own = self._services.side
        if not self._services.aggregates:
            return own
        return other(own) if peer is not None and not peer.aggregates else None

    def rows_of(self, opening: Message) -> int:
        """Count the rows of a device's session, as `rows` does for a question."""
        begin = _begin(opening)
        return rows_of(begin.documents, alone=bool(begin.contrast) or self._disclosure is not None)

    def accept(self, opening: Message, peer: Peer) -> Follower:
        """Draft along in a device's session.

        Raises Unavailable where another device's question would leave, and for steps that this model cannot take.
        """
        if self._services.side == "device" and not self._services.reads_here:
            raise NOT_FOR_OTHERS
        begin = _begin(opening)
        self._services.check_unit(begin.unit, begin.tokenizer)
        if self._disclosure is not None and (begin.unit == "word" or begin.sampling.grammar):
            what = "words" if begin.unit == "word" else "a constrained answer"
            raise Unavailable(f"this device limits what its drafts reveal (most_bits), and of {what} it cannot yet")
        follower = Follower(self._services, begin, peer, self._scheduler, self._disclosure)
        follower.start()
        return follower

    def refusal(self, opening: Message, error: HocketError) -> Message:
        """Return the message that this side cannot take part."""
        begin = _begin(opening)
        return refused(error, begin.session, begin.epoch)

    def _unit(self, peer: Peer | None) -> Unit:
        """Return what a step of a session with this other side is."""
        if self._services.account is not None:
            return "word" if peer is not None else "token"  # what nobody else hears is drawn as ever
        if self._settings.unit == "auto":
            own = self._services.model.fingerprint
            return "token" if peer is None or peer.tokenizer in ("", own) else "word"
        return self._settings.unit if self._services.words else "token"

    def _opening(self, ask: Ask, scorer: str, unit: Unit, *, escalates: bool) -> Begin:
        """Return the opening; an escalated question has static weights, as others' passages cannot be weighed anew."""
        options, settings = options_of(ask), self._settings
        weights = "static" if escalates and options.weights != "off" else options.weights
        return Begin(
            session=os.urandom(16),
            epoch=0,
            prompt=ask.prompt,
            task=ask.task,
            sampling=self._sampling(ask.sampling, unit),
            method=options.method,  # type: ignore[arg-type] # checked by `check`
            documents=self._services.passages(ask.documents),
            eos=[] if ask.ignore_eos else self._services.model.eos,
            weights=weights,  # type: ignore[arg-type] # checked by `check`
            reweigh_every=settings.reweigh_every,
            relevance_temperature=settings.relevance_temperature,
            wire_mass=settings.wire_mass,
            scorer=scorer,
            escalates=escalates,
            contrast=self._contrast(ask.task),
            tokenizer=self._services.model.fingerprint,
            unit=unit,
        )

    def _sampling(self, sampling: Sampling, unit: Unit) -> Sampling:
        """Return how words are drawn: not greedily where they are counted, as a word that must come has no bound."""
        if unit == "token" or self._services.account is None or sampling.temperature:
            return sampling
        return structs.replace(sampling, temperature=COUNTED_TEMPERATURE)

    def _contrast(self, task: Task) -> float:
        """Return the contrast; 0 for a text to be continued, which asks nothing that passages could be set against."""
        return self._settings.contrast if task == "answer" else 0.0


def _begin(opening: Message) -> Begin:
    assert isinstance(opening, Begin)
    return opening
