"""The cloud's writer as its device sees it: directed by messages, read from messages, and counted by its reports."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hocket_bus.errors import BadMessage, HocketError, Unavailable
from hocket_bus.faults import raised
from hocket_bus.messages import Dispatch, End, Hold, Message, Reasoning, Refused, Side, Sources, Target, WriterStatus

from ...engine.sampling.ranking import UNRANKED, Ranking
from ...serving.mode import Peer
from ...serving.records.sources import PeerSources, peer_sources
from ...serving.stream.prefix import PrefixChain
from ...serving.stream.targets import ANOTHER_TOKENIZER, Targets
from .work import Work
from .writers import WritingSession

NO_CLOUD = Unavailable("the cloud is not connected", "check that its daemon is running")
WORK_WAIT_S = 0.1  # what the cloud gets, beyond a round trip, to say what it has computed where it wrote nothing


class RemoteWriter:
    """The writer of a cloud: each order to stand or write opens its session, the first time or under a new epoch.

    A cloud that has forgotten the session, or was started anew, so begins it from what it is told.
    """

    def __init__(
        self, peer: Peer, opening: Dispatch, chain: PrefixChain, session: WritingSession, targets: Targets
    ) -> None:
        """Create it; `chain` holds the answer's steps for the session. Orders raise what the peer's `send` raises."""
        self.opened = False
        self.is_linked = self.stands = self.continues = True
        self.peer_sources: PeerSources | None = None
        self.writer_status: WriterStatus | None = None  # what it said last of itself
        self._peer = peer
        self._opening = opening
        self._chain = chain
        self._session = session
        self._targets = targets
        self._before = Work()  # by clouds that were started anew since

    @property
    def obstacle(self) -> HocketError | None:
        """The reason why the cloud cannot be reached now; None where it can."""
        if not self._peer.up:
            return self._peer.reason or NO_CLOUD
        unlike = self._opening.unit == "token" and self._peer.tokenizer not in ("", self._opening.tokenizer)
        return Unavailable(*ANOTHER_TOKENIZER) if unlike else None

    @property
    def rtt_s(self) -> float:
        """The round trip of the link."""
        return self._peer.rtt_s

    @property
    def epoch(self) -> int:
        """The epoch of the last opening."""
        return self._opening.epoch

    @property
    def has_read(self) -> bool:
        """Tell whether the cloud has read its prompt, by its own report."""
        return self.writer_status is not None

    @property
    def has_reported_all(self) -> bool:
        """Tell whether the cloud has reported what it computed since it was last told anything but to write."""
        latest = self.writer_status
        return latest is not None and latest.state == "held" and latest.epoch == self.epoch

    @property
    def work(self) -> Work:
        """The work that the cloud has reported."""
        before, latest = self._before, self.writer_status
        if latest is None:
            return before
        return Work(
            prompt=latest.prompt,
            prefilled=before.prefilled + latest.prefilled,
            decoded=before.decoded + latest.decoded,
            late=before.late + latest.late,
            retrieval_s=latest.retrieval_s,
            prefill_s=latest.prefill_s,
        )

    # --- what it is told

    def stand(self) -> None:
        """Read all tokens so far, and wait."""
        self._open("device")

    def write(self) -> None:
        """Go on after all tokens so far."""
        self._open("cloud")

    def pause(self) -> None:
        """Stop the cloud, which goes on as soon as it is told to write."""
        self.hold()

    def hold(self) -> None:
        """Stop; another side writes."""
        if self.opened:
            self._peer.send(Hold(session=self._opening.session, epoch=self.epoch))

    def end(self, reason: str) -> None:
        """End the session: the answer is there, or not wanted any more. The cloud then reports its sources."""
        if self.opened:
            self._peer.send(End(session=self._opening.session, reason=reason, tokens=len(self._chain)))

    def _open(self, writer: Side) -> None:
        if self._peer.up and (obstacle := self.obstacle) is not None:
            raise obstacle
        epoch, tokens = self.epoch + self.opened, len(self._chain)
        self._opening = msgspec.structs.replace(self._opening, epoch=epoch, writer=writer, tokens=tokens)
        self.opened = True
        self._peer.send(self._opening)
        if tokens:
            (ids, words), digest = self._targets.pack(self._chain.ids), self._chain.digest
            session = self._opening.session
            self._peer.send(Target(session=session, epoch=epoch, first=0, ids=ids, words=words, digest=digest))

    # --- what it says

    def receive(self, message: Message) -> None:
        """Take a message of the cloud about this session. Raises BadMessage."""
        if isinstance(message, Sources):
            self.peer_sources = peer_sources(message, self._chain)
        elif isinstance(message, WriterStatus):
            self._on_writer_status(message)
        elif isinstance(message, Target | Reasoning | Refused) and message.epoch != self.epoch:
            return
        elif isinstance(message, Refused):
            self._session.on_failed("cloud", raised(message))
        elif isinstance(message, Reasoning):
            self._session.on_thought("cloud", message.text)
        elif isinstance(message, Target):
            self._on_target(message)

    def _on_writer_status(self, message: WriterStatus) -> None:
        if self.writer_status is not None and message.prefilled < self.writer_status.prefilled:
            self._before = self.work
        self.writer_status = message
        if message.state == "read":
            self._session.on_read("cloud")
        elif message.state == "stands" and message.epoch == self.epoch and message.tokens == self._opening.tokens:
            self._session.on_writer_status("cloud")

    def _on_target(self, message: Target) -> None:
        steps = self._targets.read(message)
        if not steps:
            raise BadMessage("a target without tokens")
        if message.logprobs and len(message.logprobs) != len(steps):
            raise BadMessage("log-probabilities of other tokens")
        told = [[(each.id, each.logprob) for each in token] for token in message.logprobs]
        rankings: Sequence[Ranking] = told or [UNRANKED] * len(steps)
        for step, (token, ranking) in enumerate(zip(steps, rankings, strict=True), start=message.first):
            self._session.on_token("cloud", step, token, ranking)
