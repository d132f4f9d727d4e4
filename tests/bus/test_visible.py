"""Texts of others on a terminal: nothing in them controls it, turns text around or hides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.visible import visible, visible_line

HIDDEN = [
    *("\x00", "\x07", "\x1b", "\r", "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\ud800"),
    *("\u202a", "\u202e", "\u2066", "\u2069", "\u200e", "\u200f", "\u061c"),
    *("\u200b", "\u2060", "\ufeff", "\u00ad", "\u034f", "\u180e", "\u3164", "\u115f", "\uffa0", "\u2065", "\ufffb"),
    *("\U000e0001", "\U000e0041", "\U000e007f", "\U000e0100", "\U0001d173", "\ufe00"),
]


@pytest.mark.parametrize("letter", HIDDEN, ids=ascii)
def test_what_hides_is_replaced_wherever_it_stands(letter: str) -> None:
    assert visible(f"{letter}a{letter}é{letter}") == "\ufffda\ufffdé\ufffd"


@pytest.mark.parametrize("text", ["a\u200db", "a\u200c", "\u200db", "pass\u200d\u200c\u200dword", "a\u200cب"])
def test_a_joiner_beside_ascii_hides(text: str) -> None:
    assert not {"\u200c", "\u200d"} & {*visible(text)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Plain, with (signs) & 1,000.",
        "línea\n\ttab",
        "می\u200cخواهم",
        "👩\u200d👩\u200d👧",
        "❤\ufe0f",
        "本",
        "क्\u200dष",
        "١٢٣",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert visible(text) == text


@given(st.text())
def test_a_line_is_one_line_of_the_same_length(text: str) -> None:
    """Whatever it was made of; twice changes nothing."""
    line = visible_line(text)
    assert len(line) == len(text)
    assert "\n" not in line
    assert visible(visible(text)) == visible(text)
