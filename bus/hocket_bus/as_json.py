"""JSON encoder for records: everything that programs read, from the command line and over HTTP, is written by it. Pure.

JSON here is strict (RFC 8259), encoded in UTF-8, and on one line in the view of every program: characters that some
take for the end of a line, or a terminal for a command, are escaped. A number that is not finite becomes null, as JSON
has none. A lone surrogate, as in a file name that is not UTF-8, stays an escape, so that a program can open the file.
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
    """Return `value` as JSON in UTF-8, without a line break. Raises TypeError for a value without a JSON form."""
    return _ESCAPED.sub(_escape, _dumped(value, separators=(",", ":"))).encode()


def text(value: object) -> str:
    """Return `value` as a string of JSON on one line, with a blank after each comma and colon."""
    return _ESCAPED.sub(_escape, _dumped(value))


def indented(value: object) -> str:
    """Return `value` as JSON for a file that people read, too: one field per line, and a line break at the end."""
    return _ESCAPED.sub(_escape, _dumped(value, indent=2)) + "\n"


def plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON has
    """Return `value` in JSON's types: a record as a dict by field name, bytes in hexadecimal, a set sorted.

    A tagged record, one of several kinds, carries its tag in its tag field, such as `type`.
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
    """Return the fields of a record or the items of a mapping; None for anything else."""
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
    """Return a mapping's key as a string: itself if it is one in JSON, else its JSON text."""
    found = plain(name)
    return found if isinstance(found, str) else text(found)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
