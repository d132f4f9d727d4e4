"""Messages to frames and back. Frames: [header] [body] and, for messages with one, [payload].

Header: the two bytes HK, protocol version, message code. Body: a msgpack array of all the message's
fields in their order; nested records are arrays, too.
`decode` raises BadMessage and nothing else, whatever the bytes. Its cost grows with the body, so a receiver refuses
messages that it does not take by `kind_of`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import msgpack
import msgspec

from .errors import BadMessage, OtherVersion, ProtocolError
from .messages import BY_CODE, CODE_OF, HAS_PAYLOAD, PROTOCOL_VERSION, Message

MAX_FRAMES = 8
MAX_BODY_BYTES = 1 << 20
MAX_PAYLOAD_BYTES = 1 << 20
MAX_REASON_CHARS = 300  # what is wrong can quote what came
_MAGIC = b"HK"
_NUMBER_BYTES = 16
_MAY_BE_INFINITE = {float, dict, list}  # of what msgpack gives: it, or something in it
_NUMBER_END = 5 + 2 + _NUMBER_BYTES  # behind the longest head of an array, and that of bytes
_FLOAT = b"\xcb"
_MAYBE_NOT_FINITE = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")  # so begin such numbers, and what may stand in a text
_ENCODER = msgspec.msgpack.Encoder()


def encode(message: Message) -> list[bytes]:
    """Return the frames of `message`. Raises ProtocolError for a message over the size limits."""
    tail = [message.payload] if type(message) in HAS_PAYLOAD else []  # type: ignore[attr-defined]
    body = _ENCODER.encode(msgspec.structs.astuple(message)[:-1] if tail else message)
    if len(body) > MAX_BODY_BYTES or any(len(frame) > MAX_PAYLOAD_BYTES for frame in tail):
        raise ProtocolError(f"a {type(message).__name__} of {len(body)} bytes is over the limit", "send less at a time")
    return [_MAGIC + bytes((PROTOCOL_VERSION, CODE_OF[type(message)])), body, *tail]


def encode_checked(message: Message) -> list[bytes]:
    """Encode with checks. Raises ProtocolError also for a message that `decode` would refuse, or that has no frames."""
    try:
        frames = encode(message)
    except (TypeError, ValueError, OverflowError) as error:
        raise ProtocolError(f"{type(message).__name__}: {error}"[:MAX_REASON_CHARS]) from error
    _typed(type(message), frames[1])
    if _FLOAT in frames[1] and _MAYBE_NOT_FINITE.search(frames[1]):
        _unpack(frames[1])
    return frames


def decode(frames: Sequence[bytes]) -> Message:
    """Return the message that `frames` hold. Raises BadMessage."""
    kind = kind_of(frames)
    expected = 3 if kind in HAS_PAYLOAD else 2
    if len(frames) != expected:
        raise BadMessage(f"{kind.__name__} needs {expected} frames, got {len(frames)}")
    if len(frames[1]) > MAX_BODY_BYTES or len(frames[-1]) > MAX_PAYLOAD_BYTES:
        raise BadMessage(f"a {kind.__name__} over the size limit")
    payload = [bytes(frame) for frame in frames[2:]]
    values = _typed(kind, frames[1]) + payload
    message = kind(**dict(zip(kind.__struct_fields__, values, strict=True)))
    if _fields(message) != _unpack(frames[1]) + payload:  # msgspec fills in what has a default; here all are sent
        raise BadMessage(f"{kind.__name__}: fields are missing")
    return message


def _fields(message: Message) -> list[Any]:
    return list(msgspec.to_builtins(message, builtin_types=(bytes,)))


def kind_of(frames: Sequence[bytes]) -> type[Message]:
    """Return the type of message that the header names; nothing of the body is read. Raises BadMessage."""
    if not 2 <= len(frames) <= MAX_FRAMES:
        raise BadMessage(f"{len(frames)} frames")
    header = bytes(frames[0][:5])
    if len(header) != 4 or header[:2] != _MAGIC:
        raise BadMessage("not a hocket message", "connect hocket to hocket of the same version")
    if header[2] != PROTOCOL_VERSION:
        raise OtherVersion(
            f"protocol version {header[2]}, this end speaks {PROTOCOL_VERSION}",
            "restart what began before an upgrade (hocket down, hocket up), or install the same hocket on both ends",
        )
    if header[3] not in BY_CODE:
        raise BadMessage(f"unknown message code {header[3]}")
    return BY_CODE[header[3]]


def request_of(frames: Sequence[bytes]) -> bytes:
    """Return the number of the request that `frames` belong to, without decoding the rest; empty if there is none."""
    try:
        if kind_of(frames).__struct_fields__[:1] != ("request",):
            return b""
        body = msgpack.Unpacker()
        body.feed(frames[1][:_NUMBER_END])
        body.read_array_header()
        number = body.unpack()
    except (BadMessage, ValueError, msgpack.OutOfData):
        return b""
    return number if isinstance(number, bytes) and len(number) == _NUMBER_BYTES else b""


def _body_of(kind: type[Message]) -> msgspec.msgpack.Decoder[tuple[Any, ...]]:
    types = tuple(field.type for field in msgspec.structs.fields(kind) if field.name != "payload")
    return msgspec.msgpack.Decoder(tuple.__class_getitem__(types))


_BODIES = {kind: _body_of(kind) for kind in CODE_OF}


def _typed(kind: type[Message], body: bytes) -> list[Any]:
    """Decode the fields by their types. A value of a wrong type costs nothing: it is refused before it is built."""
    try:
        return list(_BODIES[kind].decode(body))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadMessage(f"{kind.__name__}: {error}"[:MAX_REASON_CHARS]) from error


def _unpack(body: bytes) -> list[Any]:
    """Decode without types, which reveals what msgspec accepts: a duplicate key, a number that is not finite."""
    try:
        fields: list[Any] = msgpack.unpackb(body, object_pairs_hook=_map)
    except ValueError as error:
        raise BadMessage(f"unreadable body: {error}"[:MAX_REASON_CHARS]) from error
    if not _finite(fields):
        raise BadMessage("a number that is not finite")
    return fields


def _map(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise BadMessage("a key twice in one map")
    return fields


def _finite(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(_finite(each) for each in inner if type(each) in _MAY_BE_INFINITE)
