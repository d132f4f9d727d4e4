"""Conversations in the client: messages as other libraries have them, and what a chat remembers."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.errors import BadRequest
from hocket_bus.messages import (
    MAX_ANSWER_CHARS,
    MAX_QUESTION_CHARS,
    MAX_SYSTEM_CHARS,
    MAX_TURNS,
    Done,
    Finish,
    Prompt,
    Turn,
)
from hocket_bus.wire import decode, encode
from hocket_client.conversation import MAX_CHARS, Chat, latest, prompt_of
from hocket_client.question import ask_message

TURNS = st.lists(st.builds(Turn, query=st.text(max_size=20), answer=st.text(max_size=20)), max_size=5)


def messages(*said: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in said]


@given(turns=TURNS, query=st.text(max_size=20), system=st.text(max_size=20))
def test_messages_are_the_prompt_that_they_spell(turns: list[Turn], query: str, system: str) -> None:
    """In the roles that other libraries give them."""
    said = [("system", system)]
    said += [each for turn in turns for each in (("user", turn.query), ("assistant", turn.answer))]
    assert prompt_of(messages(*said, ("user", query))) == Prompt(query=query, turns=turns, system=system)


def test_messages_in_a_row_are_one() -> None:
    """Questions of one turn, an answer in two pieces, two system lines; an answer may come first."""
    found = prompt_of(
        messages(
            ("assistant", "Hello."), ("developer", "Be kind."), ("user", "a"), ("user", "b"), ("assistant", "c"),
            ("assistant", "d"), ("system", "And brief."), ("user", "e"), ("user", "f"),
        )
    )  # fmt: skip
    turns = [Turn(query="", answer="Hello."), Turn(query="a\n\nb", answer="c\n\nd")]
    assert found == Prompt(query="e\n\nf", turns=turns, system="Be kind.\n\nAnd brief.")


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (messages(("user", "a"), ("assistant", "b")), "the last message is not the user's"),
        ([{"role": "tool", "content": "x"}], "a message has an unknown role or no content"),
        ([{"role": "user"}], "a message has an unknown role or no content"),
        (messages(("system", "x" * (MAX_SYSTEM_CHARS + 1)), ("user", "a")), "the system line has 8001 characters"),
        (messages(("user", "x" * (MAX_QUESTION_CHARS + 1)), ("assistant", "b"), ("user", "c")), "an earlier question"),
        (messages(("user", "a"), ("assistant", "x" * (MAX_ANSWER_CHARS + 1)), ("user", "c")), "an answer has 32001"),
    ],
)
def test_what_is_no_conversation_is_told_in_a_line(said: list[dict[str, str]], line: str) -> None:
    with pytest.raises(BadRequest, match=line):
        prompt_of(said)


@given(sizes=st.lists(st.integers(0, MAX_ANSWER_CHARS), max_size=80))
def test_the_latest_turns_that_one_message_holds_are_sent(sizes: list[int]) -> None:
    """As many as there may be, and the whole fits onto the wire whatever its characters."""
    turns = [Turn(query=str(at), answer="é" * size) for at, size in enumerate(sizes)]
    kept = latest(turns)
    assert kept == turns[len(turns) - len(kept) :]
    assert len(kept) <= MAX_TURNS
    assert sum(len(turn.query) + len(turn.answer) for turn in kept) <= MAX_CHARS
    if len(kept) < min(len(turns), MAX_TURNS):
        one_more = turns[len(turns) - len(kept) - 1 :]
        assert sum(len(turn.query) + len(turn.answer) for turn in one_more) > MAX_CHARS
    ask = ask_message("Why?", topic=bytes(16), turns=turns)
    assert decode(encode(ask)) == ask


@dataclass
class Answer:
    """A stream that has ended once the test says so."""

    done: Done | None = None

    def end(self, text: str, finish: Finish = "eos") -> None:
        number = bytes(16)
        self.done = Done(
            request=number, seq=0, finish=finish, token_ids=[], text=text, ttft_s=0, ms_per_token=0, mode="x", seed=0
        )


def test_a_turn_counts_once_its_answer_was_read() -> None:
    """Each question goes with those before it that did."""
    asked: list[tuple[str, list[Turn]]] = []
    answers: list[Answer] = []

    def ask(question: str, turns: object) -> Answer:
        asked.append((question, list(turns)))  # type: ignore[call-overload]
        answers.append(Answer())
        return answers[-1]

    first = Turn(query="Who?", answer="Anna.")
    chat = Chat(ask, [first])
    chat.ask("Where?").end("Here.")
    second = Turn(query="Where?", answer="Here.")
    assert chat.turns == [first, second]
    chat.ask("Cancelled?").end("Pa", "cancelled")
    assert chat.turns == [first, second]
    chat.ask("Left in the middle?")
    assert chat.turns == [first, second]
    chat.ask("When?")
    assert asked[-1] == ("When?", [first, second])
    answers[-2].end("Too late.")
    assert chat.turns == [first, second]
    chat.forget()
    answers[-1].end("Now.")
    assert chat.turns == []


def test_messages_say_it_all() -> None:
    """Nothing beside them, and nothing without a question."""
    said = messages(("user", "Why?"))
    assert ask_message(None, topic=bytes(16), messages=said).prompt == Prompt(query="Why?")
    turns = [Turn(query="a", answer="b")]
    for wrong in ({"question": "Who?"}, {"question": None, "turns": turns}, {"question": None, "system": "x"}):
        with pytest.raises(BadRequest, match="messages already contain the question"):
            ask_message(topic=bytes(16), messages=said, **wrong)  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="there is no question"):
        ask_message(None, topic=bytes(16))
