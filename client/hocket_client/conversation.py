"""Conversations: a prompt from messages with roles, and a chat that remembers its turns."""

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
    """The part of a stream that a chat uses."""

    @property
    def done(self) -> Done | None:
        """Return the end of the answer, once it was read."""


S = TypeVar("S", bound=Answered)


class Chat(Generic[S]):
    """A chat: each question is asked with the turns before it. A turn counts once its answer was read to the end.

    A daemon cuts the oldest turns to its model's context, and sends the cloud those that its `[egress] history` allows.
    """

    def __init__(self, ask: Callable[[str, Sequence[Turn]], S], turns: Sequence[Turn] = ()) -> None:
        """Begin with `turns`; `ask` asks a question after the turns so far."""
        self._ask = ask
        self._turns = list(turns)
        self._asked: tuple[str, S] | None = None

    @property
    def turns(self) -> list[Turn]:
        """Return the conversation so far, the oldest turn first."""
        done = self._asked[1].done if self._asked is not None else None
        if self._asked is None or done is None or done.finish == "cancelled":
            return list(self._turns)
        return [*self._turns, Turn(query=self._asked[0], answer=done.text)]

    def ask(self, question: str) -> S:
        """Ask a question; return the stream of the answer. One cancelled, or not read to its end, becomes no turn."""
        self._turns, self._asked = self.turns, None
        stream = self._ask(question, self._turns)
        self._asked = question, stream
        return stream

    def forget(self) -> None:
        """Forget all turns and begin anew."""
        self._turns, self._asked = [], None


def prompt_of(messages: Sequence[Mapping[str, str]]) -> Prompt:
    """Return the prompt of messages with a `role` (system, developer, user or assistant) and `content`, the query last.

    Raises BadRequest.
    """
    system, turns, query = list[str](), list[Turn](), list[str]()
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role not in ROLES or not isinstance(content, str):
            raise BadRequest(
                "a message has an unknown role or no content", f"give role ({', '.join(ROLES)}) and content"
            )
        if role == "user":
            query.append(content)
        elif role == "assistant":
            turns = _answered(turns, query, content)
            query = []
        else:
            system.append(content)
    if not query:
        raise BadRequest("the last message is not the user's", "end with the question")
    return checked_prompt(Prompt(query="\n\n".join(query), turns=latest(turns), system="\n\n".join(system)))


def _answered(turns: list[Turn], query: list[str], answer: str) -> list[Turn]:
    """Add an answer to the turns; one that follows another without a question between them continues it."""
    if not query and turns:
        last = turns[-1]
        return [*turns[:-1], Turn(query=last.query, answer=f"{last.answer}\n\n{answer}")]
    return [*turns, Turn(query="\n\n".join(query), answer=answer)]


def latest(turns: Sequence[Turn]) -> list[Turn]:
    """Return as many of the latest turns as may be sent with one question."""
    kept, chars = list[Turn](), 0
    for turn in reversed(turns):
        chars += len(turn.query) + len(turn.answer)
        if chars > MAX_CHARS or len(kept) == MAX_TURNS:
            break
        kept.append(turn)
    return kept[::-1]


def checked_prompt(prompt: Prompt) -> Prompt:
    """Return the prompt unchanged. Raises BadRequest for a part that is too long."""
    parts = [("the system line", prompt.system, MAX_SYSTEM_CHARS)]
    for turn in prompt.turns:
        parts += [("an earlier question", turn.query, MAX_QUESTION_CHARS), ("an answer", turn.answer, MAX_ANSWER_CHARS)]
    for what, text, limit in parts:
        if len(text) > limit:
            raise BadRequest(f"{what} has {len(text)} characters, the limit is {limit}", "shorten it")
    return prompt
