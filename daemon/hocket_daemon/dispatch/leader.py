"""The life of a dispatched question on the side that was asked: it carries out what the race decides.

Every event is handled in one shape: take the token, have the sides compute, publish, end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from hocket_bus.errors import BadMessage, HocketError, Unavailable
from hocket_bus.messages import Finish, Message, Outcome, Side, Sources, Standing, other

from ..engine.runtime.sequences import measure
from ..serving.leading import Leading
from ..serving.mode import Facts
from ..serving.prefix import PrefixChain
from ..serving.reply import Reply, Sourced
from ..serving.services import Services
from ..serving.sources import SOURCES_WAIT_S
from .answer import Answer
from .evidence import told_of
from .far import CloudWriter
from .pacer import Pacer
from .race import SIDES, Action, Begin, Fail, Hold, Race, Stand, Tell, Write, together
from .remote import NO_CLOUD, WORK_WAIT_S
from .strategy import Strategy
from .terms import Terms, options_of
from .writer import Writer


class Leader(Leading):
    """Publishes every token of whoever writes, and books what both sides computed."""

    def __init__(self, services: Services, reply: Reply, terms: Terms, strategy: Strategy) -> None:
        super().__init__(services, reply)
        opening = terms.opening
        self._terms = terms
        self._began_s = time.monotonic()
        chain = PrefixChain(opening.session, opening.sampling.seed)
        self._answer = Answer(chain, terms.pace)
        self._books = strategy.books(terms, self._began_s)
        self._writer = Writer(services, opening, self)
        self._far = terms.far(chain, self) if terms.far is not None else None
        self._race = Race(SIDES if self._far is not None else ("device",))
        self._mover = strategy.mover(terms, self._to_read)
        self._pacer = Pacer(options_of(reply.ask).pace)

    @property
    def id(self) -> bytes:
        """The session's number."""
        return self._terms.opening.session

    def start(self) -> None:
        """Search; a cloud that is to start however long the prompt is starts at once."""
        obstacle = (self._far.obstacle or self._books.limit) if self._far is not None else None
        if obstacle is not None:
            self._do(self._race.gone("cloud", obstacle, self._began_s))
        elif self._books.cloud_starts_at_once:
            self._do(self._race.start(self._began_s, {"cloud": self._began_s}))
        self._writer.start()

    # --- the device's writer

    def on_found(self) -> None:
        """How long the prompt is, is known: decide when each side begins."""
        texts, opening = [passage.text for passage in self._writer.passages], self._terms.opening
        prompt, missing = measure(self._services.voice, opening.question, texts, task=opening.task)
        starts_s = self._books.decide(prompt, missing)
        if self._far is None:
            starts_s = {"device": self._began_s}  # there is nobody to wait for
        self._do(self._race.start(time.monotonic(), starts_s))

    def on_read(self) -> None:
        """It goes on by itself."""

    def on_standing(self, tokens: int) -> None:  # noqa: ARG002 - every owner of a writer is told
        """The device could write."""
        self._do(self._race.standing("device", time.monotonic()))

    def on_token(self, step: int, token: int) -> None:
        """The device's next token."""
        self._take("device", step, token)

    def on_failed(self, error: HocketError) -> None:
        """The device cannot go on."""
        self._do(self._race.gone("device", error, time.monotonic()))

    # --- the cloud's

    def receive(self, message: Message) -> None:
        """A message of the cloud. Raises BadMessage for one that cannot be, and goes on without the cloud."""
        if self.closed or self._far is None:
            return
        try:
            self._far.receive(message)
        except BadMessage as error:
            self._lose_cloud(error)
            raise
        if isinstance(message, Sources) and self._written is not None:
            self._conclude(self._written)

    def on_cloud_read(self, standing: Standing) -> None:
        """How long its prompt is bounds what later ones are taken to be."""
        self._terms.cloud_prompts.append(standing.prompt)

    def on_cloud_standing(self) -> None:
        """The cloud could write."""
        self._do(self._race.standing("cloud", time.monotonic()))

    def on_cloud_token(self, step: int, token: int) -> None:
        """The cloud's next token; what it says while another one writes is nobody's."""
        if self._race.writer == "device" or self._written is not None:
            return
        if step != len(self._answer) or token >= self._services.voice.vocabulary:
            raise BadMessage("a token that cannot be the next one")
        self._take("cloud", step, token)

    def on_cloud_failed(self, error: HocketError) -> None:
        """It cannot take part; where it only stands by it is asked again when it is needed."""
        if self._race.writer in (None, "cloud") or self._race.moving == "cloud":
            self._lose_cloud(error)

    def on_cloud_finished(self, finish: Finish) -> None:
        """Its text has ended, with a token that stands for that where there is one."""
        eos = self._terms.opening.eos
        if self._race.writer is None:
            self._lose_cloud(Unavailable("the cloud wrote nothing"))
        elif self._race.writer == "cloud" and finish == "eos" and eos:
            self._take("cloud", len(self._answer), eos[0])
        elif self._race.writer == "cloud" and self._written is None:
            self._end_with(finish)

    def _on_peer(self, up: bool, reason: HocketError | None) -> None:
        if self._far is None or not self._far.is_linked:
            return
        if not up:
            self._lose_cloud(reason or NO_CLOUD)
        elif self._books.limit is None:
            self._race.back("cloud")

    def _lose_cloud(self, error: HocketError) -> None:
        now = time.monotonic()
        self._books.let_go(now)
        self._do(self._race.gone("cloud", error, now))

    # --- time

    def _due_s(self) -> float:
        return min(self._race.due_s, self._pacer.until_s)

    def _on_time(self, now: float) -> None:
        self._do(self._race.tick(now))
        if now >= self._pacer.until_s and self._race.writer is not None:
            self._pacer.release()
            self._have(self._race.writer, Writer.write, lambda far: far.write())

    # --- tokens

    def _take(self, side: Side, step: int, token: int) -> None:
        if self.closed or self._written is not None:
            return
        now, is_first, opening = time.monotonic(), self._race.winner is None, self._terms.opening
        taken, actions = self._race.token(side, now)
        if not taken:
            return
        assert step == len(self._answer), "a side writes behind all tokens that there are"
        if is_first:
            self._books.won(side, now)
            if opening.documents and opening.task == "answer":
                self._tell(told_of(side, self._writer.found, self._far, self._terms.min_evidence))
        self._answer.add(side, token, now)
        finish = self._reply.add(token, self._source_of(side))
        self._do(actions if finish is not None else together(actions, self._move(now)))
        self._hold_back(side, now)
        self._reply.publish()
        self._services.counters.add("written_total", side=self._source_of(side))
        if finish is not None:
            self._end_with(finish)

    def _hold_back(self, writer: Side, now: float) -> None:
        """While the answer is on its way the writer stays just ahead of the reader; a server cannot pause."""
        far = self._far
        if self._race.moving is None or self._race.writer != writer or far is None or not far.stands:
            return
        if self._pacer.pull(len(self._answer), self._answer.first_s, now, far.rtt_s):
            self._hold(writer, pause=True)

    def _source_of(self, side: Side) -> Side:
        """A cloud that was asked itself writes as the cloud."""
        own = self._services.side
        return own if side == "device" else other(own)

    def _move(self, now: float) -> list[Action]:
        """Have the answer move, if it pays and may."""
        if self._race.moving is not None:
            return []
        target = self._mover.target(self._answer.position(now))
        if target is None or not self._may_move(target):
            return []
        waits = self._mover.waits or (target == "cloud" and self._far is not None and not self._far.stands)
        return self._race.move(target, now, waits=waits)

    def _may_move(self, target: Side) -> bool:
        """Whether the budget allows it, and nobody may gain by it.

        A cloud that begins a sentence and gives way would hear how the device ends it: it does not get it back.
        """
        if target == "cloud" and self._far is not None and not self._far.continues:
            return False
        if target == "cloud" and self._answer.is_of("cloud") and not self._terms.trusts:
            return False
        return self._books.may_read(target, self._to_read(target))

    def _to_read(self, side: Side) -> int:
        """Tokens that a side has to read before it can go on."""
        has_read = self._writer.has_read if side == "device" else self._far is not None and self._far.has_read
        return len(self._answer) + (0 if has_read else self._books.prompt_of(side))

    # --- actions

    def _do(self, actions: Sequence[Action]) -> None:
        """Carry out what the race decided; behind the end there is nothing left to do."""
        for action in actions:
            if self.closed or self._written is not None:
                return
            match action:
                case Begin(side):
                    self._books.began(side, time.monotonic())
                    self._have(side, Writer.write, lambda far: far.write())
                case Stand(side):
                    self._have(side, Writer.stand, lambda far: far.stand())
                case Write(side):
                    self._pacer.release()
                    self._answer.hand_over()
                    self._have(side, Writer.write, lambda far: far.write())
                case Hold(side):
                    self._hold(side)
                case Tell(text):
                    self._tell(text)
                case Fail(error):
                    self.fail(error)

    def _tell(self, text: str) -> None:
        if text:
            self._books.told.append(text)
            self._reply.notice(text)

    def _have(self, side: Side, own: Callable[[Writer, list[int]], None], far: Callable[[CloudWriter], None]) -> None:
        """Have a side do this behind all tokens that there are."""
        if side == "device":
            own(self._writer, self._answer.ids)
        elif self._far is not None:
            self._say(far, self._far)

    def _hold(self, side: Side, *, pause: bool = False) -> None:
        if side == "device":
            self._writer.pause() if pause else self._writer.hold()
        elif self._far is not None:
            self._say(lambda far: far.hold(), self._far)

    def _say(self, what: Callable[[CloudWriter], None], far: CloudWriter) -> None:
        try:
            what(far)
        except Unavailable as error:  # or Forbidden
            self._lose_cloud(error)

    # --- the end

    def _end_with(self, finish: Finish) -> None:
        """The answer is written; where the cloud wrote any of it, it may still tell its sources."""
        far = self._far
        wrote = self._answer.is_of("cloud")
        owes = far is not None and far.opened and not far.has_said_all and self._race.may_write("cloud")
        if far is None or not far.is_linked or far.obstacle is not None or not (wrote or owes):
            self._conclude(finish)
            return
        self._await_sources(finish, time.monotonic() + far.rtt_s + (SOURCES_WAIT_S if wrote else WORK_WAIT_S))
        self._writer.close()
        try:
            far.end(finish)
        except Unavailable:
            self._conclude(finish)

    def _result(self) -> tuple[Outcome, Sourced]:
        told = self._far.told if self._far is not None else None
        return self._answer.outcome(), self._answer.sources(self._services.side, self._writer, told)

    def _close(self, reason: str, *, whole: bool) -> None:
        self._writer.close()
        if self._far is not None and self._written is None:
            with suppress(Unavailable):
                self._far.end(reason)
        self._books.close(self._books.tokens_of(self._writer, self._far), len(self._answer) if whole else None)

    def record(self) -> Facts:
        """For `hocket explain`."""
        return {
            "question": self._reply.ask.question,
            "ended": self._reply.finished,
            "tokens": len(self._reply.tokens),
            **self._books.facts(self._writer, self._far, self._answer.migrations),
            "times_s": {
                "search": self._writer.work.retrieval_s,
                "prefill": self._writer.work.prefill_s,
                "first token": self._reply.times_s[0] if self._reply.times_s else None,
                "all": self._reply.age_s,
            },
        }
