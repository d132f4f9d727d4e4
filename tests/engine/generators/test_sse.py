"""Server-sent events: wherever their bytes are cut, the same data comes out, and nothing of what is no data."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.errors import BadMessage
from hocket_daemon.engine.generators.sse import MAX_EVENT_BYTES, Event, Events

LINES = st.lists(st.text(alphabet='ab: {"}€😀\u2028\x85', max_size=8), min_size=1, max_size=3)


def read(*parts: bytes) -> list[str]:
    events = Events()
    return [event.data for part in parts for event in events.feed(part)]


def cut(whole: bytes, at: list[int]) -> list[bytes]:
    places = [0, *sorted(place % (len(whole) + 1) for place in at), len(whole)]
    return [whole[first:last] for first, last in pairwise(places)]


@given(st.lists(LINES, max_size=5), st.sampled_from(["\n", "\r", "\r\n"]), st.lists(st.integers(0, 500), max_size=12))
def test_data_is_the_same_wherever_it_is_cut(written: list[list[str]], end: str, at: list[int]) -> None:
    """Within a character, between CR and LF, in a field's name; with comments and other fields between."""
    noise = f": a comment{end}event: piece{end}id: 7{end}retry: 9{end}"
    whole = "".join(noise + "".join(f"data: {line}{end}" for line in lines) + end for lines in written)
    assert read(*cut(whole.encode(), at)) == ["\n".join(lines) for lines in written]


@given(st.binary(max_size=60), st.lists(st.integers(0, 100), max_size=8))
def test_no_bytes_whatever_are_an_error_and_cuts_change_nothing(whole: bytes, at: list[int]) -> None:
    """Not even those that are no UTF-8."""
    assert read(*cut(whole, at)) == read(whole)


@pytest.mark.parametrize(
    ("whole", "data"),
    [
        ("data:x\n\n", ["x"]),
        ("data:  x\n\n", [" x"]),
        ("data\n\n", [""]),
        ("data: x", []),
        ("data: x\n", []),
        ("\n\n\n: only a comment\n\n", []),
        ("database: x\n\n", []),
        ("<html>\n\nno events</html>\n\n", []),
        ("data: [DONE]\n\n", ["[DONE]"]),
    ],
)
def test_what_is_data(whole: str, data: list[str]) -> None:
    """One blank behind the colon is left out; an event that no empty line ends is none."""
    assert read(whole.encode()) == data


def test_events_keep_their_names() -> None:
    """Each its own alone: the one of an event without data is nobody's."""
    events = Events().feed(b"event: error\ndata: a\n\ndata: b\n\nevent: ping\n\ndata: c\n\n")
    assert events == [Event("a", "error"), Event("b"), Event("c")]


@given(st.lists(st.integers(0, 20), max_size=6))
def test_a_byte_order_mark_at_the_start_is_no_part_of_a_line(at: list[int]) -> None:
    """Wherever it is cut. The first event was lost with it; no test began with one."""
    assert read(*cut("\ufeffdata: \ufeffx\n\n".encode(), at)) == ["\ufeffx"]


def test_half_a_character_can_be_joined_to_the_other_half() -> None:
    """It stands in two events, as the bytes that it is."""
    first, second = "€".encode()[:2], "€".encode()[2:]
    halves = read(b"data: " + first + b"\n\n", b"data: " + second + b"\n\n")
    assert "".join(halves).encode("utf-8", "surrogateescape").decode() == "€"


@pytest.mark.parametrize("line", [b"x" * 1000, b"data: " + b"x" * 1000 + b"\n"])
def test_an_event_has_an_end(line: bytes) -> None:
    """One long line, or many lines without an empty one."""
    with pytest.raises(BadMessage):
        read(*[line] * (MAX_EVENT_BYTES // 1000 + 1))
