"""Configuration: one TOML file per daemon, read into one frozen record; unknown keys are refused by name.

Relative paths in a file begin at its folder, so that a folder with its files can be moved and copied.
"""

from __future__ import annotations

import difflib
import re
import tomllib
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


def load(path: Path, kind: type[T]) -> T:
    """The configuration in the TOML file `path`. Raises BadConfiguration with the line to mend."""
    path = path.absolute()
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # some editors write a mark
    except FileNotFoundError as error:
        raise BadConfiguration(f"no configuration file {path}", "name one with --config, or run: hocket up") from error
    except UnicodeDecodeError as error:
        raise BadConfiguration(f"{path} is not UTF-8: {error.reason}", "save it as UTF-8") from error
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadConfiguration(f"{path}: {error}", "mend the file") from error
    return from_values(located(values, kind, path.parent), kind, str(path))


def path_from(folder: Path, value: str) -> str:
    """A path as it is from `folder`; empty where it is none."""
    return str(folder / paths.expanded(Path(value))) if value else ""


def endpoint_from(folder: Path, value: str) -> str:
    """An endpoint, the path of an ipc one as it is from `folder`."""
    return IPC + path_from(folder, value.removeprefix(IPC)) if value.startswith(IPC) else value


def located(values: dict[str, Any], kind: type[msgspec.Struct], folder: Path) -> dict[str, Any]:
    """`values` with every relative path in them taken from `folder`."""
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
    """The same from plain values; `origin` names them in errors."""
    _refuse_unknown(values, kind, origin, "")
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise BadConfiguration(f"{origin}: {_plain(str(error))}", "mend this key") from error


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


def _plain(text: str) -> str:
    return re.sub(r" - at `\$\.?(.*)`$", r" (key '\1')", text)
