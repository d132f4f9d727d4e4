"""Removal of fields that a client sends as null because it has not set them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.inspect import ListType, NoneType, StructType, Type, UnionType, type_info


def without_unset(value: Any, kind: type) -> Any:  # noqa: ANN401 - whatever JSON has
    """Return JSON's value for a record of `kind`, without each optional field that is null but may not be."""
    return _without(value, type_info(kind))


def _without(value: Any, kind: Type) -> Any:  # noqa: ANN401
    for each in _parts(kind):
        if isinstance(each, StructType) and isinstance(value, dict):
            fields = {field.encode_name: field for field in each.fields}
            unset = {
                name
                for name, field in fields.items()
                if not field.required and not any(isinstance(part, NoneType) for part in _parts(field.type))
            }
            return {
                name: _without(one, fields[name].type) if name in fields else one
                for name, one in value.items()
                if one is not None or name not in unset
            }
        if isinstance(each, ListType) and isinstance(value, list):
            return [_without(one, each.item_type) for one in value]
    return value


def _parts(kind: Type) -> Iterator[Type]:
    yield from kind.types if isinstance(kind, UnionType) else (kind,)
