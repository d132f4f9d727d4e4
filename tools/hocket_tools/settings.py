"""The keys of a daemon's file, read from the settings' own types, defaults and descriptions; knows no daemon."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec
from msgspec import Struct
from msgspec.inspect import Field, Metadata, StructType, Type

from hocket_bus.config import EXPERT, is_for_experts, quoted

WIDTH = 100
EXPERT_INTRODUCTION = "Settings that few people need to change. Each key begins with the name of its table."

Value = str | bool | int | float | tuple[str, ...] | dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the file; `default` is None where it must be set."""

    name: str
    default: Value | None
    description: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the file, by its dotted name, which is empty for the keys before all tables."""

    name: str
    introduction: str
    keys: tuple[Key, ...]


def tables(kind: type[Struct]) -> list[Table]:
    """Return the tables of a file, the keys before them first, and [expert] last."""
    found = list(_tables("", msgspec.inspect.type_info(kind)))
    return [table for table in found if table.keys or not table.name] + _expert(kind)


def commented(kind: type[Struct], given: Mapping[str, Value]) -> str:
    """Return a whole file as TOML: the values `given` by dotted name, and all other keys commented out, with defaults.

    Keys that must be set must be given.
    """
    return "\n".join(_table_text(table, given) for table in tables(kind))


def toml(value: Value) -> str:
    """The value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(name)} = {quoted(names)}" for name, names in value.items()) + "}"
    if isinstance(value, str | bool | tuple):
        return quoted(value)
    return f"{value:_}" if value >= 10_000 else repr(value)


def _tables(name: str, info: Type) -> Iterator[Table]:
    assert isinstance(info, StructType)
    yield Table(name, _introduction(info.cls), tuple(_keys(info)))
    for field in info.fields:
        if isinstance(nested := _bare(field), StructType):
            yield from _tables(f"{name}.{field.encode_name}".lstrip("."), nested)


def _keys(info: StructType) -> Iterator[Key]:
    for field in info.fields:
        if not isinstance(_bare(field), StructType) and not is_for_experts(field.type):
            yield Key(field.encode_name, _default(field), _description(field))


def _expert(kind: type[Struct]) -> list[Table]:
    keys = tuple(_expert_keys("", msgspec.inspect.type_info(kind)))
    return [Table(EXPERT, EXPERT_INTRODUCTION, keys)] if keys else []


def _expert_keys(name: str, info: Type) -> Iterator[Key]:
    assert isinstance(info, StructType)
    for field in info.fields:
        dotted = f"{name}.{field.encode_name}".lstrip(".")
        if isinstance(nested := _bare(field), StructType):
            yield from _expert_keys(dotted, nested)
        elif is_for_experts(field.type):
            yield Key(dotted, _default(field), _description(field))


def _default(field: Field) -> Value | None:
    if field.required:
        return None
    if field.default is msgspec.NODEFAULT:
        assert field.default_factory is not msgspec.NODEFAULT
        made: Value = field.default_factory()
        return made
    value: Value = field.default
    return value


def _description(field: Field) -> str:
    schema = field.type.extra_json_schema if isinstance(field.type, Metadata) else None
    return str((schema or {}).get("description", ""))


def _bare(field: Field) -> Type:
    return field.type.type if isinstance(field.type, Metadata) else field.type


def _introduction(kind: type) -> str:
    return " ".join((kind.__doc__ or "").partition("\n\n")[0].split())


def _table_text(table: Table, given: Mapping[str, Value]) -> str:
    head = f"[{table.name}]\n{_comment(table.introduction)}" if table.name else _comment(table.introduction)
    before = "" if table.name in ("", EXPERT) else f"{table.name}."
    values = [(key, given.get(before + key.name)) for key in table.keys]
    in_force = [_line(key, value) for key, value in values if value is not None]
    others = [_line(key, key.default, "#") for key, value in values if value is None]
    return "\n".join([head, *in_force, *others])


def _line(key: Key, value: Value | None, before: str = "") -> str:
    assert value is not None, f"{key.name} must be set"
    return f"{_comment(key.description)}{before}{key.name} = {toml(value)}\n"


def _comment(text: str) -> str:
    lines = textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ")
    return "".join(f"{line}\n" for line in lines)
