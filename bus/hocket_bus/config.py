"""Configuration: one TOML file per daemon, read into one frozen record; unknown keys are refused by name."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from .errors import BadConfiguration

T = TypeVar("T", bound=msgspec.Struct)


def load(path: Path, kind: type[T]) -> T:
    """The configuration in the TOML file `path`. Raises BadConfiguration with the line to mend."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BadConfiguration(f"no configuration file {path}", "name one with --config, or run: hocket up") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadConfiguration(f"{path}: {error}", "mend the file") from error
    return from_values(values, kind, str(path))


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
