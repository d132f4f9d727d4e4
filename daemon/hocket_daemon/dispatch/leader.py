"""The life of a dispatched question on the side that was asked: it carries out what the race decides.

Every event is handled in one shape: take the token, have the sides compute, publish, end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from hocket_bus.errors import BadMessage, HocketError, Unavailable
from hocket_bus.messages import Finish, Message, Outcome, Side, Sources, WriterStatus, other
from hocket_retrieval.text.heads import headed

from ..engine.runtime.drafts_of import tokens_of
from ..engine.runtime.sequences import measure
from ..engine.sampling.ranking import UNRANKED, Ranking
from ..engine.text.words import END, number_of
from ..privacy.history import CLOUD
from ..serving.mode import Facts, question_of
from ..serving.records.sources import SOURCES_WAIT_S, Trace, places_of, shares_of
from ..serving.search.evidence import doubt, is_about
from ..serving.search.older import left_out
from ..serving.services import Services
from ..serving.sessions.leading import Leading
from ..serving.stream.prefix import PrefixChain
from ..serving.stream.reply import Reply, Sourced
from .answer import Answer
from .notice import MODELS_OWN, doubt_of_both, found_by
from .race import SIDES, Action, Begin, Fail, Hold, Notify, Race, StandBy, Write, together
from .strategy import Strategy
from .terms import Terms, options_of
from .writers.own_writer import own_writer
from .writers.pacer import Pacer
from .writers.remote_writer import NO_CLOUD, WORK_WAIT_S
from .writers.thoughts import Thoughts
from .writers.writers import AnswerWriter


class Leader(Leading):
    """The leader of a dispatched answer: it publishes the writer's tokens, and books what both sides computed."""

    def __init__(self, services: Services, reply: Reply, terms: Terms, strategy: Strategy) -> None:
        super().__init__(services, reply)
        opening = terms.opening
        self._terms = terms
        self._began_s = time.monotonic()
        chain = PrefixChain(opening.session, opening.sampling.seed)
        self._answer = Answer(chain, terms.pace)
        self._usage_account = strategy.usage_account(terms, self._began_s)
        self._own = own_writer(services, opening, chain, self, "device")
        self._cloud = terms.cloud(chain, self) if terms.cloud is not None else None
        self._race = Race(SIDES if self._cloud is not None else ("device",))
        self._migration_policy = strategy.migration_policy(terms, self._to_read)
        self._pacer = Pacer(options_of(reply.ask).pace)
        self._thoughts = Thoughts(reply)
        self._tokens = tokens_of(services.model, opening.unit)

    @property
    def id(self) -> bytes:
        """The session's number."""
        return self._terms.opening.session

    def start(self) -> None:
        """Search; a cloud that is to start however long the prompt is starts at once."""
        obstacle = (self._cloud.obstacle or self._usage_account.limit) if self._cloud is not None else None
        if obstacle is not None:
            self._do(self._race.gone("cloud", obstacle, self._began_s))
        elif self._cloud is not None and self._begins_at_once:
            self._do(self._race.start(self._began_s, {"cloud": self._began_s}))
        self._own.start()

    @property
    def _begins_at_once(self) -> bool:
        """Tell whether the cloud begins at once, whatever this side finds."""
        begins = self._terms.begins
        return begins == "cloud" or (begins == "race" and self._usage_account.cloud_starts_at_once)

    # --- what the writers tell

    def receive(self, message: Message) -> None:
        """Handle a message from the cloud. If it does not fit the state, leave the cloud and raise BadMessage."""
        if self.closed or self._cloud is None:
            return
        try:
            self._cloud.receive(message)
        except BadMessage as error:
            self._lose("cloud", error)
            raise
        if isinstance(message, WriterStatus):
            for line in self._reply.news(message):
                self._notify(line)
        if isinstance(message, Sources) and self._written is not None:
            self._conclude(self._written)

    def on_found(self) -> None:
        """Decide when each side begins, now that the length of the prompt is known."""
        self._reply.read(places_of(self._services.side, self._own.passages), left_out(self._own.found))
        texts, opening = list(map(headed, self._own.passages)), self._terms.opening
        prompt, missing = measure(
            self._services.model,
            self._services.reading.prompt(opening.prompt, texts),
            texts,
            task=opening.task,
            room=opening.sampling.max_tokens,
            alone=bool(opening.contrast),
        )
        starts_s = self._usage_account.decide(prompt, missing)
        if self._cloud is None:
            starts_s = {"device": self._began_s}  # there is nobody to wait for
        elif self._terms.begins != "race":
            knows = self._own.found is not None and is_about(self._own.found, self._terms.min_evidence)
            starts_s = {"device" if self._terms.begins == "evidence" and knows else "cloud": self._began_s}
        self._do(self._race.start(time.monotonic(), starts_s))

    def on_read(self, side: Side) -> None:
        """Remember the length of the cloud's prompt, which bounds what later ones are taken to be."""
        if side == "cloud" and self._cloud is not None:
            self._terms.cloud_prompts.append(self._cloud.work.prompt)

    def on_writer_status(self, side: Side) -> None:
        """Tell the race that the side could write."""
        self._do(self._race.ready(side, time.monotonic()))

    def on_thought(self, side: Side, text: str) -> None:
        """Add a side's thought before its first token; a side that the question is addressed to may take its time."""
        if self.closed or self._written is not None or self._race.writer is not None:
            return
        self._thoughts.add(side, text, is_alone=self._race.is_alone(side))
        if side == "cloud" and self._terms.begins == "cloud":
            self._race.thinks(side, time.monotonic())

    def on_token(self, side: Side, step: int, token: int, ranking: Ranking) -> None:
        """Take a side's next token; ignore those of a side that does not write, also what it wrote before a break."""
        if self._race.takes(side) and not self.closed and self._written is None:
            if step != len(self._answer):
                raise BadMessage("a token that cannot be the next one")
            self._take(side, token, ranking)

    def on_finished(self, side: Side, finish: Finish) -> None:
        """Handle the end of a side's text, with a token that stands for it where there is one."""
        eos = self._terms.opening.eos
        if self._race.writer is None:
            self._lose(side, Unavailable(f"the {side} wrote nothing"))
        elif self._race.writer == side and finish == "eos" and eos:
            end = number_of(END) if self._terms.opening.unit == "word" else eos[0]
            self.on_token(side, len(self._answer), end, UNRANKED)
        elif self._race.writer == side and self._written is None:
            self._end_with(finish)

    def on_failed(self, side: Side, error: HocketError) -> None:
        """Handle a side that cannot take part; a cloud that only stands by is asked again when it is needed."""
        if side == "device" or self._race.writer in (None, side) or self._race.moving == side:
            self._lose(side, error)

    def _on_peer(self, up: bool, reason: HocketError | None) -> None:
        if self._cloud is None or not self._cloud.is_linked:
            return
        if not up:
            self._lose("cloud", reason or NO_CLOUD)
        elif self._usage_account.limit is None:
            self._race.back("cloud")

    def _lose(self, side: Side, error: HocketError) -> None:
        now = time.monotonic()
        if side == "cloud":
            self._usage_account.let_go(now)
        self._do(self._race.gone(side, error, now))

    # --- time

    def _due_s(self) -> float:
        return min(self._race.due_s, self._pacer.until_s)

    def _on_time(self, now: float) -> None:
        self._do(self._race.tick(now))
        if now >= self._pacer.until_s and self._race.writer is not None:
            self._pacer.release()
            self._direct(self._race.writer, lambda each: each.write())

    # --- tokens

    def _take(self, side: Side, token: int, ranking: Ranking) -> None:
        now, is_first, opening = time.monotonic(), self._race.winner is None, self._terms.opening
        taken, actions = self._race.token(side, now)
        if not taken:
            return
        if is_first:
            self._usage_account.won(side, now)
            if opening.documents and opening.task == "answer":
                self._look(side)
            if self.closed:
                return
            self._thoughts.pass_on(side)
        finish = self._add(side, token, ranking, now)
        self._do(actions if finish is not None else together(actions, self._move(now)))
        self._hold_back(side, now)
        self._reply.publish()
        self._services.counters.add("written_total", side=self._source_of(side))
        if finish is not None:
            self._end_with(finish)

    def _add(self, side: Side, step: int, ranking: Ranking, now: float) -> Finish | None:
        """Add a step to the answer, and its tokens to the reply; return how the answer ends, if it does."""
        trace = Trace(float(side == "device"), self._own.part(len(self._answer)))
        before, finish = len(self._reply.tokens), None
        for token in self._tokens([step]):
            finish = self._reply.add(token, self._source_of(side), ranking, partial(shares_of, trace))
            if finish is not None:
                break
        self._answer.add(side, step, len(self._reply.tokens) - before, now)
        return finish

    def _look(self, writer: Side) -> None:
        """Check whether the side that begins, or any side, has read anything about the question."""
        own, cloud, minimum = self._own.found, self._cloud, self._terms.min_evidence
        found = found_by(writer, own, cloud)
        if line := doubt_of_both(own, cloud, minimum, self._terms.opening.prompt):
            self._doubt(line, begun=False)
        elif found:
            self._doubt(doubt(found, minimum), begun=True)
        elif found is not None:
            self._notify(MODELS_OWN)

    def _hold_back(self, writer: Side, now: float) -> None:
        """Keep the writer just ahead of the reader while the answer moves; a server cannot pause."""
        cloud = self._cloud
        if self._race.moving is None or self._race.writer != writer or cloud is None or not cloud.stands:
            return
        if self._pacer.pull(self._answer.tokens, self._answer.first_s, now, cloud.rtt_s):
            self._direct(writer, lambda each: each.pause())

    def _source_of(self, side: Side) -> Side:
        """Return the side to name as the source: a cloud that was asked itself writes as the cloud."""
        own = self._services.side
        return own if side == "device" else other(own)

    def _move(self, now: float) -> list[Action]:
        """Move the answer, if it pays and is allowed."""
        if self._race.moving is not None:
            return []
        target = self._migration_policy.target(self._answer.position(now))
        if target is None or not self._may_move(target):
            return []
        waits = self._migration_policy.waits or (
            target == "cloud" and self._cloud is not None and not self._cloud.stands
        )
        return self._race.move(target, now, waits=waits)

    def _may_move(self, target: Side) -> bool:
        """Tell whether the budget allows a move, and nobody may gain by it.

        A cloud that begins a sentence and gives way would hear how the device ends it: it does not get the answer back.
        Nor does it where the bits of the device's words are counted, as those of this answer are not.
        """
        if target == "cloud" and self._services.account is not None:
            return False
        writer = self._own if target == "device" else self._cloud
        if writer is not None and not writer.continues:
            return False
        if target == "cloud" and self._answer.is_of("cloud") and not self._terms.trusts:
            return False
        return self._usage_account.may_read(target, self._to_read(target))

    def _to_read(self, side: Side) -> int:
        """Return the tokens that a side has to read before it can go on."""
        has_read = self._own.has_read if side == "device" else self._cloud is not None and self._cloud.has_read
        return self._answer.tokens + (0 if has_read else self._usage_account.prompt_of(side))

    # --- actions

    def _do(self, actions: Sequence[Action]) -> None:
        """Carry out what the race decided; after the end there is nothing left to do."""
        for action in actions:
            if self.closed or self._written is not None:
                return
            match action:
                case Begin(side):
                    self._usage_account.began(side, time.monotonic())
                    self._direct(side, lambda each: each.write())
                case StandBy(side):
                    self._direct(side, lambda each: each.stand())
                case Write(side):
                    self._pacer.release()
                    self._answer.hand_over()
                    self._direct(side, lambda each: each.write())
                case Hold(side):
                    self._direct(side, lambda each: each.hold())
                case Notify(text):
                    self._notify(text)
                case Fail(error):
                    self.fail(error)

    def _notify(self, text: str) -> None:
        if text:
            self._usage_account.notices.append(text)
            self._reply.notice(text)

    def _direct(self, side: Side, what: Callable[[AnswerWriter], None]) -> None:
        """Have a side do this after all tokens so far."""
        writer: AnswerWriter | None = self._own if side == "device" else self._cloud
        if writer is None:
            return
        try:
            what(writer)
        except Unavailable as error:  # or Forbidden
            self._lose(side, error)

    # --- the end

    def _end_with(self, finish: Finish) -> None:
        """End the session of a written answer; where the cloud wrote any of it, it may still report its sources."""
        cloud = self._cloud
        wrote = self._answer.is_of("cloud")
        owes = cloud is not None and cloud.opened and not cloud.has_reported_all and self._race.may_write("cloud")
        if cloud is None or not cloud.is_linked or cloud.obstacle is not None or not (wrote or owes):
            self._conclude(finish)
            return
        self._await_sources(finish, time.monotonic() + cloud.rtt_s + (SOURCES_WAIT_S if wrote else WORK_WAIT_S))
        self._own.end(finish)
        try:
            cloud.end(finish)
        except Unavailable:
            self._conclude(finish)

    def _result(self) -> tuple[Outcome, Sourced, int]:
        peer_sources = self._cloud.peer_sources if self._cloud is not None else None
        sources = self._answer.sources(self._services.side, self._own, peer_sources)
        return self._answer.outcome(), sources, self._own.work.prompt

    def _readers(self) -> list[str]:
        cloud, server = self._cloud, self._services.server
        if cloud is None or not self._answer.ends_with("cloud"):
            server = self._services.reader
        elif cloud.is_linked:
            return [CLOUD]
        return [server.place] if server is not None else []

    def _close(self, reason: str, *, whole: bool) -> None:
        self._own.end(reason)
        if self._cloud is not None and self._written is None:
            with suppress(Unavailable):
                self._cloud.end(reason)
        self._usage_account.close(
            self._usage_account.tokens_of(self._own, self._cloud), self._answer.tokens if whole else None
        )

    def record(self) -> Facts:
        """Return the record for `hocket explain`."""
        return {
            **question_of(self._reply.ask),
            "ended": self._reply.finished,
            "tokens": len(self._reply.tokens),
            "sessions": [self.id.hex()],
            **self._usage_account.facts(self._own, self._cloud, self._answer.migrations),
            "times_s": {
                "search": self._own.work.retrieval_s,
                "prefill": self._own.work.prefill_s,
                "first token": self._reply.times_s[0] if self._reply.times_s else None,
                "all": self._reply.age_s,
            },
        }
