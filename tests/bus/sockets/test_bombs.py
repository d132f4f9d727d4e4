"""Small messages that would become large, or slow: refused in little memory and time, in every field of every kind."""

from __future__ import annotations

import math
import random
import time
import tracemalloc
from collections.abc import Callable, Iterator

import lz4.block
import msgpack
import msgspec
import pytest

from generated import corpus
from hocket_bus.errors import BadMessage
from hocket_bus.messages import (
    CODE_OF,
    HAS_PAYLOAD,
    PROTOCOL_VERSION,
    AggregationOutcome,
    Chunks,
    Done,
    Message,
    Passage,
    Passages,
    Ping,
    Scores,
    Status,
)
from hocket_bus.wire import MAX_PAYLOAD_BYTES, decode, encode
from hocket_daemon.engine.sampling import distribution

MEMORY_BYTES = 16_000_000
SECONDS = 0.05
MANY = 65_535
ALL = 100  # fields: more than any message has


def header(kind: type[Message]) -> bytes:
    return b"HK" + bytes((PROTOCOL_VERSION, CODE_OF[kind]))


def array(number: int, item: bytes) -> bytes:
    return b"\xdd" + number.to_bytes(4, "big") + item * number


# Values, as they stand in a body. None fits any field.
VALUES = {
    "4 thousand million elements": b"\xdd\xff\xff\xff\xff",
    "4 thousand million keys": b"\xdf\xff\xff\xff\xff",
    "nested arrays": b"\x91" * 1_000 + b"\x01",
    "arrays nested too deep": b"\x91" * 1_100 + b"\x01",
    "arrays nested a million times": b"\x91" * 1_000_000,
    "nested maps": b"\x81\xa1a" * 1_100 + b"\x01",
    "a million empty arrays": array(1_000_000, b"\x90"),
    "a million empty arrays in short ones": array(15, array(MANY, b"\x90")),
    "a million empty maps in short arrays": array(15, array(MANY, b"\x80")),
    "strings in short arrays": array(5, array(MANY, b"\xa2ab")),
    "numbers of nine bytes": array(1, array(100_000, b"\xcf" + b"\xff" * 8)),
    "a map of short strings": b"\xdf" + MANY.to_bytes(4, "big") + b"".join(
        b"\xa4" + f"{number:04x}".encode() + b"\xa2ab" for number in range(MANY)
    ),
    "a long word": b"\xdb" + (1_000_000).to_bytes(4, "big") + b"x" * 1_000_000,
    "long bytes": b"\xc6" + (1_000_000).to_bytes(4, "big") + b"x" * 1_000_000,
    "NaN": msgpack.packb(math.nan),
    "infinity": msgpack.packb(math.inf),
    "extension type": b"\xc7\x01\x05a",
    "large extension type": b"\xc9" + (1_000_000).to_bytes(4, "big") + b"\x05" + b"x" * 1_000_000,
    "timestamp": b"\xd6\xff\x00\x00\x00\x00",
    "a byte that msgpack never uses": b"\xc1",
    "text that is none": b"\xa2\xff\xfe",
    "nothing at all": b"",
}  # fmt: skip

# Whole bodies of a Ping.
BODIES = {
    "trailing bytes": msgpack.packb([1.0, 0.0]) + b"\x00",
    "a field too many": msgpack.packb([1.0, 0.0, 1]),
    "a field too few, though it has a default": msgpack.packb([1.0]),
    "no fields": msgpack.packb([]),
    "a map": msgpack.packb({"sent_s": 1.0, "rtt_s": 0.0}),
    "a number": msgpack.packb(1.0),
    "a key twice": b"\x92\x82\xa1a\x01\xa1a\x02\x00",
    "integer key": b"\x92\x81\x01\x02\x00",
    "empty": b"",
    "too large": b"\x00" * (2 << 20),
}


# Behind the header of a distribution of 10 ids, or instead of it.
HEADER = bytes((16 | 1 | 1 << 2, 0, 10)) + b"\x3f\x00\x00\x00"
PAYLOADS = {
    "lz4 255:1": HEADER + lz4.block.compress(bytes(50_000_000), store_size=False),
    "lz4 at the largest number": HEADER[:1] + b"\x80\x00" + HEADER[3:] + lz4.block.compress(bytes(10_000_000)),
    "lz4 that says its size itself": HEADER + lz4.block.compress(bytes(2**30 // 32), store_size=True),
    "a forged size": HEADER + b"\xff\xff\xff\x7f" + b"\xff" * 1000,
    "a megabyte of ones": b"\xff" * MAX_PAYLOAD_BYTES,
    "a megabyte of nothing": bytes(MAX_PAYLOAD_BYTES),
    "NaN is kept": HEADER[:3] + b"\x7f\xc0\x00\x00" + bytes(100),
    "empty": b"",
}


def bombs(maximum: int = ALL) -> Iterator[tuple[str, list[bytes]]]:
    """Every value in every message, in at most so many of its fields; all fields before and behind are right."""
    rng = random.Random(5)
    for message in corpus(1):
        kind = type(message)
        fields = [msgpack.packb(field) for field in msgspec.to_builtins(message, builtin_types=(bytes,))]
        payload = [b""] if kind in HAS_PAYLOAD else []
        body = fields[: len(fields) - len(payload)]
        start = bytes((0x90 | len(body),)) if len(body) < 16 else b"\xdc" + len(body).to_bytes(2, "big")
        for name, value in VALUES.items():
            for place in rng.sample(range(len(body)), min(maximum, len(body))):
                changed = b"".join([start, *body[:place], value, *body[place + 1 :]])
                yield f"{kind.__name__}[{place}]: {name}", [header(kind), changed, *payload]
    for name, changed in BODIES.items():
        yield name, [header(Ping), changed]


def refuse(name: str, frames: list[bytes]) -> float:
    """Decode what must be refused; returns the seconds that it took."""
    started_s = time.perf_counter()
    with pytest.raises(BadMessage) as caught:
        decode(frames)
    assert len(str(caught.value)) < 500, f"{name}: what is logged and answered must be no bomb either"
    return time.perf_counter() - started_s


def peak_bytes(work: Callable[[], object]) -> int:
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    work()
    return tracemalloc.get_traced_memory()[1] - before


@pytest.fixture
def _traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("_traced")
@pytest.mark.parametrize("maximum", [2, pytest.param(ALL, marks=pytest.mark.long)], ids=["some", "all"])
def test_bombs_in_any_field_of_any_message_take_little_memory(maximum: int) -> None:
    """Refused before anything large is built of them."""
    for name, frames in bombs(maximum):
        assert peak_bytes(lambda frames=frames, name=name: refuse(name, frames)) < MEMORY_BYTES, name  # type: ignore[misc]


@pytest.mark.parametrize("times", [20, pytest.param(1, marks=pytest.mark.long)])
def test_bombs_in_any_field_of_any_message_take_little_time(times: int) -> None:
    """At most 50 ms each, the best of three, since another program may have had the processor; here 20 times that."""
    for name, frames in bombs():
        assert min(refuse(name, frames) for _ in range(3)) < times * SECONDS, name


@pytest.mark.usefixtures("_traced")
def test_the_largest_messages_that_are_read_take_little_memory() -> None:
    """All ids that fit, all texts that fit."""
    ids = [200_000] * 65_536
    done = Done(
        request=bytes(16),
        seq=0,
        finish="eos",
        token_ids=ids,
        text="é" * 60_000,
        ttft_s=0.0,
        ms_per_token=0.0,
        mode="aggregation",
        seed=0,
        outcome=AggregationOutcome(method="alone", solo_steps=ids),
    )
    texts = Chunks(request=bytes(16), version=0, texts=["x" * 1_000] * 1_000, last=0)
    for message in (done, texts):
        frames = encode(message)
        assert decode(frames) == message
        assert peak_bytes(lambda frames=frames: decode(frames)) < MEMORY_BYTES  # type: ignore[misc]


@pytest.mark.usefixtures("_traced")
@pytest.mark.parametrize("name", PAYLOADS)
def test_bombs_in_a_distribution_are_refused(name: str) -> None:
    """The decompressor never writes more than the header's number of ids allows."""

    def refused() -> None:
        with pytest.raises(BadMessage):
            distribution.decode(PAYLOADS[name])

    assert peak_bytes(refused) < MEMORY_BYTES


def test_twenty_thousand_frames_are_refused_by_their_number() -> None:
    """None of them is looked at."""
    with pytest.raises(BadMessage, match="20000 frames"):
        decode([header(Ping)] * 20_000)


@pytest.mark.parametrize("where", ["the end", "a list", "a record", "a map"])
def test_numbers_that_are_not_finite_are_refused_wherever_they_stand(where: str) -> None:
    """Where the type alone lets them pass."""
    passage = Passage(document="d", title="t", ordinal=0, text="x", score=math.inf)
    message = {
        "the end": Ping(sent_s=0.0, rtt_s=math.inf),
        "a list": Scores(request=bytes(16), scores=[0.5, -math.inf]),
        "a record": Passages(
            request=bytes(16), passages=[passage], scorer="s", scorers=["s"], documents_total=1, seconds=0.0
        ),
        "a map": Status(request=bytes(16), role="device", ready=True, facts={}, metrics={"rtt_s": math.nan}),
    }[where]
    with pytest.raises(BadMessage, match="not finite"):
        decode(encode(message))


def test_a_key_twice_in_a_map_is_refused() -> None:
    """Two readers could take one or the other."""
    fields = [bytes(16), "device", True]
    figures = b"\x82\xa1a\xcb" + bytes(8) + b"\xa1a\xcb" + bytes(8)
    body = b"\x95" + b"".join(map(msgpack.packb, fields)) + b"\x80" + figures
    with pytest.raises(BadMessage, match="key twice"):
        decode([header(Status), body])
