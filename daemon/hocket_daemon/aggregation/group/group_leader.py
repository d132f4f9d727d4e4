"""The life of a question that a group answers: each member drafts from its own documents, and this device aggregates.

Every event is handled in one shape: see who takes part, judge what can be judged, tell everybody the tokens, draft on.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

import msgspec

from hocket_bus.errors import BadRequest, HocketError, Unavailable
from hocket_bus.messages import (
    Draft,
    FindMembers,
    Finish,
    FoundMember,
    MemberOutcome,
    MembersFound,
    Message,
    Outcome,
    PromptProgress,
    Ready,
    Refused,
    Sources,
    Sync,
    Unit,
)

from ...privacy.history import CLOUD
from ...serving.mode import Facts, Peer
from ...serving.peers.peer_group import PeerGroup
from ...serving.records.sources import SOURCES_WAIT_S, Contribution, PeerSources, by_token, places_of, sourced_by_all
from ...serving.search.evidence import doubt_of_all
from ...serving.search.follow_up import search_text
from ...serving.search.older import left_out
from ...serving.services import Services
from ...serving.session_account import withholds
from ...serving.stream.reply import Reply, Sourced
from ..answer_summary import outcome_of
from ..dialogue import Effects
from ..drafter import Drafter
from ..leader import DraftingLeader
from ..leader_terms import LeaderTerms, options_of
from ..settings import GroupSettings
from .group_member import GroupMember, Patience
from .group_summary import of_members

_READERS = "group"  # who hears the answer: members, and the cloud if it takes part
_FINDING = "?"  # takes a member's place until it is known who the members are


@dataclass(slots=True)
class Participant:
    """A member of the session, and what it has said of itself."""

    peer: Peer
    member: GroupMember
    ready: Ready | None = None
    sources: PeerSources | None = None


@dataclass(frozen=True, slots=True)
class Invited:
    """The parties to ask: devices by name, or by what they share where none is named; and the cloud if it joins."""

    peer_group: PeerGroup
    cloud: Peer
    names: Sequence[str]
    settings: GroupSettings


class GroupLeader(DraftingLeader):
    """The leader of a session with a group: it judges alone, and sends every member the tokens."""

    def __init__(self, services: Services, reply: Reply, terms: LeaderTerms, invited: Invited, scorer: str) -> None:
        super().__init__(services, reply, terms)
        self._invited = invited
        self._begin = terms.opening(scorer, self._unit(terms))
        self._dialogue = self._new_dialogue(judges="leader", most_say=invited.settings.most_say)
        account = self._new_account(_READERS)
        self._drafter = Drafter(services, self._begin, self, self._dialogue, side="device", account=account)
        self._participants: dict[str, Participant] = {}
        self._find_by_s = inf
        self._found = False  # the cloud has said who is there
        self._looked = False
        self._warned: set[str] = set()

    def _unit(self, terms: LeaderTerms) -> Unit:
        """Return what a step is. Of words it cannot be seen who steers: who is to leave such a member asks for tokens.

        Where words are counted nothing else may leave.
        """
        if self._services.account is not None:
            return "word"
        cloud = self._invited.cloud if self._invited.settings.cloud else None
        return "token" if terms.guard == "leaves" else terms.unit(cloud)

    @property
    def rtt_s(self) -> float:
        """The longest round trip to who takes part."""
        return max((participant.member.rtt_s for participant in self._taking_part()), default=0.0)

    # --- who takes part

    def start(self) -> None:
        """Search, and ask the cloud who may know."""
        self._dialogue.set_present((_FINDING,))
        self._find_by_s = time.monotonic() + self._terms.waits.connect_s
        self._drafter.start()
        if self._invited.cloud.up:
            self._find()

    def _find(self) -> None:
        invited, now = self._invited, time.monotonic()
        if invited.settings.cloud and CLOUD not in self._participants:
            self._join(CLOUD, invited.cloud, invited.cloud.rtt_s)
        self._find_by_s = now + invited.cloud.rtt_s + self._terms.waits.connect_s
        query = "" if invited.names else search_text(self._services.history.shareable(self._begin.prompt, CLOUD))
        most = len(invited.names) or invited.settings.members
        asked = FindMembers(session=self.id, query=query, names=list(invited.names), most=most)
        invited.peer_group.find(invited.cloud, asked, self._on_found)

    def _on_found(self, outcome: MembersFound | HocketError) -> None:
        if self.closed or self._written:
            return
        self._find_by_s = inf
        if isinstance(outcome, HocketError):
            self._notify(outcome.text)
        else:
            self._found = True
            if self._reply.route is not None:
                self._reply.route.found([member.name for member in outcome.members], named=bool(self._invited.names))
            for line in outcome.notices:
                self._notify(line)
            for found in self._wanted(outcome.members):
                self._participant(found)
        self._changed()

    def _wanted(self, found: Sequence[FoundMember]) -> list[FoundMember]:
        """Return the devices that were asked for, each once: a cloud could report others."""
        names, most = self._invited.names, self._invited.settings.members
        known = {member.name: member for member in found if not names or member.name in names}
        return [*known.values()][: len(names) or most]

    def _participant(self, found: FoundMember) -> None:
        if found.name in (CLOUD, _FINDING):
            self._notify(f"a device called {found.name} cannot take part: give its key another name on the cloud")
            return
        try:
            take = partial(self._take, found.name)
            peer = self._invited.peer_group.participant(self._invited.cloud, self.id, found, take, self._notify)
        except HocketError as error:
            self._notify(str(error))
        else:
            self._join(found.name, peer, found.rtt_s)

    def _join(self, name: str, peer: Peer, rtt_s: float) -> None:
        settings, now = self._invited.settings, time.monotonic()
        longest_s = self._longest_wait_s(settings.reading_s or self._terms.progress_wait_s)
        patience = Patience(settings.patience_ms / 1000, longest_s)
        participant = self._participants[name] = Participant(peer, GroupMember(patience, rtt_s, now))
        if name == CLOUD:  # its link lives, and it says nothing before it has read
            participant.member.on_sign(now)
        self._open(name, participant)

    def _open(self, name: str, participant: Participant) -> None:
        """Ask a member to draft along from where the answer is now."""
        self._note(f"{name} asked to take part")
        participant.member.on_asked()
        behind = self._dialogue.open(name)
        prompt = self._services.history.shareable(self._begin.prompt, name)
        escalates = self._begin.escalates and name == CLOUD
        rtt_s = 0.0 if name == CLOUD else participant.member.rtt_s
        epoch = self._dialogue.epoch_of(name)
        begin = msgspec.structs.replace(self._begin, epoch=epoch, prompt=prompt, escalates=escalates, rtt_s=rtt_s)
        self._send(name, begin, *behind)

    def _taking_part(self) -> list[Participant]:
        return [participant for participant in self._participants.values() if participant.member.awaited]

    def _changed(self) -> None:
        """Go on with the parties that take part now, after any has come, read, fallen silent or left."""
        self._part_with_silent()
        present = [name for name, participant in self._participants.items() if participant.member.awaited]
        if self._find_by_s < inf:
            present.append(_FINDING)
        if options_of(self._reply.ask).require_cloud and not present:
            self.fail(
                Unavailable("no other device takes part", "ask without --require-cloud to let this side answer alone")
            )
            return
        self._look()
        if not self.closed:
            self.act(self._dialogue.set_present(present))

    def _part_with_silent(self) -> None:
        """Do without a member that has led the answer and gives way by silence: it would be sent what comes of it."""
        for name, participant in self._participants.items():
            if participant.member.state == "out" and self._dialogue.exchange.parties.has_pushed(name):
                self._leave(name, "stopped drafting after it had led the answer")

    def _look(self) -> None:
        """Check, once everybody has searched, whether anything that was found is about the question."""
        undecided = any(participant.member.state in ("asked", "reading") for participant in self._participants.values())
        own = self._drafter.passages
        if self._looked or undecided or self._find_by_s < inf or own is None or not self._drafter.has_read:
            return
        self._looked = True
        ready = [participant.ready for participant in self._taking_part() if participant.ready is not None]
        others = [(each.scorer, each.best) for each in ready if each.documents]
        line = doubt_of_all(own, others, self._terms.min_evidence, self._begin.prompt)
        withheld = withholds(self._drafter.account)
        self._doubt(line, begun=bool(self._steps), withheld=withheld)
        if not self.closed and not any(each.documents for each in ready):
            self._check_documents()

    def _leave(self, name: str, why: str) -> None:
        """Do without a member for the rest of this answer; the reader is told why, if he needs to know."""
        self._send(name, self._end_message("left"))
        self._participants[name].member.on_gone()
        if why:
            self._notify(f"{name} {why}: continuing without it")

    # --- events

    def on_read(self) -> None:
        """Report to the reader that the question is read here, and go on."""
        self._reply.read(places_of(self._services.side, self._drafter.found), left_out(self._drafter.passages))
        self._settle(())
        self._changed()

    def receive(self, message: Message) -> None:
        """Take a message of the cloud."""
        if CLOUD in self._participants:
            self._take(CLOUD, message)

    def _take(self, name: str, message: Message | HocketError | None) -> None:
        """Handle a message of a member, an error in its place, or None: a sign that it is there."""
        participant, now = self._participants[name], time.monotonic()
        if self.closed:
            return
        if isinstance(message, Sources):
            self._on_sources(participant, message)
        elif self._written or participant.member.state == "gone":
            return
        elif message is None:
            participant.member.on_sign(now)
        elif isinstance(message, HocketError):
            participant.member.on_lost(now)
            self._warn(name, f"{message.text}: answering without it")
            self._changed()
        elif isinstance(message, Refused):
            self._on_refused(name, participant, message)
        elif isinstance(message, PromptProgress):
            self._on_progress(name, participant, message)
        elif isinstance(message, Ready):  # of any epoch: who is opened anew says so before it heeds the new one
            self._on_ready(name, participant, message)
        elif isinstance(message, Sync | Draft) and self._dialogue.is_current(name, message):
            self._on_current(name, message)

    def _on_progress(self, name: str, participant: Participant, progress: PromptProgress) -> None:
        participant.member.on_progress(time.monotonic())
        if progress.read < 1 and name in self._dialogue.exchange.lacking():
            self._reply.wait_for(name, progress.read, progress.left_s)

    def _on_current(self, name: str, message: Sync | Draft) -> None:
        try:
            effects = self._dialogue.receive(message, name)
        except BadRequest as error:
            self._leave(name, f"sent an invalid draft ({error.text})")
            self._changed()
        else:
            self.act(effects)

    def _on_ready(self, name: str, participant: Participant, ready: Ready) -> None:
        participant.ready, own = ready, self._drafter.passages
        if name == CLOUD:
            for line in self._reply.news(ready):
                self._notify(line)
        if self._begin.documents and not ready.documents:
            self._leave(name, "" if name == CLOUD else "has no documents about it")
        elif own is not None and own.passages and self._begin.weights != "off" and own.scorer != ready.scorer:
            self._terms.agreed(next((each for each in own.scorers if each in ready.scorers), ""))
            self._leave(name, "uses another relevance scorer")
        else:
            self._note(f"{name} has read {ready.documents} passages")
            participant.member.on_ready()
        self._changed()

    def _on_refused(self, name: str, participant: Participant, refused: Refused) -> None:
        if refused.epoch != self._dialogue.epoch_of(name):
            return
        self._notify(f"{name} cannot take part: {refused.text}")
        if refused.retry_after_s:
            participant.member.on_lost(time.monotonic(), refused.retry_after_s)
        else:
            participant.member.on_gone()
        self._changed()

    def _on_peer(self, up: bool, reason: HocketError | None) -> None:
        now = time.monotonic()
        if not up:
            self._find_by_s = inf
            for participant in self._participants.values():
                participant.member.on_lost(now)
            self._warn("link", f"{reason.text if reason is not None else 'the link is down'}; answering alone")
        else:
            self._warned.discard("link")
            for name, participant in self._participants.items():
                self._ask_anew(name, participant)
            if not self._found:
                self._find()
        self._changed()

    def _ask_anew(self, name: str, participant: Participant) -> None:
        if participant.member.state != "gone" and participant.peer.up:
            self._open(name, participant)

    def _due_s(self) -> float:
        return min([self._find_by_s, *(participant.member.due_s for participant in self._participants.values())])

    def _on_time(self, now: float) -> None:
        if now >= self._find_by_s:
            self._find_by_s = inf
            reason = self._invited.cloud.reason or Unavailable("the cloud has not named the connected devices")
            self._warn("link", f"{reason.text}; answering alone")
        for name, participant in self._participants.items():
            verdict = participant.member.tick(now)
            if verdict == "late":
                self._warn(name, f"{name} is late: answering without it")
            elif verdict == "ask anew":
                self._ask_anew(name, participant)
        self._changed()

    def _notify(self, text: str) -> None:
        """Tell the reader, and the record."""
        self._note(text)
        super()._notify(text)

    def _note(self, what: str) -> None:
        self._account.note_text(self._reply.age_s, what)

    def _warn(self, key: str, text: str) -> None:
        """Warn the reader once, until the trouble is over."""
        if key not in self._warned:
            self._warned.add(key)
            self._notify(text)

    # --- actions

    def act(self, effects: Effects) -> None:
        """Send everybody what was confirmed, and draft on; then publish it, and end."""
        finish, added = self._add(effects.confirmed)
        self._settle(added)
        if finish is None:
            for name, message in effects.send:
                self._send(name, message)
            self._drafter.draft_next()
        self._reply.publish()
        self._drafter.count(added)
        self._see(bool(added))
        if finish is not None:
            self._finish(finish)
        elif self._dialogue.exchange.parties.steers:
            self._expel()

    def _expel(self) -> None:
        """Do without those who have steered the answer too far: they are sent nothing more of it."""
        for name in sorted(self._dialogue.exchange.parties.steers):
            self._leave(name, "may be steering the answer to extract your private text")
        self._changed()

    def _see(self, confirmed: bool) -> None:
        """Note who has had a part in a token, who is waited for, and who steers."""
        exchange, now = self._dialogue.exchange, time.monotonic()
        lacking, step = exchange.lacking(), len(exchange.confirmed)
        for name, participant in self._participants.items():
            if confirmed and name in exchange.traces[-1].others:
                self._welcome(name)
            participant.member.on_lacking(now, step if name in lacking else None)
        for name in sorted(exchange.parties.doubted):
            self._warn(f"{name} steers", f"{name} may be steering towards your private text, most likely by chance")

    def _welcome(self, name: str) -> None:
        if name in self._warned:
            self._warned.discard(name)
            self._notify(f"{name} is back: answering together again")

    def _send(self, name: str, *messages: Message) -> None:
        """Send messages to a member; what does not get there is lost, and made good by the next opening."""
        participant = self._participants[name]
        for message in messages:
            if participant.peer.up and participant.member.state != "gone":
                try:
                    participant.peer.send(message)
                    self._has_sent = True
                except HocketError as error:
                    self.fail(error)
                    return

    # --- the end

    def _finish(self, finish: Finish) -> None:
        """End the session of a written answer, once those who had a part in it have reported its sources."""
        had = self._had_a_part()
        if self.closed:
            return
        if had:
            longest_s = max(self._participants[name].member.rtt_s for name in had)
            self._await_sources(finish, time.monotonic() + SOURCES_WAIT_S + longest_s)
        for name in self._participants:
            self._send(name, *self._dialogue.rest(name, len(self._steps)), self._end_message(finish))
        self._drafter.close()
        if not had:
            self._conclude(finish)

    def _had_a_part(self) -> list[str]:
        """Return the members with a part in the answer that can report its sources; who has left has done so."""
        traces = self._dialogue.exchange.traces[: len(self._steps)]
        named = {name for trace in traces for name, part in trace.others.items() if part > 0}
        participants = {name: self._participants[name] for name in sorted(named)}
        return [
            name for name, participant in participants.items() if participant.peer.up and participant.member.awaited
        ]

    def _on_sources(self, participant: Participant, message: Sources) -> None:
        participant.sources = self._dialogue.peer_sources(message)
        if self._written and all(self._participants[name].sources is not None for name in self._had_a_part()):
            self._conclude(self._written)

    def _result(self) -> tuple[Outcome, Sourced, int]:
        drafter, traces = self._drafter, [self._dialogue.exchange.traces[step] for step in self._tokens_of]
        contributions = [
            Contribution(
                "cloud" if name == CLOUD else "device",
                "" if name == CLOUD else name,
                [trace.others.get(name, 0.0) for trace in traces],
                by_token(participant.sources, self._tokens_of),
            )
            for name, participant in self._participants.items()
            if any(name in trace.others for trace in traces)
        ]
        sources = sourced_by_all(self._services.side, drafter.found, traces, contributions)
        outcome = outcome_of(drafter, self._by_token())
        return msgspec.structs.replace(outcome, members=self._members()), sources, drafter.prompt_tokens

    def _members(self) -> list[MemberOutcome]:
        return of_members(self._dialogue, list(self._participants), len(self._steps))

    def _readers(self) -> list[str]:
        return [name for name, participant in self._participants.items() if participant.member.awaited]

    def _leave_all(self, reason: str) -> None:
        for name in self._participants:
            self._send(name, self._end_message(reason))

    def _close(self, reason: str, *, whole: bool) -> None:
        super()._close(reason, whole=whole)
        for each in self._members():
            self._invited.peer_group.record_outcome(each)
        self._invited.peer_group.leave(self.id)

    def record(self) -> Facts:
        """Return the record for `hocket explain`; the question stays on the machine where it was asked."""
        ready = self._participants[CLOUD].ready if CLOUD in self._participants else None
        members = [msgspec.structs.asdict(each) for each in self._members()]
        return {**self._facts(ready, self.rtt_s), "members": members, "sessions": [self.id.hex()]}
