"""The life of a question on the side that was asked: with the cloud while it is there, alone when it is not.

Every event is handled in one shape: send what the other side waits for, draft on, publish, end.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from hocket_bus.errors import BadRequest, Forbidden, HocketError, Unavailable
from hocket_bus.messages import (
    Aggregated,
    Begin,
    Draft,
    End,
    Finish,
    Message,
    Outcome,
    Passages,
    PromptProgress,
    Ready,
    Refused,
    Sources,
    Sync,
)

from ..engine.runtime.sequences import rows_of
from ..privacy.history import CLOUD
from ..serving.mode import Facts, Peer
from ..serving.records.sources import SOURCES_WAIT_S, PeerSources, places_of, shares_of
from ..serving.search.evidence import OFF, doubt_of_all
from ..serving.search.older import left_out
from ..serving.services import Services
from ..serving.session_account import SessionAccount, withholds
from ..serving.sessions.leading import Leading
from ..serving.stream.reply import Reply, Sourced
from ..serving.stream.targets import ANOTHER_TOKENIZER
from .answer_summary import AnswerSummary, charged_words, outcome_of, sources_of
from .dialogue import Dialogue, Effects
from .dialogues import dialogue_type
from .drafter import Drafter
from .exchange.lookahead import MAX_LOOKAHEAD
from .exchange.session_terms import Confirmed, Judges
from .leader_terms import DOUBTED, NO_CLOUD, STEERED, LeaderTerms, found_in, nothing_found, options_of, unsuited
from .partner import Action, GiveUp, GoAlone, Join, Leave, Partner, Rejoin, Warn
from .patience import longest_wait_s
from .weights.agreement import agree


class Evidence:
    """The check for evidence, made once when all parties have searched: the nearest passage of either side decides.

    Where this side alone has passages about the question, the details that they tell of decide, too.
    """

    def __init__(self, begin: Begin, minimum: float) -> None:
        """Prepare the check; `minimum` is a score in [0, 1], and with 0 or less nothing is doubted."""
        self._minimum, self._prompt = minimum, begin.prompt
        self._looked = begin.task != "answer" or begin.documents == 0

    def look(self, own: Passages | None, ready: Ready | None, *, alone: bool) -> str:
        """Return why nothing that was found is about the question; empty where something is, or that is unknown.

        `ready` is what the other side has reported, if anything; `alone` says that it has no part in the answer.
        """
        if self._looked or own is None or (ready is None and not alone):
            return ""
        self._looked = True
        others = [(ready.scorer, ready.best)] if ready is not None and ready.documents and not alone else []
        return doubt_of_all(own, others, self._minimum, self._prompt)


@dataclass(slots=True)
class _Known:
    """The other side's reports on itself, and whether the sides agree on a scorer."""

    ready: Ready | None = None
    agreed: bool = False
    peer_sources: PeerSources | None = None


class DraftingLeader(Leading, ABC):
    """A leader of a session whose sides draft; it publishes every target token."""

    max_lookahead = MAX_LOOKAHEAD  # as far as pays
    _begin: Begin
    _drafter: Drafter

    def __init__(self, services: Services, reply: Reply, terms: LeaderTerms) -> None:
        super().__init__(services, reply)
        self._terms = terms
        self._steps: list[Confirmed] = []
        self._tokens_of: list[int] = []  # the step that each of the reply's tokens is of
        self._account = AnswerSummary()
        self._has_sent = False  # anybody else has heard of the answer

    @property
    def id(self) -> bytes:
        """The session's number."""
        return self._begin.session

    def on_found(self) -> None:
        """Do nothing: nobody waits for what was found."""

    def on_static(self, reason: HocketError) -> None:
        """Tell the reader, since the question would get other tokens with a retrieval daemon that answers."""
        self._reply.notice(
            f"{reason.text}: from now on the {self._services.side}'s passages are weighted by the question only"
        )

    def _longest_wait_s(self, set_s: float) -> float:
        """Return the longest wait for a party that reports progress; `set_s` is what the owner has set."""
        rows = rows_of(self._begin.documents, alone=bool(self._begin.contrast))
        step_s, drafter = self._services.profiler.step_s(rows), self._drafter
        own_answer_s = drafter.retrieval_s + drafter.prefill_s + step_s * self._begin.sampling.max_tokens
        return longest_wait_s(set_s, own_answer_s)

    def _new_dialogue(self, judges: Judges = "both", most_say: float = 1.0) -> Dialogue:
        """Return the dialogue of the session that `_begin` opens; `judges` and `most_say` are Dialogue's."""
        services, terms = self._services, self._terms
        return dialogue_type(self._begin)(
            services.side,
            self._begin,
            terms.scheduler,
            judges=judges,
            shares_drafts=services.shares_drafts,
            guard=terms.guard,
            most_say=most_say,
            vocabulary=services.model.vocabulary,
        )

    def _new_account(self, reader: str) -> SessionAccount | None:
        """Return the account of the answer's words, which `reader` hears; None where they are not counted."""
        account = self._services.account if self._begin.unit == "word" else None
        return SessionAccount(account, reader) if account is not None else None

    def _settle(self, added: Sequence[Confirmed]) -> None:
        """Settle the bits of new tokens before they leave; tell the reader which documents may say nothing more."""
        self._drafter.settle(added)
        for line in self._drafter.account.news() if self._drafter.account is not None else ():
            self._reply.notice(line)

    def _end_message(self, reason: str) -> End:
        return End(session=self.id, reason=reason, tokens=len(self._steps))

    def _add(self, confirmed: Sequence[Confirmed]) -> tuple[Finish | None, Sequence[Confirmed]]:
        """Add tokens up to the answer's end; return how it ends, if it does, and the tokens that were added."""
        for number, each in enumerate(confirmed, start=1):
            self._steps.append(each)
            finish = self._add_step(each)
            if finish is not None:
                return finish, confirmed[:number]
        return None, confirmed

    def _add_step(self, step: Confirmed) -> Finish | None:
        """Add a step to the reply, as this side's own tokens: the one that it is, or those of its word."""
        trace = self._drafter.dialogue.exchange.traces[step.step]
        for token in self._drafter.tokens([step.token]):
            self._tokens_of.append(step.step)
            finish = self._reply.add(token, step.source, trace.ranking, partial(shares_of, trace))
            if finish is not None:
                return finish
        return None

    def _by_token(self) -> list[Confirmed]:
        """Return what was confirmed with each of the reply's tokens."""
        return [replace(self._steps[step], step=at) for at, step in enumerate(self._tokens_of)]

    def _check_documents(self, ready: Ready | None = None) -> bool:
        """Tell the reader that an answer without documents is the model's own; fail where others' have begun it.

        Where folders were named in which there is nothing, nothing is known. `ready` is what the other side has
        reported of its own. Returns whether the answer may go on.
        """
        if self._begin.documents == 0 or self._drafter.documents:
            return True
        missing = nothing_found(self._services.side, ready, self.within, self._drafter.account)
        if self._steps:
            self.fail(missing)
        elif self.within and self._reply.ask.unknown == "say" and self._terms.min_evidence > OFF:
            self._doubt(found_in(self.within), begun=False)
        else:
            self._reply.notice(f"the model's own answer, which may be invented: {missing}")
        return not self._steps and not self.closed

    def _facts(self, ready: Ready | None, rtt_s: float) -> Facts:
        """Return the facts of the record; `ready` is what the cloud has reported of itself."""
        facts = self._account.of_leader(self._reply, self._drafter, self._by_token(), ready, rtt_s)
        return {**facts, **charged_words(self._drafter.account, self._reply, self._tokens_of)}

    def _close(self, reason: str, *, whole: bool) -> None:  # noqa: ARG002 - dispatch books it
        if not self._has_sent and self._drafter.account is not None:
            self._drafter.account.give_back()
        if not self._written:
            self._leave_all(reason)
        self._drafter.close()

    @abstractmethod
    def _leave_all(self, reason: str) -> None:
        """Tell those who take part that the stream has ended."""


class Leader(DraftingLeader):
    """The leader of a session with one other side, which takes part while it can."""

    def __init__(self, services: Services, reply: Reply, peer: Peer | None, terms: LeaderTerms, scorer: str) -> None:
        super().__init__(services, reply, terms)
        self._options = options_of(reply.ask)
        self._peer = None if self._options.alone else peer
        self._begun_anew = self._doubted = False
        self._sessions: list[str] = []  # all that it had: one more where it was begun anew
        self._open(scorer)

    @property
    def rtt_s(self) -> float:
        """The round trip to the other side."""
        return self._peer.rtt_s if self._peer is not None else 0.0

    # --- beginning

    def start(self) -> None:
        """Search, and ask the other side: at once, unless names that are found are to be sent to it."""
        self._drafter.start()
        if not self._waits_for_names:
            self._meet()

    def on_found(self) -> None:
        """Ask the other side, if names that are found had to be waited for."""
        if self._waits_for_names:
            self._meet()

    def _meet(self) -> None:
        self._waits_for_names = False
        if self._begin.unit == "word" and (why := unsuited(self._begin.method, self._terms.guard)):
            self._do(self._partner.leave("another tokenizer", *why))
            return
        up, reason = (self._peer.up, self._peer.reason) if self._peer is not None else (False, None)
        self._do(self._partner.start(time.monotonic(), up, reason))

    def on_read(self) -> None:
        """Report that the question is read; tell the reader of a side without documents."""
        self._reply.read(places_of(self._services.side, self._drafter.found), left_out(self._drafter.passages))
        self._settle(())
        self._look()
        if self.closed:
            return
        if self._partner.alone:
            self._check_documents(self._known.ready)
        elif self._begin.documents and not self._drafter.documents:
            missing = nothing_found(self._services.side, None, self.within, self._drafter.account).text
            self._reply.notice(f"{missing}: only the cloud's are used, if any")
        else:
            self._agree()

    def _look(self) -> None:
        """Check whether anything that was found is about the question."""
        line = self._evidence.look(self._drafter.passages, self._known.ready, alone=self._partner.alone)
        self._doubt(line, begun=bool(self._steps), withheld=withholds(self._drafter.account))

    def _open(self, scorer: str) -> None:
        self._begin = self._terms.opening(scorer, self._terms.unit(self._peer))
        self._sessions.append(self.id.hex())
        terms, services = self._terms, self._services
        self._dialogue = self._new_dialogue()
        account, side = self._new_account(CLOUD), services.side
        self._drafter = Drafter(services, self._begin, self, self._dialogue, side=side, account=account)
        self._waits_for_names = services.shares_bridges and self._begin.documents > 0
        self._known = _Known()
        self._evidence = Evidence(self._begin, terms.min_evidence)
        required, remedy = self._options.require_cloud, NO_CLOUD if self._services.side == "device" else ""
        self._partner = Partner(terms.waits, exists=self._peer is not None, required=required, remedy=remedy)

    # --- events

    def receive(self, message: Message) -> None:
        """Take a message of the other side."""
        if self.closed:  # it came in one turn with what ended the session
            return
        if isinstance(message, Sources):
            self._on_sources(message)
        elif self._written or not self._partner.exists:
            return
        elif isinstance(message, Refused):
            if message.epoch == self._dialogue.epoch:
                wait_s = message.retry_after_s
                self._do(self._partner.on_refused(time.monotonic(), message.text, message.remedy, wait_s))
        elif isinstance(message, PromptProgress):
            self._on_progress(message)
        elif isinstance(message, Ready):
            self._on_peer_ready(message)
        elif isinstance(message, Draft | Aggregated | Sync):  # a Target of the cloud's is of no use here
            self._on_step(message)

    def _on_peer(self, up: bool, reason: HocketError | None) -> None:
        if self._waits_for_names:  # how the other side is then is seen then
            return
        now = time.monotonic()
        if up and self._begin.unit == "token" and self._terms.unit(self._peer) == "word":
            self._on_another_tokenizer()
        elif up:
            self._do(self._partner.on_up(now))
        elif reason is not None and self._peer is not None and self._peer.up:  # and yet it is: with another daemon
            self._do(self._partner.on_moved(now, reason))
        elif reason is not None:
            self._do(self._partner.on_down(now, reason))

    def _on_another_tokenizer(self) -> None:
        """Begin anew, by words, with a cloud whose tokenizer is known only now; go on alone if the answer has begun."""
        if not self._partner.exists:
            return
        if self._steps:
            self._do(self._partner.leave("another tokenizer", *ANOTHER_TOKENIZER))
        else:
            self._reopen(self._begin.scorer)

    def _reopen(self, scorer: str) -> None:
        """Begin the session anew, on other terms."""
        self._drafter.close()
        self._open(scorer)
        self.start()

    def _due_s(self) -> float:
        return self._partner.due_s

    def _on_time(self, now: float) -> None:
        self._do(self._partner.tick(now, awaited=self._dialogue.exchange.awaits_peer()))

    def _on_step(self, message: Draft | Aggregated | Sync) -> None:
        exchange, was_alone = self._dialogue.exchange, self._partner.alone
        confirmed = len(exchange.confirmed)
        try:
            effects = self._dialogue.receive(message)
        except BadRequest as error:
            self._do(self._partner.leave("unusable draft", error.text, error.remedy))
            return
        self.act(effects)
        progress = len(exchange.confirmed) > confirmed or not exchange.awaits_peer()
        self._partner.on_step(time.monotonic(), alone=exchange.solo, progress=progress)
        if was_alone and not self._partner.alone:
            self._agree()

    def _on_progress(self, progress: PromptProgress) -> None:
        self._partner.on_progress(time.monotonic(), progress.read, self._longest_wait_s(self._terms.progress_wait_s))
        if progress.read < 1 and self._dialogue.exchange.awaits_peer():
            self._reply.wait_for(CLOUD, progress.read, progress.left_s)

    def _on_peer_ready(self, ready: Ready) -> None:
        self._known.ready = ready
        for line in self._reply.news(ready):
            self._reply.notice(line)
        if self._begin.documents and ready.documents == 0:
            self._do(self._partner.leave("no documents", "the cloud has no documents", ""))
        else:
            self._look()
            self._agree()
            self._do(self._partner.on_ready(time.monotonic()))

    def _agree(self) -> None:
        """Agree on a scorer with the other side, once both have read."""
        ready, own, known = self._known.ready, self._drafter.passages, self._known
        if self.closed or known.agreed or ready is None or own is None or not own.passages:
            return
        if self._begin.weights == "off" or not self._drafter.has_read:
            return
        begun = self._begun_anew or bool(self._steps)
        found = agree((own.scorer, ready.scorer), (own.scorers, ready.scorers), begun=begun)
        if found.verdict == "impossible":
            self.fail(Unavailable("the two sides score relevance differently", "configure the same embedder on both"))
        elif found.verdict == "too late":
            self._do(self._partner.leave("another scorer", "the cloud uses another relevance scorer", "ask again"))
        else:
            self._terms.agreed(found.scorer)
            known.agreed = True
            if found.verdict == "begin anew":
                self._begin_anew(found.scorer)
            elif found.lowered:
                self._reply.notice(f"the sides have different re-rankers: both use {found.scorer} instead")

    def _begin_anew(self, scorer: str) -> None:
        self._begun_anew = True  # once: a side that names another scorer each time would go on for ever
        self._do(self._partner.part("another scorer"))
        self._reopen(scorer)

    # --- actions

    def _do(self, actions: list[Action]) -> None:
        """Carry out the actions that the partner's state leads to; after the end nothing is left to do."""
        for action in actions:
            if self.closed or self._written:
                return
            self._account.note(self._reply.age_s, action)
            match action:
                case Join():
                    self._send(self._opening(), *_messages(self._dialogue.unconfirmed_drafts()))
                case Rejoin():
                    effects = self._dialogue.rejoin()
                    effects.send.insert(0, (CLOUD, self._opening()))
                    self.act(effects)
                case GoAlone():
                    self._go_alone()
                case Leave(reason):
                    self._send(self._end_message(reason))
                    self._partner.mute()
                case Warn(text):
                    self._reply.notice(text)
                case GiveUp(error):
                    self.fail(error)

    def _go_alone(self) -> None:
        dialogue = self._dialogue
        if self._partner.exists and dialogue.exchange.parties.has_pushed(CLOUD):
            self._do(self._partner.part("silent behind a push"))  # or else it would hear all when it is back
        effects = dialogue.go_alone()
        self._look()
        if not self.closed and (self._drafter.passages is None or self._check_documents(self._known.ready)):
            self.act(effects)

    def act(self, effects: Effects) -> None:
        """Send to the other side, which waits, and draft on; then publish what was confirmed, and end."""
        finish, added = self._add(effects.confirmed)
        self._settle(added)
        if finish is None:
            self._send(*_messages(effects.send))
            self._drafter.draft_next()
        self._reply.publish()
        self._drafter.count(added)
        if effects.confirmed and effects.confirmed[-1].source != "solo":
            self._do(self._partner.on_joint_token(time.monotonic()))
        if finish is not None:
            self._finish(finish)
        elif self._dialogue.exchange.parties.steers:
            self._do(self._partner.leave("steered", *STEERED))
        elif self._dialogue.exchange.parties.doubted and not self._doubted:
            self._doubted = True
            self._reply.notice(DOUBTED)

    def _opening(self) -> Begin:
        told = self._services.history.shareable(self._begin.prompt, CLOUD)
        bridge = self._drafter.passages.bridge if self._services.shares_bridges and self._drafter.passages else None
        return msgspec.structs.replace(self._begin, epoch=self._dialogue.epoch, prompt=told, bridge=bridge)

    def _send(self, *messages: Message) -> None:
        if self._peer is None or not self._partner.joined:
            return
        for message in messages:
            try:
                self._peer.send(message)
                self._has_sent = True
            except Forbidden as error:
                self._partner.mute()
                self.fail(error)
                return

    # --- the end

    def _finish(self, finish: Finish) -> None:
        """End the session of a written answer; where the other side has a part in it, wait for its sources."""
        there, dialogue = self._peer is not None and self._peer.up and not self.closed, self._dialogue
        if there and self._partner.together and dialogue.shared(len(self._steps)):
            self._await_sources(finish, time.monotonic() + SOURCES_WAIT_S + self.rtt_s)
            self._send(*dialogue.rest(CLOUD, len(self._steps)), self._end_message(finish))
            self._drafter.close()
        else:
            self._conclude(finish)

    def _on_sources(self, message: Sources) -> None:
        """Take the sources of the other side, or of one that was left, for its part in the answer until then."""
        self._known.peer_sources = self._dialogue.peer_sources(message)
        if self._written:
            self._conclude(self._written)

    def _result(self) -> tuple[Outcome, Sourced, int]:
        drafter = self._drafter
        sources = sources_of(self._services.side, drafter, self._tokens_of, self._known.peer_sources)
        return outcome_of(drafter, self._by_token()), sources, drafter.prompt_tokens

    def _readers(self) -> list[str]:
        reader = self._services.reader
        return [*([CLOUD] if self._partner.together else []), *([reader.place] if reader is not None else [])]

    def _leave_all(self, reason: str) -> None:
        self._send(self._end_message(reason))

    def record(self) -> Facts:
        """Return the record for `hocket explain`; the question stays on the machine where it was asked."""
        return {**self._facts(self._known.ready, self.rtt_s), "sessions": self._sessions}


def _messages(send: Sequence[tuple[str, Message]]) -> list[Message]:
    """Return the messages alone: in a session of two they have one recipient."""
    return [message for _, message in send]
