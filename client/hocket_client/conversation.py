"""Conversations: messages as programs have them, and a chat that remembers its turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from hocket_bus.errors import BadRequest
from hocket_bus.messages import (
    MAX_ANSWER_CHARS,
    MAX_QUESTION_CHARS,
    MAX_SYSTEM_CHARS,
    MAX_TURNS,
    Done,
    Prompt,
    Turn,
)

MAX_CHARS = 200_000  # of all turns: what one message to a daemon holds
ROLES = ("system", "developer", "user", "assistant")


class Answered(Protocol):
    """A stream, as far as a chat knows it."""

    @property
    def done(self) -> Done | None:
        """The end of the answer, once it was read."""


S = TypeVar("S", bound=Answered)


class Chat(Generic[S]):
    """Each question is asked with the turns before it. A turn is remembered once its answer was read to the end.

    A daemon cuts the oldest turns to its model's context, and tells the cloud those that its `[egress] history` allows.
    """

    def __init__(self, ask: Callable[[str, Sequence[Turn]], S], turns: Sequence[Turn] = ()) -> None:
        """`ask` asks a question behind turns."""
        self._ask = ask
        self._turns = list(turns)
        self._asked: tuple[str, S] | None = None

    @property
    def turns(self) -> list[Turn]:
        """The conversation so far, the oldest first."""
        done = self._asked[1].done if self._asked is not None else None
        if self._asked is None or done is None or done.finish == "cancelled":
            return list(self._turns)
        return [*self._turns, Turn(query=self._asked[0], answer=done.text)]

    def ask(self, question: str) -> S:
        """The stream of the answer. One that was cancelled, or not read to its end, is no turn."""
        self._turns, self._asked = self.turns, None
        stream = self._ask(question, self._turns)
        self._asked = question, stream
        return stream

    def forget(self) -> None:
        """Begin anew."""
        self._turns, self._asked = [], None


def prompt_of(messages: Sequence[Mapping[str, str]]) -> Prompt:
    """The prompt of messages with a `role` (system, developer, user or assistant) and a `content`, the query last.

    Raises BadRequest.
    """
    system, turns, query = list[str](), list[Turn](), list[str]()
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role not in ROLES or not isinstance(content, str):
            raise BadRequest("a message has no such role or no content", f"give role ({', '.join(ROLES)}) and content")
        if role == "user":
            query.append(content)
        elif role == "assistant":
            turns = _answered(turns, query, content)
            query = []
        else:
            system.append(content)
    if not query:
        raise BadRequest("the last message is not the user's", "end with what is asked")
    return checked_prompt(Prompt(query="\n\n".join(query), turns=latest(turns), system="\n\n".join(system)))


def _answered(turns: list[Turn], query: list[str], answer: str) -> list[Turn]:
    """An answer that follows another one without a question between them goes on with it."""
    if not query and turns:
        last = turns[-1]
        return [*turns[:-1], Turn(query=last.query, answer=f"{last.answer}\n\n{answer}")]
    return [*turns, Turn(query="\n\n".join(query), answer=answer)]


def latest(turns: Sequence[Turn]) -> list[Turn]:
    """As many of the latest turns as can be told with one question."""
    kept, chars = list[Turn](), 0
    for turn in reversed(turns):
        chars += len(turn.query) + len(turn.answer)
        if chars > MAX_CHARS or len(kept) == MAX_TURNS:
            break
        kept.append(turn)
    return kept[::-1]


def checked_prompt(prompt: Prompt) -> Prompt:
    """The same. Raises BadRequest for a part that is too long."""
    parts = [("the system line", prompt.system, MAX_SYSTEM_CHARS)]
    for turn in prompt.turns:
        parts += [("an earlier question", turn.query, MAX_QUESTION_CHARS), ("an answer", turn.answer, MAX_ANSWER_CHARS)]
    for what, text, limit in parts:
        if len(text) > limit:
            raise BadRequest(f"{what} has {len(text)} characters, the limit is {limit}", "shorten it")
    return prompt
