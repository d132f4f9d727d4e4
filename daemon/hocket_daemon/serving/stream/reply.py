"""The reader's end of one question: text and tokens out, as numbered events of a stream with one end.

A Reply is passed to a mode and may be handed on: to the same mode begun anew, to another mode, to another producer.
Its Stream sends as far as the reader has credit, and keeps what was sent so that the reader can resume.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from hocket_bus.errors import DeadlineExceeded, HocketError
from hocket_bus.faults import failed, notice_text
from hocket_bus.messages import (
    MAX_REASONING_CHARS,
    MAX_THOUGHT_CHARS,
    Ask,
    Done,
    Failed,
    Finish,
    Logprob,
    Message,
    Notice,
    Origin,
    Outcome,
    Ready,
    Routing,
    Source,
    Span,
    Thought,
    Token,
    Waiting,
    WriterStatus,
)

from ...engine.language_model import LanguageModel
from ...engine.sampling.ranking import UNRANKED, Ranking
from ...engine.text.detokenizer import MAX_CHARACTERS, Detokenizer, Transcript
from ...monitoring.counters import Counters
from .answer_kind import lacking_kind
from .routing import Notices, Route
from .support import UNFOUNDED, agreed, is_unfounded, unsupported

Publish = Callable[[bytes, Message], None]
_ALL = 1 << 40  # events: who reads them here is never behind


class Stream:
    """The events of one request, from sequence number 0 to Done or Failed.

    A reader without credit stalls nobody: what it may not get yet waits in the log. When that is full, the oldest
    events go.
    """

    def __init__(
        self,
        ask: Ask,
        route: bytes,
        user: str,
        publish: Publish,
        log_bytes: int,
        *,
        ended: Callable[[Stream], None] = lambda _: None,
    ) -> None:
        """Open the stream; `route` is where the client's last message came from, and only `user` may touch the stream.

        `ended` gets the stream after its last event.
        """
        self.request = ask.request
        self.topic = ask.topic
        self.route = route
        self.user = user
        self.started_s = time.monotonic()
        self.ended_s: float | None = None
        self.seq = 0  # of the next event
        self.first = 0  # of the oldest event that is kept
        self._publish = publish
        self._on_ended = ended
        self._window = self._granted = ask.window
        self._published = 0
        self._log: deque[Message] = deque()
        self._log_bytes = self._free_bytes = log_bytes

    @property
    def held_bytes(self) -> int:
        """The size of the stored events, in bytes."""
        return self._log_bytes - self._free_bytes

    @property
    def age_s(self) -> float:
        """Seconds since the request arrived."""
        return time.monotonic() - self.started_s

    def token(
        self,
        *,
        step: int,
        token: int,
        text: str,
        source: Source,
        logprobs: Sequence[Logprob] = (),
        places: Sequence[Origin] = (),
        shares: Sequence[float] = (),
    ) -> float:
        """Publish a token; return its time in seconds since the request."""
        self._emit(
            Token(
                request=self.request,
                seq=self.seq,
                step=step,
                id=token,
                text=text,
                source=source,
                t_s=(t_s := self.age_s),
                logprobs=list(logprobs),
                places=list(places),
                shares=list(shares),
            )
        )
        return t_s

    def notice(self, text: str) -> None:
        """Publish something that the reader should know."""
        self._emit(Notice(request=self.request, seq=self.seq, text=text))

    def waiting(self, party: str, read: float, left_s: float) -> None:
        """Publish which party the answer waits for, how much it has read, and the seconds left."""
        self._emit(Waiting(request=self.request, seq=self.seq, party=party, read=read, left_s=left_s))

    def thought(self, text: str) -> None:
        """Publish a part of the reasoning that precedes the answer."""
        self._emit(Thought(request=self.request, seq=self.seq, text=text, t_s=self.age_s))

    def end(self, event: Done | Failed) -> None:
        """Publish the last event."""
        self.ended_s = time.monotonic()
        self._emit(event)
        self._on_ended(self)

    def grant(self, seq: int) -> bool:
        """Go on publishing, as the reader has read everything below `seq`.

        False if the next event is not stored any more.
        """
        self._granted = max(self._granted, min(seq, self.seq) + self._window)
        return self._flush()

    def resume(self, seq: int) -> bool:
        """Publish again from `seq` on. False if that event is not stored any more."""
        self._published = min(seq, self.seq)
        return self.grant(seq)

    def _emit(self, event: Message) -> None:
        self._log.append(event)
        self.seq += 1
        self._free_bytes -= _size(event)
        while self._free_bytes < 0 and len(self._log) > 1:
            self._free_bytes += _size(self._log.popleft())
            self.first += 1
        self._flush()

    def _flush(self) -> bool:
        if self._published < self.first:
            return False
        for seq in range(self._published, min(self._granted, self.seq)):
            self._publish(self.topic, self._log[seq - self.first])
            self._published = seq + 1
        return True


def _size(event: Message) -> int:
    return len(msgspec.msgpack.encode(event))


class _Piece(NamedTuple):
    token: int
    text: str
    source: Source
    logprobs: list[Logprob]
    places: list[Origin]
    shares: list[float]


class Sourced(NamedTuple):
    """The sources of an answer by falling share, and each token's shares in their order.

    `texts` are the passages that were read here. `lacked` are the words that no passage of the other side supports:
    None where that side had no part in the answer, empty where it has not reported any.
    """

    origins: Sequence[Origin] = ()
    by_token: Sequence[list[float]] = ()
    texts: Sequence[str] = ()
    lacked: Sequence[Span] | None = None


UNSOURCED = Sourced()


def unshared(_: int) -> list[float]:
    """Return the shares of a token of which nothing is known: none."""
    return []


class Reply:
    """The answer to a question.

    Tokens go in with `add` and out with `publish`; in between a mode can do urgent work.
    """

    def __init__(
        self,
        ask: Ask,
        stream: Stream,
        model: LanguageModel,
        eos: Sequence[int],
        counters: Counters,
    ) -> None:
        """Begin an empty answer; `model` turns ids into text, and those in `eos` end the answer and have none."""
        self.ask = ask
        self.user = stream.user  # whose question it is
        self.closed = False
        self.times_s: list[float] = []  # of every token published, since the question came
        self.finished = ""  # how it ended: a finish, or an error's code
        self.route: Route | None = None  # where a way was chosen for it
        self.routing: Routing | None = None  # the same at the end
        self._stream = stream
        self._counters = counters
        self._model, self._eos = model, frozenset(eos)
        detokenizer = Detokenizer(model.text, ask.stop, strip=ask.task == "answer")
        self._transcript = Transcript(detokenizer, self._eos, ask.sampling.max_tokens)
        self._waiting: list[_Piece] = []
        self._latest_notice = ""
        self._places: list[Origin] = []  # of the passages that were read here
        self._reasoning = ""  # what was thought before the answer
        self._notices = Notices()

    @property
    def request(self) -> bytes:
        """The question's number."""
        return self.ask.request

    @property
    def tokens(self) -> list[int]:
        """The ids of the answer so far."""
        return self._transcript.ids

    @property
    def deadline_s(self) -> float:
        """The time at which the reader stops waiting, on the monotonic clock."""
        return self._stream.started_s + self.ask.deadline_s

    @property
    def age_s(self) -> float:
        """Seconds since the question came."""
        return self._stream.age_s

    def read(self, places: Sequence[Origin], notices: Sequence[str] = ()) -> None:
        """Take the places of the passages read here, before the first token, and pass notices to the reader."""
        for line in notices:
            self.notice(line)
        if not self.tokens:
            self._places = list(places)

    def add(
        self, token: int, source: Source, ranking: Ranking = UNRANKED, shares: Callable[[int], list[float]] = unshared
    ) -> Finish | None:
        """Add the next token of the answer and its probability; return the finish reason if this token ends it.

        `shares` gets the number of reported places, and returns their shares and that of what is elsewhere.
        """
        places = self._places if self.ask.shares and not self.tokens else []
        logprobs = [Logprob(id=id, piece=self._model.piece(id), logprob=value) for id, value in ranking]
        text = self._transcript.add(token)
        told = shares(len(self._places)) if self.ask.shares else []
        self._waiting.append(_Piece(token, text, source, [] if token in self._eos else logprobs, places, told))
        return self._transcript.finish

    def withhold(self, ids: Sequence[int]) -> Finish | None:
        """Answer with `ids` instead; return the finish reason if one of them ends the answer, as its length may."""
        finishes = (self.add(token, "solo") for token in ids)
        return next((finish for finish in finishes if finish is not None), None)

    def publish(self) -> None:
        """Publish the tokens that were added."""
        first = len(self.times_s)
        for step, piece in enumerate(self._waiting, start=first):
            self.times_s.append(self._stream.token(step=step, **piece._asdict()))
        self._waiting.clear()

    def text_of(self, ids: Sequence[int]) -> str:
        """Return the text of tokens of the answer, of which the one that ends it has none."""
        return b"".join(self._model.piece(id) for id in ids if id not in self._eos).decode(errors="replace")

    def think(self, text: str) -> None:
        """Publish a part of the reasoning that precedes the answer; what is too long is left out."""
        text = "" if self.closed else text[: MAX_REASONING_CHARS - len(self._reasoning)]
        self._reasoning += text
        for at in range(0, len(text), MAX_THOUGHT_CHARS):
            self._stream.thought(text[at : at + MAX_THOUGHT_CHARS])

    def forget_thoughts(self) -> None:
        """Forget the reasoning so far: it was not that of the party that writes the answer."""
        self._reasoning = ""

    def wait_for(self, party: str, read: float, left_s: float) -> None:
        """Tell the reader that the answer waits for `party`, which has read so much of its prompt, in [0, 1]."""
        if not self.closed:
            self._stream.waiting(party, read, left_s)

    def notice(self, text: str) -> None:
        """Tell the reader something, but not twice in a row; the answer goes on."""
        if not self.closed and text != self._latest_notice:
            self._latest_notice = text
            self._stream.notice(notice_text(text))

    def news(self, ready: Ready | WriterStatus) -> list[str]:
        """Return the other side's new notices; devices that it matched are added to the route, if there is one."""
        if self.route is not None:
            self.route.found(ready.matched)
        return self._notices.new(ready.notices)

    def finish(
        self, finish: Finish, outcome: Outcome | None, sourced: Sourced = UNSOURCED, prompt_tokens: int = 0
    ) -> Done | None:
        """End the stream with its result; `outcome` is the mode's own account. Return None where it has ended before.

        `prompt_tokens` were read for it on this side.
        """
        if self.closed:
            return None
        self.publish()
        words = self._unsupported(finish, sourced)
        if self.ask.unknown != "answer" and is_unfounded(self._transcript.text, words):
            self.notice(UNFOUNDED)
        if lack := self._lacks(finish, sourced):
            self.notice(lack)
        self._counters.answered(finish, self.times_s[0] if self.times_s else None)
        self._end(finish)
        if self.route is not None:
            self.routing = self.route.routing(outcome)
            self._counters.add("ways_total", way=self.routing.way)
        done = Done(
            request=self.request,
            seq=self._stream.seq,
            finish=finish,
            token_ids=self.tokens,
            text=self._transcript.text,
            ttft_s=self.times_s[0] if self.times_s else self.age_s,
            ms_per_token=_mean_gap_ms(self.times_s),
            mode=self.ask.mode,
            seed=self.ask.sampling.seed,
            outcome=outcome,
            sources=list(sourced.origins),
            token_sources=list(sourced.by_token),
            routing=self.routing,
            unsupported=words,
            prompt_tokens=prompt_tokens,
            reasoning=self._reasoning[: max(0, MAX_CHARACTERS - len(self._transcript.text))],
        )
        self._stream.end(done)
        return done

    def part(self, ask: Ask, publish: Publish) -> Reply:
        """Return the reply to a part of the question; its events go to `publish`, and nothing of it is counted."""
        stream = Stream(replace(ask, window=_ALL), b"", self.user, publish, 0)
        return Reply(ask, stream, self._model, sorted(self._eos), Counters())

    def pass_on(self, token: Token, before: str) -> None:
        """Publish a token of a part, with the text `before` it."""
        at_s = self._stream.token(
            step=len(self.times_s), token=token.id, text=before + token.text, source=token.source,
            logprobs=token.logprobs,
        )  # fmt: skip
        self.times_s.append(at_s)

    def end_as(self, done: Done) -> None:
        """End the stream with the result of its parts, put together; its times are replaced by those of the whole."""
        if self.closed:
            return
        self._counters.answered(done.finish, self.times_s[0] if self.times_s else None)
        if done.routing is not None:
            self._counters.add("ways_total", way=done.routing.way)
        self._end(done.finish)
        times = {"ttft_s": self.times_s[0] if self.times_s else self.age_s, "ms_per_token": _mean_gap_ms(self.times_s)}
        self._stream.end(replace(done, request=self.request, seq=self._stream.seq, **times))

    def fail(self, error: HocketError) -> None:
        """End the stream with an error."""
        if self.closed:
            return
        self.publish()
        self._counters.add("errors_total", kind=error.code)
        self._end(error.code)
        self._stream.end(failed(error, self.request, self._stream.seq))

    def _unsupported(self, finish: Finish, sourced: Sourced) -> list[Span]:
        """Return the unsupported words; none without sources. A cut answer's last word is not judged."""
        text = self._transcript.text
        if self.ask.task != "answer" or not sourced.origins:
            return []
        found = agreed(unsupported(text, self.ask.prompt, sourced.texts), sourced.lacked)
        return [span for span in found if span.end < len(text) or finish == "eos"]

    def _lacks(self, finish: Finish, sourced: Sourced) -> str:
        """Return what a whole answer from documents lacks that was asked for, as a line; empty where nothing does."""
        is_whole = finish == "eos" and self.ask.task == "answer" and not self.ask.sampling.grammar
        if not (is_whole and sourced.origins) or self.ask.unknown == "answer":
            return ""
        return lacking_kind(self.ask.prompt.query, self._transcript.text)

    def _end(self, finished: str) -> None:
        self.closed, self.finished = True, finished


def _mean_gap_ms(times_s: list[float]) -> float:
    return (times_s[-1] - times_s[0]) / (len(times_s) - 1) * 1000 if len(times_s) > 1 else 0.0


def late(ask: Ask) -> DeadlineExceeded:
    """Return the error with which a question ends that is not answered in time."""
    return DeadlineExceeded(f"no answer within {ask.deadline_s:g} s", "allow more time, or ask for less")
