"""The life of a question on the side that was asked: with the cloud while it is there, alone when it is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

from hocket_bus.errors import BadRequest, DeadlineExceeded, Forbidden, HocketError, ProtocolError, Unavailable
from hocket_bus.messages import (
    Aggregated,
    AggregationOptions,
    AggregationOutcome,
    Ask,
    Begin,
    Done,
    Draft,
    End,
    Failed,
    Finish,
    Message,
    Method,
    Ready,
    Refused,
    Sync,
    Target,
)

from ..engine.text import Detokenizer
from ..serving.streams import Stream
from .dialogue import Effects
from .exchange import Confirmed
from .session import Services, Session

_RETRY_S = (2.0, 30.0)
_MOST_CHARACTERS = 200_000  # of an answer, so that its Done fits into a message


@dataclass(frozen=True, slots=True)
class Cloud:
    """What an answer knows of the other side: how to send to it, how far it is, and how long to wait for it."""

    send: Callable[[Message], None]
    rtt_s: Callable[[], float]
    connect_wait_s: float
    peer_wait_s: float
    rejoin_wait_s: float


Agree = Callable[[str, Ask | None], None]
"""Remembers the scorer that both sides have, and opens an answer anew that began with others."""


class Leader(Session):
    """Publishes every target token; talks to the cloud while it can."""

    def __init__(
        self,
        services: Services,
        *,
        ask: Ask,
        begin: Begin,
        stream: Stream,
        cloud: Cloud | None,
        agree: Agree,
    ) -> None:
        super().__init__(services, begin)
        self._agree = agree
        self._ask = ask
        self._stream = stream
        self._cloud = None if (ask.options or AggregationOptions()).alone else cloud
        self._text = Detokenizer(self._decode, ask.stop, strip=ask.task == "answer")
        self._steps: list[Confirmed] = []
        self._unpublished: list[tuple[Confirmed, str]] = []  # the last of them, each with the text that it completes
        self._times_s: list[float] = []
        self._joined = False  # the cloud has been asked to take part
        self._cloud_ready: Ready | None = None
        self._agreed = False  # on what passages are scored by
        self._down: HocketError | None = None
        self._wait_until_s = float("inf")  # for the cloud: to connect, to draft, to draft again after a break
        self._rejoin_at_s = float("inf")
        self._rejoining = False
        self._retry_s = _RETRY_S[0]

    @property
    def rtt_s(self) -> float:
        """By the echo on the link to the cloud."""
        return self._cloud.rtt_s() if self._cloud is not None else 0.0

    # --- beginning

    def start(self, link_up: bool, down: HocketError | None) -> None:
        """Search; ask the cloud along when it is there, wait a little when it is not, or be alone by choice."""
        if (
            self._cloud is None
            and (self._ask.options or AggregationOptions()).require_cloud
            and self._services.side == "device"
        ):
            remedy = "set cloud in the device's configuration, or ask without --require-cloud"
            self.fail(Unavailable("this device knows no cloud", remedy))
            return
        self.search()
        if self._cloud is None:
            self.dialogue.go_alone()
        elif link_up:
            self._join()
        else:
            self._wait_until_s = time.monotonic() + self._cloud.connect_wait_s
            if down is not None:
                self.on_link_down(down)

    def on_link_up(self) -> None:
        """The cloud is connected: join it, or rejoin it at the prefix."""
        if self._cloud is None or self.closed:
            return
        if self._joined or self.dialogue.exchange.solo:
            self._joined = True
            self._rejoin()
        else:
            self._join()

    def on_link_down(self, reason: HocketError) -> None:
        """The cloud fell silent, or refuses us; while not joined yet, silence may still end in time."""
        self._down = reason
        if self._cloud is None or self.closed or self.dialogue.exchange.solo:
            return
        if self._joined or isinstance(reason, ProtocolError | Forbidden):
            self._go_alone(reason.text, reason.remedy)

    def on_ready(self) -> None:
        """Read; without documents on either side there is nothing to answer from."""
        if self.dialogue.exchange.solo:
            self._check_documents()
        elif self.begin.documents and not self.documents:
            self._stream.notice("no documents are ingested on this side: the cloud's alone decide (η = 0)")
        else:
            self._check_scorers()

    def on_static(self, reason: HocketError) -> None:
        """The reader is told, since the same question would have other tokens with a retrieval daemon that answers."""
        super().on_static(reason)
        if not self.closed:
            text = f"{reason.text}: from here on the {self._services.side}'s passages are weighed by the question alone"
            self._stream.notice(text[:2000])

    def _join(self) -> None:
        self._joined = True
        self._send_begin()
        for message in self.dialogue.kept():  # drafted while the cloud was not connected yet
            self._send(message)
        self._expect_peer()

    def _rejoin(self) -> None:
        self._rejoin_at_s = time.monotonic() + self._retry_s  # unless the cloud answers or refuses
        self._retry_s = min(_RETRY_S[1], self._retry_s * 2)
        turn = self.dialogue.rejoin()
        self._send_begin()
        self.take(turn)

    def _send_begin(self) -> None:
        self._send(msgspec.structs.replace(self.begin, epoch=self.dialogue.epoch))

    def _send(self, message: Message) -> None:
        if self._cloud is None or not self._joined:
            return
        try:
            self._cloud.send(message)
        except Forbidden as error:
            self._joined = False
            self.fail(error)

    # --- the other side

    def receive(self, message: Draft | Target | Aggregated | Sync | Ready | Refused) -> None:
        """A peer message of this session."""
        if self._cloud is None or self.closed:  # others came in one turn with the one that ended it
            return
        if isinstance(message, Refused):
            if message.epoch == self.dialogue.epoch:
                self._on_refused(message)
        elif isinstance(message, Ready):
            self._on_cloud_ready(message)
        else:
            self._on_step(message)
        self.draft_next()

    def _on_step(self, message: Draft | Target | Aggregated | Sync) -> None:
        exchange = self.dialogue.exchange
        was_solo, confirmed = exchange.solo, len(exchange.confirmed)
        try:
            turn = self.dialogue.receive(message)
        except BadRequest as error:
            self._leave_cloud("unknown token")
            self._go_alone(error.text, error.remedy)
            return
        self.take(turn)
        if was_solo and not exchange.solo:
            self._rejoining, self._rejoin_at_s = True, float("inf")
            self._expect_peer()
            self._check_scorers()
        elif not (was_solo or self._rejoining) and (len(exchange.confirmed) > confirmed or not exchange.awaits_peer()):
            self._expect_peer()  # drafts that lead nowhere are as good as none

    def _on_refused(self, refused: Refused) -> None:
        self._rejoin_at_s = time.monotonic() + refused.retry_after_s if refused.retry_after_s else float("inf")
        if not self.dialogue.exchange.solo:  # otherwise it was said before
            self._go_alone(f"the cloud cannot take part: {refused.text}", refused.remedy)

    def _on_cloud_ready(self, ready: Ready) -> None:
        self._cloud_ready = ready
        if self.begin.documents and ready.documents == 0:
            self._leave_cloud("no documents")
            self._go_alone("the cloud has no documents", "")
        else:
            self._check_scorers()

    def _check_scorers(self) -> None:
        """Relevance must mean the same on both sides; where the best scorers differ, both use one that both have."""
        ready, own = self._cloud_ready, self.passages
        if self._agreed or ready is None or self._reading is None or own is None or not own.passages:
            return
        if self.begin.weights == "off":
            return
        common = next((scorer for scorer in own.scorers if scorer in ready.scorers), None)
        if common is None:
            self.fail(Unavailable("the two sides score relevance differently", "configure the same embedder on both"))
        elif own.scorer == ready.scorer:
            self._agreed = True
            self._agree(common, None)
            if common != own.scorers[0] or common != ready.scorers[0]:
                self._stream.notice(f"the sides have different re-rankers: both score relevance by {common}")
        elif self._steps:
            self._leave_cloud("another scorer")
            self._go_alone("the cloud scores relevance in another way", "ask again")
        else:
            self._leave_cloud("another scorer")
            self.close()
            self._agree(common, self._ask)

    def _leave_cloud(self, reason: str) -> None:
        """For the rest of this answer."""
        self._send(End(session=self.begin.session, reason=reason))
        self._cloud, self._rejoin_at_s = None, float("inf")

    def _expect_peer(self) -> None:
        if self._cloud is not None:
            wait_s = self._cloud.rejoin_wait_s if self._rejoining else self._cloud.peer_wait_s
            self._wait_until_s = time.monotonic() + wait_s

    def _go_alone(self, text: str, remedy: str) -> None:
        if (self._ask.options or AggregationOptions()).require_cloud:
            self.fail(Unavailable(text, remedy or "ask without --require-cloud to let this side answer alone"))
            return
        self._wait_until_s, self._rejoining = float("inf"), False
        self._stream.notice(f"{text}{': ' + remedy if remedy else ''}; answering alone"[:2000])
        turn = self.dialogue.go_alone()
        if self.passages is None or self._check_documents():
            self.take(turn)
            self.draft_next()

    def _check_documents(self) -> bool:
        if self.begin.documents == 0 or self.documents:
            return True
        nowhere = self._cloud_ready is not None and self._cloud_ready.documents == 0
        where = "on either side" if nowhere else f"on the {self._services.side}"
        remedy = f"run: hocket ingest --side {self._services.side} PATH"
        self.fail(Unavailable(f"no documents are ingested {where}", remedy))
        return False

    # --- time

    def due_s(self) -> float:
        """When `tick` is next needed."""
        return min(self._stream.started_s + self._ask.deadline_s, self._wait_until_s, self._rejoin_at_s)

    def tick(self, now: float) -> None:
        """Act on what has not come in time."""
        if self.closed:
            return
        if self._stream.age_s >= self._ask.deadline_s:
            self.fail(
                DeadlineExceeded(f"no answer within {self._ask.deadline_s:g} s", "allow more time, or ask for less")
            )
        elif now >= self._wait_until_s:
            self._on_wait_over()
        elif now >= self._rejoin_at_s:
            self._rejoin()

    def _on_wait_over(self) -> None:
        self._wait_until_s = float("inf")
        if not self._joined:
            down = self._down or Unavailable("the cloud is not connected", "is its daemon running?")
            self._go_alone(down.text, down.remedy)
        elif self.dialogue.exchange.awaits_peer():
            self._retry_s = min(_RETRY_S[1], self._retry_s * 2)
            self._rejoin_at_s = time.monotonic() + self._retry_s
            self._go_alone("the cloud is late", "")
        else:
            self._expect_peer()

    # --- tokens out

    def take(self, turn: Effects) -> None:
        """Talk to the cloud, which waits for it, and decode on; then publish what was confirmed, and end if it ends."""
        finish: Finish | None = None
        for confirmed in turn.confirmed:
            piece, finish = self._add(confirmed)
            self._unpublished.append((confirmed, piece))
            if finish is not None:  # tokens confirmed beyond the end of the answer are nobody's business
                break
        if finish is None:
            for message in turn.send:
                self._send(message)
            self.draft_next()
        self._publish()
        if turn.confirmed and turn.confirmed[-1].source != "solo" and self._rejoining:
            self._rejoining, self._retry_s = False, _RETRY_S[0]
            self._stream.notice("the cloud is back: answering together again")
            self._expect_peer()
        if finish is not None:
            self.finish(finish)

    def _add(self, confirmed: Confirmed) -> tuple[str, Finish | None]:
        """The text that a token completes, and whether it ends the answer."""
        self._steps.append(confirmed)
        ended = confirmed.token in self.begin.eos
        last = len(self._steps) == self.begin.sampling.max_tokens or len(self._text.text) > _MOST_CHARACTERS
        piece = "" if ended else self._text.add(confirmed.token)
        if ended or (last and not self._text.stopped):
            piece += self._text.finish()
        return piece, "eos" if ended else "stop" if self._text.stopped else "length" if last else None

    def _publish(self) -> None:
        for confirmed, piece in self._unpublished:
            self._services.counts.confirmed(confirmed, self._services.side)
            t_s = self._stream.token(step=confirmed.step, token=confirmed.token, text=piece, source=confirmed.source)
            self._times_s.append(t_s)
        self._unpublished.clear()

    def finish(self, finish: Finish) -> None:
        """End the stream with its result."""
        if self.closed:
            return
        self._publish()
        expected = self.dialogue.exchange.expected
        self._services.counts.answered(finish, self._times_s[0] if self._times_s else None)
        self._end(
            Done(
                request=self._ask.request,
                seq=self._stream.seq,
                finish=finish,
                token_ids=[step.token for step in self._steps],
                text=self._text.text,
                ttft_s=self._times_s[0] if self._times_s else self._stream.age_s,
                ms_per_token=_mean_gap_ms(self._times_s),
                mode="aggregation",
                seed=self.begin.sampling.seed,
                outcome=AggregationOutcome(
                    method=self._mode(),
                    accept_device=self._share(lambda step: step.own),
                    accept_cloud=self._share(lambda step: step.remote),
                    solo_steps=[step.step for step in self._steps if step.source == "solo"],
                    drafts_device=self.drafts,
                    drafts_cloud=self.dialogue.remote_drafts,
                    expect_device=expected[0],
                    expect_cloud=expected[1],
                ),
            ),
            finish,
        )

    def fail(self, error: HocketError) -> None:
        """End the stream with an error."""
        if self.closed:
            return
        self._publish()
        self._services.counts.add("errors_total", kind=error.code)
        self._end(
            Failed(
                request=self._ask.request,
                seq=self._stream.seq,
                code=error.code,
                text=error.text[:2000],
                remedy=error.remedy[:2000],
            ),
            error.code,
        )

    def _end(self, event: Done | Failed, reason: str) -> None:
        self._stream.end(event)
        self._send(End(session=self.begin.session, reason=reason))
        self.close()

    def _mode(self) -> Method | Literal["alone"]:
        return "alone" if not any(step.source != "solo" for step in self._steps) else self.begin.method

    def _share(self, accepted: Callable[[Confirmed], bool]) -> float | None:
        joint = [step for step in self._steps if step.source != "solo"]
        return sum(accepted(step) for step in joint) / len(joint) if joint else None

    def _decode(self, ids: list[int]) -> str:
        tokenizer = self._services.model.tokenizer
        return str(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def _mean_gap_ms(times_s: list[float]) -> float:
    return (times_s[-1] - times_s[0]) / (len(times_s) - 1) * 1000 if len(times_s) > 1 else 0.0
