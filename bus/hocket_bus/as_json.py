"""Records as JSON: the one encoder of whatever programs read, from the command line and over HTTP. Pure.

JSON here is strict (RFC 8259), in UTF-8 and on one line by every program's idea of a line: what some take for its end,
or a terminal for a command, is escaped. A number that is not finite is null, as JSON has none. A lone surrogate, which
stands in the name of a file that is not UTF-8, stays an escape, so that a program can still open the file.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Set
from enum import Enum
from pathlib import PurePath
from typing import Any

import msgspec

_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")  # JSON itself escapes what is below the blank


def encoded(value: object) -> bytes:
    """`value` as JSON in UTF-8, without a line break. Raises TypeError for what is no record, as a function is none."""
    return _ESCAPED.sub(_escape, _dumped(value, separators=(",", ":"))).encode()


def text(value: object) -> str:
    """The same as a string, with a blank behind each comma and colon."""
    return _ESCAPED.sub(_escape, _dumped(value))


def indented(value: object) -> str:
    """The same for a file that people read, too: a field a line, and a line break behind the last."""
    return _ESCAPED.sub(_escape, _dumped(value, indent=2)) + "\n"


def plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON has
    """`value` of what JSON has: a record by the names of its fields, bytes in hexadecimal, a set in order.

    A record that is one of several kinds names its own, as `type`, where it says which it is.
    """
    fields = _fields(value)
    if fields is not None:
        return {_key(name): plain(each) for name, each in fields.items()}
    found: Any
    match value:
        case Enum():
            found = plain(value.value)
        case str() | int() | None:  # bool is an int
            found = value
        case float():
            found = value if math.isfinite(value) else None
        case bytes() | bytearray() | memoryview():
            found = bytes(value).hex()
        case PurePath():
            found = str(value)
        case Set():
            found = sorted((plain(each) for each in value), key=repr)
        case list() | tuple():
            found = [plain(each) for each in value]
        case _:
            found = msgspec.to_builtins(value)  # dates, UUIDs and the like
    return found


def _dumped(value: object, **layout: Any) -> str:  # noqa: ANN401 - as json.dumps has it
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, **layout)


def _fields(value: object) -> Mapping[Any, object] | None:
    """The fields of a record, the items of a mapping; None for anything else."""
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        named: dict[str, object] = {str(config.tag_field): config.tag} if config.tag is not None else {}
        own = zip(value.__struct_encode_fields__, msgspec.structs.astuple(value), strict=True)
        return named | {name: each for name, each in own if each is not msgspec.UNSET}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        named_tuple: dict[str, object] = value._asdict()
        return named_tuple
    return value if isinstance(value, Mapping) else None


def _key(name: object) -> str:
    """The name of a field, or what stands for it where it is none."""
    found = plain(name)
    return found if isinstance(found, str) else text(found)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
