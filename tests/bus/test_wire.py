"""The wire codec: inverse for every message, and nothing but BadMessage for any bytes."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket_bus import messages
from hocket_bus.errors import BadMessage
from hocket_bus.fields import Record
from hocket_bus.messages import BY_CODE, CODE_OF, Message, Passage, Passages, Ping, Scores, Search, Status
from hocket_bus.wire import MAX_FRAMES, decode, encode

FLOATS = st.floats(0, 1e12, allow_nan=False)


def values(kind: Any) -> st.SearchStrategy[Any]:  # noqa: C901
    """A strategy for the declared type of a field."""
    info = msgspec.inspect.type_info(kind) if not isinstance(kind, msgspec.inspect.Type) else kind
    match info:
        case msgspec.inspect.IntType():
            low = info.ge if info.ge is not None else 0
            high = info.lt - 1 if info.lt is not None else info.le if info.le is not None else 2**64 - 1
            return st.integers(low, high)
        case msgspec.inspect.FloatType():
            low = info.gt + 1e-9 if info.gt is not None else info.ge or 0.0
            return st.floats(low, info.le if info.le is not None else 1e9)
        case msgspec.inspect.StrType():
            return st.text(max_size=min(50, info.max_length or 50))
        case msgspec.inspect.BytesType():
            low = info.min_length or 0
            return st.binary(min_size=low, max_size=info.max_length or 60)
        case msgspec.inspect.BoolType():
            return st.booleans()
        case msgspec.inspect.LiteralType():
            return st.sampled_from(list(info.values))
        case msgspec.inspect.NoneType():
            return st.none()
        case msgspec.inspect.UnionType():
            return st.one_of([values(t) for t in info.types])
        case msgspec.inspect.ListType():
            return st.lists(values(info.item_type), max_size=min(4, info.max_length or 4))
        case msgspec.inspect.DictType():
            return st.dictionaries(values(info.key_type), values(info.value_type), max_size=4)
        case msgspec.inspect.StructType():
            return instances(info.cls)
    raise AssertionError(f"no strategy for {info}")


def instances(kind: type[Any]) -> st.SearchStrategy[Any]:
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)
    return st.builds(kind, **{field.name: values(field.type) for field in info.fields})


ANY_MESSAGE = st.one_of([instances(kind) for kind in BY_CODE.values()])


@settings(max_examples=300)
@given(ANY_MESSAGE)
def test_decoding_inverts_encoding(message: Message) -> None:
    """Every message comes back equal."""
    assert decode(encode(message)) == message


@settings(max_examples=500)
@given(ANY_MESSAGE, st.integers(0, 10_000), st.integers(0, 255), st.integers(0, 2))
def test_a_changed_byte_is_another_message_or_a_bad_one(message: Message, place: int, value: int, frame: int) -> None:
    """A mutation anywhere raises nothing but BadMessage."""
    frames = [bytearray(f) for f in encode(message)]
    target = frames[frame % len(frames)]
    if target:
        target[place % len(target)] = value
    try:
        read = decode([bytes(f) for f in frames])
    except BadMessage:
        return
    assert decode(encode(read)) == read


@given(st.lists(st.binary(max_size=100), max_size=12))
def test_any_frames_are_a_message_or_a_bad_one(frames: list[bytes]) -> None:
    """Garbage raises nothing but BadMessage."""
    with pytest.raises(BadMessage):
        decode(frames)


def header(kind: type[Message], version: int = messages.PROTOCOL_VERSION) -> bytes:
    return b"HK" + bytes((version, CODE_OF[kind]))


BOMBS = {
    "wide array": b"\xdd\xff\xff\xff\xff",
    "nested arrays": b"\x91" * 900 + b"\x01",
    "arrays nested too deep": b"\x91" * 1_100 + b"\x01",
    "nested maps": b"\x81\xa1a" * 1_100 + b"\x01",
    "a million empty arrays": b"\xdd\x00\x0f\x42\x40" + b"\x90" * 1_000_000,
    "NaN": msgpack.packb([float("nan"), 0.0]),
    "infinity in a list": msgpack.packb([[1.0, float("inf")], 0.0]),
    "a key twice": b"\x92\x82\xa1a\x01\xa1a\x02\x00",
    "extension type": b"\x92\xc7\x01\x05a\x00",
    "timestamp": b"\x92\xd6\xff\x00\x00\x00\x00\x00",
    "trailing bytes": msgpack.packb([1.0, 0.0]) + b"\x00",
    "a field too many": msgpack.packb([1.0, 0.0, 1]),
    "a field too few, though it has a default": msgpack.packb([1.0]),
    "no fields": msgpack.packb([]),
    "wrong type": msgpack.packb(["soon", 0.0]),
    "a map": msgpack.packb({"sent_s": 1.0, "rtt_s": 0.0}),
    "a number": msgpack.packb(1.0),
    "integer key": b"\x92\x81\x01\x02\x00",
    "empty": b"",
    "too large": b"\x00" * (2 << 20),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_in_little_memory(name: str) -> None:
    """Each is BadMessage, and none costs more than 16 MB."""
    tracemalloc.start()
    with pytest.raises(BadMessage):
        decode([header(Ping), BOMBS[name]])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16_000_000


def test_other_versions_and_too_many_frames_are_named() -> None:
    """The text says what to do."""
    with pytest.raises(BadMessage, match="version 9.*same hocket"):
        decode([header(Ping, 9), b"\x80"])
    with pytest.raises(BadMessage, match="20000 frames"):
        decode([header(Ping)] * 20_000)
    with pytest.raises(BadMessage, match="frames"):
        decode([header(Ping), msgpack.packb([1.0, 0.0]), b""])
    assert MAX_FRAMES == 8


def test_lengths_are_bounded() -> None:
    """A query over its limit is refused by the schema; one at the limit is not."""
    fields = [bytes(16), "x" * 100_000, 2, ""]
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


def test_figures_that_are_not_finite_are_refused_wherever_they_stand() -> None:
    """In the body, in a record, in a list and in a map."""
    texts = Passage(document="d", title="t", ordinal=0, text="x", score=math.inf)
    for message in (
        Ping(sent_s=math.nan),
        Passages(request=bytes(16), passages=[texts], scorer="s", scorers=["s"], documents_total=1, seconds=0.0),
        Scores(request=bytes(16), scores=[0.5, -math.inf]),
        Status(request=bytes(16), role="device", ready=True, facts={}, figures={"rtt_s": math.nan}),
    ):
        with pytest.raises(BadMessage, match="not finite"):
            decode(encode(message))
