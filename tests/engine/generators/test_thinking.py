"""Laws of a text without what is thought before it: the same wherever its pieces end, and nothing else is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_daemon.engine.text.thinking import Thinking, Trimmed

BLANKS = st.text(" \n", max_size=3)
PLAIN = st.text("ab <>/\nİK", max_size=12)


def taken(fragments: list[str]) -> str:
    """All of a text that comes in pieces."""
    return told_apart(fragments)[1]


def told_apart(fragments: list[str]) -> tuple[str, str]:
    """What is thought, and the text."""
    thinking, thought, text = Thinking(), "", ""
    for piece in fragments:
        text += thinking.add(piece)
        thought += thinking.thought
    return thought, text + thinking.end()


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[first:last] for first, last in zip(ends, ends[1:], strict=False)]  # noqa: RUF007


@given(
    thought=PLAIN, text=PLAIN, tag=st.sampled_from(["think", "Think", "thinking", "reasoning"]),
    blanks=st.tuples(BLANKS, BLANKS), places=st.lists(st.integers(0, 99)),
)  # fmt: skip
def test_a_thought_before_a_text_goes(
    thought: str, text: str, tag: str, blanks: tuple[str, str], places: list[int]
) -> None:
    whole = f"{blanks[0]}<{tag}>{thought}</{tag}>{blanks[1]}{text}"
    assert told_apart(cut(whole, places)) == (thought, text.lstrip())


@given(text=PLAIN, places=st.lists(st.integers(0, 99)))
def test_a_text_without_a_thought_stays_as_it_is(text: str, places: list[int]) -> None:
    """Blanks, and what only looks like a tag, included."""
    assert taken(cut(text, places)) == text
    assert taken(cut(f"x <think>{text}</think>", places)) == f"x <think>{text}</think>"


def test_a_thought_that_is_not_closed_is_told_apart_from_no_text() -> None:
    thinking = Thinking()
    assert thinking.add("<think>What is") == ""
    assert "What is".startswith(thinking.thought)
    assert thinking.goes_on
    assert thinking.add(" asked?</think> ") == ""
    assert not thinking.goes_on
    assert thinking.add("The bay") == "The bay"


@given(text=st.text("a \n", max_size=12), places=st.lists(st.integers(0, 99)))
def test_blanks_at_the_ends_go_and_no_others(text: str, places: list[int]) -> None:
    trimmed = Trimmed()
    assert "".join(map(trimmed.add, cut(text, places))) == text.strip()


@pytest.mark.parametrize("thought", ["a</thin\u212a>b", "\u0130\u0130", "</THİNK>"])
def test_what_only_looks_like_the_end_of_a_thought_in_another_case_is_none(thought: str) -> None:
    """Nor does a letter that is longer in lower case shift where it ends."""
    assert told_apart([f"<think>{thought}</THINK>The bay"]) == (thought, "The bay")
