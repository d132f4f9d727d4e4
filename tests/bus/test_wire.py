"""The wire codec: inverse for every message, and nothing but BadMessage for any bytes."""

from __future__ import annotations

import json
from pathlib import Path

import msgpack
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generated import ANY_MESSAGE, changed_everywhere, corpus
from hocket_bus import messages
from hocket_bus.errors import BadMessage, ProtocolError
from hocket_bus.messages import BY_CODE, CODE_OF, CONVERSATIONS, PROTOCOL_VERSION, Message, Ping, Search
from hocket_bus.messages.types import Record
from hocket_bus.wire import MAX_FRAMES, decode, encode, encode_checked, request_of

FIXTURES = Path(__file__).with_name("wire_fixtures.json")


@settings(max_examples=300)
@given(ANY_MESSAGE)
def test_decoding_inverts_encoding(message: Message) -> None:
    """Every message comes back equal."""
    assert decode(encode(message)) == message


def test_bytes_that_an_earlier_program_of_this_protocol_sent_are_read_and_written_alike() -> None:
    """Read and write recorded messages of each kind: a daemon is upgraded while its peers are not.

    With another protocol version they are recorded anew; until then a changed byte breaks running pairs.
    """
    recorded = json.loads(FIXTURES.read_text(encoding="utf-8"))
    assert recorded["protocol"] == PROTOCOL_VERSION
    frames = [[bytes.fromhex(frame) for frame in message] for message in recorded["messages"]]
    assert [encode(decode(each)) for each in frames] == frames
    assert {type(decode(each)) for each in frames} == set(BY_CODE.values())


ODD_VALUES = (
    float("nan"), float("inf"), -1.0, 1.0000000000000002, 1e300, -1, 1 << 32, 1 << 64, "", "\ud800", "ў" * 3_000,
    "x" * 600_000, b"", bytes(300), None, True, [], [0] * 1_001, [float("inf")], {}, {"": float("nan")}, np.float64(1),
)  # fmt: skip


@settings(max_examples=1_000)
@given(ANY_MESSAGE, st.sampled_from(ODD_VALUES), st.data())
def test_what_is_checked_is_what_is_read(message: Message, value: object, data: st.DataObject) -> None:
    """A message passes exactly where the other end takes it, whatever value stands in one of its fields."""
    if message.__struct_fields__:
        field = data.draw(st.sampled_from(message.__struct_fields__))
        if (field == "payload") > isinstance(value, bytes):
            return
        if isinstance(getattr(message, field), Record) and isinstance(value, list):  # mypy lets nobody send one for it
            return
        message = msgspec.structs.replace(message, **{field: value})
    try:
        frames = encode_checked(message)
    except ProtocolError:
        with pytest.raises((BadMessage, TypeError, ValueError, OverflowError)):
            decode(encode(message))
    else:
        assert decode(frames) is not None


def test_a_change_anywhere_is_another_message_or_a_bad_one() -> None:
    """Each byte of each kind of message changed, added, taken out or the last: nothing but BadMessage is raised."""
    read = refused = 0
    for message in corpus(3):
        for frames in changed_everywhere(encode(message)):
            try:
                other = decode(frames)
            except BadMessage:
                refused += 1
                continue
            read += 1
            assert decode(encode(other)) == other
    assert min(read, refused) > 1_000, "both happen"


@given(st.lists(st.binary(max_size=100), max_size=12))
def test_any_frames_are_a_message_or_a_bad_one(frames: list[bytes]) -> None:
    """Garbage raises nothing but BadMessage."""
    with pytest.raises(BadMessage):
        decode(frames)


def test_the_number_of_a_request_is_told_without_decoding() -> None:
    """It is the one that decoding finds, also where everything behind it is missing; other messages have none."""
    for message in corpus(3):
        number = message.request if message.__struct_fields__[:1] == ("request",) else b""  # type: ignore[attr-defined]
        frames = encode(message)
        assert request_of(frames) == number
        if number:
            assert request_of([frames[0], frames[1][:23] + b"\xc1"]) == number


@given(st.binary(max_size=30))
def test_any_body_has_a_number_or_none(body: bytes) -> None:
    """Whatever stands in the place of one, nothing is raised."""
    assert len(request_of([header(Search), body])) in (0, 16)
    assert request_of([body, body]) == b""


def header(kind: type[Message], version: int = messages.PROTOCOL_VERSION) -> bytes:
    return b"HK" + bytes((version, CODE_OF[kind]))


def test_other_versions_and_other_numbers_of_frames_are_named() -> None:
    """The text says what to do."""
    with pytest.raises(BadMessage, match="version 99.*same hocket"):
        decode([header(Ping, 99), b"\x80"])
    with pytest.raises(BadMessage, match="frames"):
        decode([header(Ping), msgpack.packb([1.0, 0.0]), b""])
    assert MAX_FRAMES == 8


def test_lengths_are_bounded() -> None:
    """A query over its limit is refused by the schema; one at the limit is not."""
    fields: list[object] = [bytes(16), "x" * 100_000, 2, "", [], 0, [], None, 2]
    assert isinstance(decode([header(Search), msgpack.packb(fields)]), Search)
    fields[1] = "x" * 100_001
    with pytest.raises(BadMessage, match="length"):
        decode([header(Search), msgpack.packb(fields)])


@given(ANY_MESSAGE, st.data())
def test_every_array_has_exactly_its_fields(message: Message, data: st.DataObject) -> None:
    """One element more or less, in the body or in a record inside it, with or without default, is a bad message."""
    frames = encode(message)
    body = msgpack.unpackb(frames[1])
    values = [getattr(message, name) for name in message.__struct_fields__]
    records = [body] + [raw for raw, value in zip(body, values, strict=False) if isinstance(value, Record)]
    changed = data.draw(st.sampled_from(records))
    if changed and data.draw(st.booleans()):
        changed.pop()
    else:
        changed.append(0)
    with pytest.raises(BadMessage):
        decode([frames[0], msgpack.packb(body), *frames[2:]])


def test_conversations_have_ranges_of_their_own() -> None:
    """Ranges are disjoint, every code lies in its conversation's, and every message has one code."""
    ranges = [conversation.codes for conversation in CONVERSATIONS]
    codes = [code for each in ranges for code in each]
    assert len(codes) == len(set(codes))
    assert 0 < min(codes) <= max(codes) < 256
    for conversation in CONVERSATIONS:
        assert all(entry.code in conversation.codes for entry in conversation.entries)
    kinds = [entry.kind for conversation in CONVERSATIONS for entry in conversation.entries]
    assert len(kinds) == len(set(kinds)) == len(BY_CODE)
