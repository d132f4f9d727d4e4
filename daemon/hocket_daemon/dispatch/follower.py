"""The cloud's part in a device's question: it reads, and writes when it is its turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Literal

from hocket_bus.errors import BadMessage, HocketError, Unavailable
from hocket_bus.messages import (
    MAX_THOUGHT_CHARS,
    Dispatch,
    End,
    Finish,
    Hold,
    Message,
    Ranked,
    Reasoning,
    Side,
    Target,
    WriterStatus,
)

from ..engine.runtime.drafts_of import text_of
from ..engine.sampling.ranking import UNRANKED, Ranking
from ..engine.text.words import END, number_of
from ..serving.mode import Facts, Peer
from ..serving.records.sources import Trace, sources_message
from ..serving.search.evidence import nearest
from ..serving.search.follow_up import search_text
from ..serving.search.gatherer import MAX_NOTICES
from ..serving.search.retrieval import NO_PASSAGES
from ..serving.services import Services
from ..serving.sessions.following import Following
from ..serving.stream.prefix import PrefixChain
from ..serving.stream.support import lacking
from ..serving.stream.targets import targets_of
from .writers.own_writer import own_writer


class Follower(Following):
    """The follower in a device's session, until the device ends it, or is silent for too long."""

    def __init__(self, services: Services, opening: Dispatch, peer: Peer, on_first: Callable[[], None]) -> None:
        """Prepare the session; `on_first` is called at the first token of an answer that begins here."""
        super().__init__(services, opening.session, peer)
        self._opening = opening
        self._chain = PrefixChain(opening.session, opening.sampling.seed)
        self._on_first = on_first
        self._targets = targets_of(opening.unit, services.model.vocabulary)
        question = search_text(opening.prompt)
        find = self._find(question, opening.documents, scorer="", escalates=opening.escalates)
        self._writer = own_writer(services, opening, self._chain, self, "cloud", find=find)

    @property
    def has_read(self) -> bool:
        """Tell whether this side has read its prompt."""
        return self._writer.has_read

    @property
    def leads(self) -> bool:
        """Tell whether this side writes, so that the other one need not send anything."""
        return self._opening.writer == "cloud"

    def start(self) -> None:
        """Search and read, and write where nothing is written yet."""
        self._writer.start()
        self._writer.read()
        if not self._opening.tokens:
            self._take_turn()

    # --- events

    def receive(self, message: Message) -> None:
        """Take a message of the device. Raises BadMessage for tokens that do not fit."""
        if isinstance(message, Target) and message.epoch == self._opening.epoch:
            self._on_target(message)
        elif isinstance(message, Hold) and message.epoch == self._opening.epoch:
            self._hold()

    def reopen(self, opening: Message, peer: Peer) -> None:
        """Handle that the device is back, perhaps by another route, or has changed who writes."""
        if isinstance(opening, Dispatch) and opening.epoch > self._opening.epoch:
            self._opening, self._peer = opening, peer
            self._writer.pause()
            if not opening.tokens:
                self._chain.cut(0)
                self._take_turn()

    def on_read(self, side: Side) -> None:  # noqa: ARG002 - this side's
        """Tell the device how long the prompt is, and how long it took."""
        self._report("read", 0)

    def on_writer_status(self, side: Side) -> None:  # noqa: ARG002
        """Tell the device that this side could write."""
        self._report("stands", len(self._chain))

    def on_thought(self, side: Side, text: str) -> None:  # noqa: ARG002
        """Send the thought to the device, whose reader may see it."""
        for at in range(0, len(text), MAX_THOUGHT_CHARS):
            part = text[at : at + MAX_THOUGHT_CHARS]
            self._peer.send(Reasoning(session=self.id, epoch=self._opening.epoch, text=part))

    def on_token(self, side: Side, step: int, token: int, ranking: Ranking) -> None:  # noqa: ARG002
        """Send the token to the device, which alone knows whether the answer ends with it."""
        if step == 0:
            self._on_first()
        self._chain.append(token)
        self.steps += 1
        self._services.counters.add("written_total", side="cloud")
        ids, words = self._targets.pack([token])
        self._peer.send(
            Target(
                session=self.id,
                epoch=self._opening.epoch,
                first=step,
                ids=ids,
                words=words,
                digest=self._chain.digest,
                logprobs=[[Ranked(id=id, logprob=logprob) for id, logprob in ranking]] if ranking else [],
            )
        )

    def on_finished(self, side: Side, finish: Finish) -> None:  # noqa: ARG002
        """Send the token that ends answers, where no token has said so: the device knows the end by it."""
        if self._opening.eos:
            end = number_of(END) if self._opening.unit == "word" else self._opening.eos[0]
            self.on_token(side, len(self._chain), end, UNRANKED)
        else:
            self.fail(Unavailable("the cloud's text has ended"))

    def on_failed(self, side: Side, error: HocketError) -> None:  # noqa: ARG002
        """Refuse to go on, so that the device goes on without this side."""
        self.fail(error)

    # --- actions

    def _on_target(self, message: Target) -> None:
        """Take the tokens of an answer that was written somewhere else so far."""
        if message.first > 0:
            raise BadMessage("tokens that do not start at the beginning")
        steps = self._targets.read(message)
        if len(steps) >= self._opening.sampling.max_tokens:
            raise BadMessage("an answer of the maximum length already")
        self._chain.cut(0)
        for step in steps:
            self._chain.append(step)
        if self._chain.digest != message.digest or len(self._chain) != self._opening.tokens:
            raise BadMessage("tokens that differ from those of the opening")
        self._take_turn()

    def _take_turn(self) -> None:
        """Write after the tokens, or compute what follows them and wait."""
        if self._opening.writer == "cloud":
            self._writer.write()
        else:
            self._writer.stand()

    def _hold(self) -> None:
        self._writer.hold()
        self._report("held", len(self._chain))

    def _report(self, state: Literal["read", "stands", "held"], tokens: int) -> None:
        writer, found = self._writer, self._writer.found or NO_PASSAGES
        self._peer.send(
            WriterStatus(
                session=self.id,
                epoch=self._opening.epoch,
                state=state,
                tokens=tokens,
                documents=len(found.passages),
                best=nearest(found),
                scorer=found.scorer,
                matched=self._gathered.matched[:MAX_NOTICES] if self._gathered else [],
                notices=self._services.notices(self._gathered),
                **asdict(writer.work),
            )
        )

    # --- the end

    @property
    def _epoch(self) -> int:
        return self._opening.epoch

    def end(self, message: Message) -> None:
        """Tell the device what was computed, and what this side's passages had to do with the answer."""
        if isinstance(message, End) and not self.closed:
            self._hold()
            passages, traces = self._writer.passages, self._traces(message.tokens)
            lacks = lacking(text_of(self._services.model, self._opening.unit), self._opening.prompt, passages)
            side = self._services.side
            self._peer.send(sources_message(self.id, self._chain, passages, traces, lacks, side=side))
        self.close()

    def _traces(self, tokens: int) -> list[Trace]:
        tokens = min(tokens, len(self._chain))
        return [Trace(0.0, self._writer.part(step)) for step in range(tokens)]

    def _free(self) -> None:
        self._writer.end(self._ended)

    def record(self) -> Facts:
        """Return the record for `hocket explain`, without the question or a passage's text."""
        return {
            "ended": self._ended,
            "tokens": self.steps,
            "work": asdict(self._writer.work),
            "times_s": {"all": self.age_s},
        }
