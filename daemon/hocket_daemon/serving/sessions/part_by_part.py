"""An answer to a question of several parts: one session after the other, and one stream.

Each part is a question of its own to both sides, with passages of its own. The law of an answer holds for each. A part
that refers to the one before it ("and what does it cost?") has that as an earlier turn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from hocket_bus.errors import HocketError
from hocket_bus.faults import raised
from hocket_bus.messages import Ask, Done, Failed, Message, Notice, Thought, Token, Turn, Waiting
from hocket_bus.messages.types import MAX_ANSWER_CHARS, MAX_TURNS

from ..mode import Facts, Session, question_of
from ..search.follow_up import has_pronoun
from ..stream.joined import BETWEEN, joined
from ..stream.reply import Reply
from ..stream.routing import Notices
from .deferred import DeferredSession

Recorded = Callable[[bytes, str, Callable[[], Facts]], None]


class PartByPart(DeferredSession):
    """A session that is another one for each part."""

    def __init__(
        self,
        ask: Ask,
        parts: Sequence[str],
        reply: Reply,
        *,
        begun: Callable[[Ask, Reply], Session],
        recorded: Recorded,
    ) -> None:
        """Begin the first part; `recorded` gets the number, the mode and the record of each."""
        super().__init__(ask, reply)
        self._parts, self._begun, self._recorded = parts, begun, recorded
        self._asked: list[Ask] = []
        self._results: list[Done] = []
        self._records: list[Facts] = []
        self._notices = Notices()
        self._error: HocketError | None = None
        self._is_cancelled = False
        self._separated = True  # the next token needs nothing before it
        self._begin_next()

    @property
    def closed(self) -> bool:
        """Tell whether the last part is over."""
        return self._closed

    def due_s(self) -> float:
        """Return the time that the part needs; now where it is over."""
        return 0.0 if self._is_between else super().due_s()

    def tick(self, now: float) -> None:
        """Begin the next part, or act on what has not come in time."""
        if self._is_between:
            self._go_on()
        else:
            super().tick(now)

    def receive(self, message: Message) -> None:
        """Pass a message on to the part in work."""
        if not self._is_between:
            super().receive(message)

    def on_peer(self, up: bool, reason: HocketError | None) -> None:
        """Report the other side's state to the part in work; the next one looks by itself when it begins."""
        if not self._is_between:
            super().on_peer(up, reason)

    def cancel(self) -> None:
        """Stop: nobody waits any more."""
        self._is_cancelled = True
        super().cancel()
        self._go_on()

    def fail(self, error: HocketError) -> None:
        """End with an error, unless the last part is written."""
        super().fail(error)
        if self._is_between and not (self._error or self._is_last()):
            self._error = error
        self._go_on()

    def record(self) -> Facts:
        """Return the question, its parts, and the sessions of all, by which what left is known.

        What was decided for a part is in its own record.
        """
        done = joined(self._results) if self._results else None
        return {
            **question_of(self._ask),
            "ended": self._reply.finished,
            "tokens": len(done.token_ids) if done is not None else 0,
            "parts": [{"ID": each.request.hex(), "question": each.prompt.query} for each in self._asked],
            "sessions": [session for record in self._records for session in record.get("sessions", [])],
        }

    @property
    def _is_between(self) -> bool:
        return not self._closed and self._inner is not None and self._inner.closed

    def _begin_next(self) -> None:
        ask, self._inner = self._next_ask(), None
        self._asked.append(ask)
        self._separated = not self._reply.times_s
        reply = self._reply.part(ask, self._on_event)
        self._become(lambda: self._begun(ask, reply))

    def _next_ask(self) -> Ask:
        """Return the question for the next part: its words, and what is left of the time and the tokens."""
        prompt, number = self._ask.prompt, len(self._asked)
        turns = list(prompt.turns)
        if number and has_pronoun(self._parts[number]):
            turns += [Turn(query=self._parts[number - 1], answer=self._results[-1].text[:MAX_ANSWER_CHARS])]
        left = self._ask.sampling.max_tokens - sum(len(done.token_ids) for done in self._results)
        return replace(
            self._ask,
            request=os.urandom(16),
            prompt=replace(prompt, query=self._parts[number], turns=turns[-MAX_TURNS:]),
            sampling=replace(self._ask.sampling, max_tokens=left),
            shares=False,  # places are told with the first token, and a later part has others
            deadline_s=max(0.0, self._ask.deadline_s - self._reply.age_s),
        )

    def _on_event(self, _: bytes, event: Message) -> None:
        match event:
            case Token():
                self._reply.pass_on(event, "" if self._separated else BETWEEN)
                self._separated = True
            case Notice():
                for line in self._notices.new([event.text]):
                    self._reply.notice(line)
            case Waiting():
                self._reply.wait_for(event.party, event.read, event.left_s)
            case Thought():
                self._reply.think(event.text)
            case Done():
                self._results.append(event)
            case Failed():
                self._error = raised(event)

    def _go_on(self) -> None:
        """Follow a part that is over by the next one, or end."""
        if not self._is_between:
            return
        assert self._inner is not None
        record = self._inner.record()
        self._records.append(record)
        self._recorded(self._asked[-1].request, self._ask.mode, lambda: record)
        if self._error is not None:
            self._reply.fail(self._error)
        elif self._is_cancelled:
            self._reply.end_as(replace(joined(self._results), finish="cancelled"))
        elif self._is_last():
            self._name_missing()
            self._reply.end_as(joined(self._results))
        else:
            self._begin_next()
            return
        self._close()

    def _is_last(self) -> bool:
        """Tell whether nothing follows the part that is over: no part, no token, or nobody who waits."""
        written = sum(len(done.token_ids) for done in self._results)
        is_cut = self._results[-1].finish in ("stop", "length")
        return is_cut or len(self._results) == len(self._parts) or written >= self._ask.sampling.max_tokens

    def _name_missing(self) -> None:
        """Name the parts without an answer."""
        for number, part in enumerate(self._parts):
            if number >= len(self._results):
                self._reply.notice(f"no room was left for this part: {part} Allow more tokens, or ask it alone.")
            elif self._results[number].finish == "unknown":
                self._reply.notice(f"nothing was found about this part: {part}")
