"""Configuration: one TOML file per daemon, read into one frozen record. Unknown keys are refused by name.

Relative paths in a file begin at its folder, so that a folder with its files can be moved and copied. Keys that few
people have a reason to change stand together in the table [expert], each with its own table's name before it.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from msgspec.inspect import Metadata, StructType, Type

from . import paths
from .errors import BadConfiguration

T = TypeVar("T", bound=msgspec.Struct)
IPC = "ipc://"
_IS = "is"
FilePath = Annotated[str, Meta(extra={_IS: "path"})]  # empty: none
Endpoint = Annotated[str, Meta(extra={_IS: "endpoint"})]
EXPERT = "expert"
FOR_EXPERTS = Meta(extra={EXPERT: True})  # of a key that stands in [expert]


def load(path: Path, kind: type[T]) -> T:
    """Read the configuration in the TOML file `path`. Raises BadConfiguration that names what to correct."""
    path = path.absolute()
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # some editors write a mark
    except FileNotFoundError as error:
        raise BadConfiguration(f"no configuration file {path}", "name one with --config, or run: hocket up") from error
    except UnicodeDecodeError as error:
        raise BadConfiguration(f"{path} is not UTF-8: {error.reason}", "save it as UTF-8") from error
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadConfiguration(f"{path}: {error}", "fix the file") from error
    return from_values(located(values, kind, path.parent), kind, str(path))


def quoted(value: str | int | Sequence[str]) -> str:
    """Return a value in TOML's syntax. TOML escapes in strings what JSON escapes, and DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def path_from(folder: Path, value: str) -> str:
    """Return a path resolved against `folder`, with `~` expanded; an empty one stays empty."""
    return str(folder / paths.expanded(Path(value))) if value else ""


def endpoint_from(folder: Path, value: str) -> str:
    """Return an endpoint; the path of an ipc endpoint is resolved against `folder`."""
    return IPC + path_from(folder, value.removeprefix(IPC)) if value.startswith(IPC) else value


def located(values: dict[str, Any], kind: type[msgspec.Struct], folder: Path) -> dict[str, Any]:
    """Return `values` with every relative path in them resolved against `folder`."""
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, StructType)
    return _located(values, info, folder)


def _located(values: dict[str, Any], info: StructType, folder: Path) -> dict[str, Any]:
    types = {field.encode_name: field.type for field in info.fields}
    return {name: _placed(value, types.get(name), folder) for name, value in values.items()}


def _placed(value: object, type: Type | None, folder: Path) -> object:
    if isinstance(value, dict) and isinstance(type, StructType):
        return _located(value, type, folder)
    kind = (type.extra or {}).get(_IS) if isinstance(type, Metadata) else None
    if kind is None or not isinstance(value, str):
        return value
    return path_from(folder, value) if kind == "path" else endpoint_from(folder, value)


def from_values(values: dict[str, Any], kind: type[T], origin: str) -> T:
    """Build a configuration record from plain values; `origin` names them in errors. Raises BadConfiguration."""
    values = _gathered(values, kind, origin)
    _refuse_unknown(values, kind, origin, "")
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise BadConfiguration(f"{origin}: {_plain(str(error))}", "fix this key") from error


def _refuse_unknown(values: dict[str, Any], kind: type[msgspec.Struct], origin: str, table: str) -> None:
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in values.items():
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1, cutoff=0.0)
            hint = f"did you mean '{near[0]}'?" if near else "remove it"
            raise BadConfiguration(f"{origin}: unknown key '{table}{key}'", hint)
        inner = fields[key]
        if isinstance(value, dict) and isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            _refuse_unknown(value, inner, origin, f"{table}{key}.")


def expert_keys(kind: type[msgspec.Struct]) -> set[str]:
    """Return the dotted names of the keys that belong in [expert]."""
    return {name for name, is_expert in _keys(kind).items() if is_expert}


def is_for_experts(type: Type) -> bool:
    """Tell whether a field of this type belongs in [expert]."""
    return isinstance(type, Metadata) and bool((type.extra or {}).get(EXPERT))


def _keys(kind: type[msgspec.Struct]) -> dict[str, bool]:
    """Return every key of a file by its dotted name, and whether it belongs in [expert]."""
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, StructType)
    return dict(_named(info, ""))


def _named(info: StructType, table: str) -> Iterator[tuple[str, bool]]:
    for field in info.fields:
        name = f"{table}{field.encode_name}"
        if isinstance(field.type, StructType):
            yield from _named(field.type, f"{name}.")
        else:
            yield name, is_for_experts(field.type)


def _gathered(values: dict[str, Any], kind: type[msgspec.Struct], origin: str) -> dict[str, Any]:
    """Move the values of [expert] into their own tables. Raises BadConfiguration for a key in the wrong place."""
    rest = {name: dict(value) if isinstance(value, dict) else value for name, value in values.items()}
    expert = rest.pop(EXPERT, {})
    if not isinstance(expert, dict):
        raise BadConfiguration(f"{origin}: '{EXPERT}' is a table", f"write [{EXPERT}], and its keys below")
    given, known = flat(expert), _keys(kind)
    for key in sorted(flat(rest).keys() & known.keys()):
        if known[key]:
            raise BadConfiguration(f"{origin}: the key '{key}' belongs in [expert]", f"put it there: {key} = …")
    for key, value in given.items():
        table, _, name = key.rpartition(".")
        if not known.get(key, True):  # one that there is not is named by whoever refuses unknown keys
            remedy = f"write under [{table}]: {name} = …" if table else "write it before all tables"
            raise BadConfiguration(f"{origin}: the key '{key}' does not belong in [expert]", remedy)
        own = rest.setdefault(table, {}) if table else rest
        if isinstance(own, dict):  # anything else is refused by its type
            own[name] = value
    return rest


def flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the values of nested tables in one dict by dotted name."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {before + name: value}
    return found


def _plain(text: str) -> str:
    return re.sub(r" - at `\$\.?(.*)`$", r" (key '\1')", text)
