"""Messages made from the message classes themselves, so that a new one is covered at once, and their mutations."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import inspect

from hocket_bus.messages import BY_CODE, Message

Frames = list[bytes]


def values(kind: inspect.Type) -> st.SearchStrategy[Any]:  # noqa: C901
    """A strategy for the declared type of a field."""
    match kind:
        case inspect.IntType():
            low = kind.ge if kind.ge is not None else 0
            high = kind.lt - 1 if kind.lt is not None else kind.le if kind.le is not None else 2**64 - 1
            return st.integers(low, high)
        case inspect.FloatType():
            low = kind.gt + 1e-9 if kind.gt is not None else kind.ge or 0.0
            return st.floats(low, kind.le if kind.le is not None else 1e9)
        case inspect.StrType(pattern=str() as pattern):
            return st.from_regex(pattern.rstrip("$") + r"\Z")
        case inspect.StrType():
            return st.text(max_size=min(50, kind.max_length or 50))
        case inspect.BytesType():
            return st.binary(min_size=kind.min_length or 0, max_size=kind.max_length or 60)
        case inspect.BoolType():
            return st.booleans()
        case inspect.LiteralType():
            return st.sampled_from(list(kind.values))
        case inspect.NoneType():
            return st.none()
        case inspect.UnionType():
            return st.one_of([values(each) for each in kind.types])
        case inspect.ListType():
            return st.lists(values(kind.item_type), max_size=min(4, kind.max_length or 4))
        case inspect.DictType():
            return st.dictionaries(values(kind.key_type), values(kind.value_type), max_size=4)
        case inspect.StructType():
            return instances(kind.cls)
    raise AssertionError(f"no strategy for {kind}")


def instances(kind: type[Any]) -> st.SearchStrategy[Any]:
    """A strategy for a record or a message."""
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return st.builds(kind, **{field.name: values(field.type) for field in info.fields})


ANY_MESSAGE: st.SearchStrategy[Message] = st.one_of([instances(kind) for kind in BY_CODE.values()])


def corpus(number: int) -> list[Message]:
    """About `number` messages of each kind, the same ones each time."""
    made: list[Message] = []
    for kind in BY_CODE.values():

        @settings(max_examples=number, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
        @given(instances(kind))
        def collect(message: Message) -> None:
            made.append(message)

        collect()
    return made


def changed_everywhere(frames: Frames) -> Iterator[Frames]:
    """Every frame changed at each of its places: a bit, all bits, a byte more, a byte less, cut off; and left out."""
    for number, frame in enumerate(frames):
        yield frames[:number] + frames[number + 1 :]
        for place in range(len(frame)):
            for changed in _changed_at(frame, place):
                yield [*frames[:number], changed, *frames[number + 1 :]]


def changed_somewhere(frames: Frames, rng: random.Random) -> Frames:
    """One to three random changes of the same kinds, among them exchanged and repeated frames."""
    frames = list(frames)
    for _ in range(rng.randint(1, 3)):
        number = rng.randrange(len(frames))
        frame = frames[number]
        if not frame or rng.random() < 0.1:
            frames.insert(rng.randrange(len(frames) + 1), rng.choice(frames) or rng.randbytes(8))
        else:
            place = rng.randrange(len(frame))
            frames[number] = rng.choice([*_changed_at(frame, place), _put(frame, place, rng.randbytes(4))])
    return frames


def _changed_at(frame: bytes, place: int) -> Iterator[bytes]:
    yield _put(frame, place, bytes((frame[place] ^ 1 << place % 8,)))
    yield _put(frame, place, bytes((frame[place] ^ 0xFF,)))
    yield frame[:place] + b"\xc1" + frame[place:]
    yield frame[:place] + frame[place + 1 :]
    yield frame[:place]


def _put(frame: bytes, place: int, piece: bytes) -> bytes:
    return frame[:place] + piece + frame[place + len(piece) :]
