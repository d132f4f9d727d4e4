"""Assembly of a stream from messages: every event once, in order, whatever was lost or repeated on the way."""

from __future__ import annotations

from hocket_bus.errors import DeadlineExceeded, HocketError, Unavailable
from hocket_bus.faults import raised
from hocket_bus.messages import (
    Accepted,
    Ask,
    Cancel,
    Credit,
    Done,
    Error,
    Failed,
    Lost,
    Message,
    Notice,
    Resume,
    Thought,
    Token,
    Waiting,
)

StreamEvent = Token | Thought | Waiting | Notice | Done

SILENCE_S = 1.0


class Assembly:
    """The state of one request. Pure: the blocking and the asynchronous client drive it alike."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.accepted = False
        self.cancelled = False
        self.done: Done | None = None
        self._next = 0
        self._acknowledged = 0  # the daemon knows that everything below has been read
        self._missed = -1  # the first number of the gap that was asked for last
        self._early: dict[int, StreamEvent | Failed] = {}

    def feed(self, message: Message) -> list[StreamEvent]:
        """Return the events that `message` makes available. Raises the error that ended the request, if one did."""
        if isinstance(message, Error):
            if self.cancelled and not self.accepted:  # there is nothing to stop
                self.done = self._untaken()
                return [self.done]
            raise raised(message)
        if isinstance(message, Lost) and message.first > self._next:
            raise Unavailable(
                f"events {self._next} to {message.first - 1} of this stream are no longer kept",
                "read faster, or raise log_bytes of the daemon; then ask again",
            )
        if isinstance(message, Accepted):
            self.accepted = True
        if not isinstance(message, Token | Thought | Waiting | Notice | Done | Failed) or message.seq < self._next:
            return []
        self.accepted = True
        self._early[message.seq] = message
        ready: list[StreamEvent] = []
        while (event := self._early.get(self._next)) is not None:
            if isinstance(event, Failed):
                if ready:  # first what came before it; `reply` asks for it again
                    break
                raise raised(event)
            del self._early[self._next]
            self._next += 1
            if isinstance(event, Done):
                self.done = event
            ready.append(event)
        return ready

    def cancel(self) -> Cancel:
        """Return the message that stops the request; from now on `nudge` repeats it."""
        self.cancelled = True
        return Cancel(request=self.ask.request)

    def reply(self) -> list[Message]:
        """Return what to send right after `feed`: a Resume for a new gap, or a Credit once half the window was read."""
        if self._early and self._missed < self._next:
            self._missed = self._next
            return self.nudge()
        if self.done is None and self._next - self._acknowledged >= self.ask.window / 2:
            self._acknowledged = self._next
            return [Credit(request=self.ask.request, topic=self.ask.topic, seq=self._next)]
        return []

    def nudge(self) -> list[Message]:
        """Return what to send after a silence or a break: the question again until it is accepted, else a Resume.

        A cancelled question is not asked again: the answer to the Resume shows whether a daemon has it.
        """
        resume = Resume(request=self.ask.request, topic=self.ask.topic, seq=self._next)
        if self.cancelled:
            return [self.cancel(), resume]
        return [resume if self.accepted else self.ask]

    def overdue(self) -> HocketError:
        """Return the error of a request whose deadline has passed."""
        what = "the daemon did not finish" if self.accepted else "the daemon did not accept the question"
        return DeadlineExceeded(f"{what} within {self.ask.deadline_s:g} s", "look at: hocket status")

    def _untaken(self) -> Done:
        return Done(
            request=self.ask.request,
            seq=self._next,
            finish="cancelled",
            token_ids=[],
            text="",
            ttft_s=0.0,
            ms_per_token=0.0,
            mode=self.ask.mode,
            seed=self.ask.sampling.seed,
        )
