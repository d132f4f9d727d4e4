"""A command's options from a dataclass of settings; lists of numbers and words with commas between them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from hocket_lab.reporting.option import Option

DATA = Path("../shared/data")
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Where to write; the picture goes beside.")]
Data = Annotated[
    Path, typer.Option("--data", metavar="FOLDER", help="The folder of the open corpora, see lab/docs/benchmarks.md.")
]
SHARED: dict[str, tuple[Any, Path | None]] = {"data": (Data, DATA), "json_path": (Json, None)}


@dataclass(frozen=True)
class _Field:
    """A field of the settings that is an option: `type` is what typer reads, a sequence being a text of `item`s."""

    field: str
    option: Option
    type: Any
    item: type | None
    default: Any

    @property
    def name(self) -> str:
        return self.option.name or f"--{self.field.replace('_', '-')}"

    def parameter(self) -> inspect.Parameter:
        """Return the parameter that typer reads."""
        option = self.option
        bounds: dict[str, Any] = {} if self.item else {"min": option.min, "max": option.max}
        info = typer.Option(self.name, help=option.help, metavar=option.metavar, **bounds)
        default = ",".join(map(_shown, self.default)) if self.item else self.default
        type = Literal[tuple(option.choices)] if option.choices and not self.item else self.type
        return _parameter(self.field, Annotated[type, info], default)

    def value(self, given: object) -> object:
        """Return the setting for what was given. Raises BadParameter that names the option."""
        if self.item is None:
            return given
        text, option = str(given), self.option
        if not text and not self.default:
            return ()
        if self.item is str:
            return words(text, self.name, option.choices)
        low = -math.inf if option.min is None else option.min
        high = math.inf if option.max is None else option.max
        return counts(text, self.name, low, high) if self.item is int else numbers(text, self.name, low, high)


def command_of(run: Callable[..., bool], settings: type[Any]) -> Callable[..., None]:
    """Return a function for typer with the options of `settings` and what `run` takes of SHARED; status 1 on a miss.

    `run` is called with `settings` and with the shared options that it names, and tells whether no claim misses.
    """
    own = _fields(settings)
    shared = [name for name in inspect.signature(run).parameters if name in SHARED]

    def command(**given: object) -> None:
        made = settings(**{field.field: field.value(given[field.field]) for field in own})
        if not run(settings=made, **{name: given[name] for name in shared}):
            raise typer.Exit(1)

    parameters = [field.parameter() for field in own] + [_parameter(name, *SHARED[name]) for name in sorted(shared)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what typer reads
    return command


def _fields(settings: type[Any]) -> list[_Field]:
    types = get_type_hints(settings, include_extras=True)
    found = []
    for field in fields(settings):
        base, *extras = get_args(types[field.name]) if get_origin(types[field.name]) is Annotated else (None,)
        for option in extras:
            item = get_args(base)[0] if get_origin(base) is Sequence else None
            found.append(_Field(field.name, option, str if item else base, item, field.default))
    return found


def _parameter(name: str, annotation: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _shown(value: float | str) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def numbers(text: str, option: str, minimum: float = 0.0, maximum: float = math.inf) -> list[float]:
    """The finite numbers, all in [minimum, maximum], of a list with commas. Raises BadParameter that names `option`."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [math.nan]
    if not all(minimum <= value <= maximum and math.isfinite(value) for value in values):
        end = "on" if maximum == math.inf else f"to {maximum:.10g}"
        text = f'"{text}" is no list of numbers from {minimum:g} {end}, with commas between them'
        raise typer.BadParameter(text, param_hint=option)
    return values


def counts(text: str, option: str, minimum: float = 0, maximum: float = math.inf) -> list[int]:
    """Return the whole numbers of a list with commas. Raises BadParameter that names `option`."""
    values = numbers(text, option, minimum, maximum)
    if not all(value.is_integer() for value in values):
        raise typer.BadParameter(f'"{text}" has other than whole numbers', param_hint=option)
    return [int(value) for value in values]


def words(text: str, option: str, choices: Sequence[str] = ()) -> list[str]:
    """Return the words of a list with commas, each one of `choices` where there are any.

    Raises BadParameter that names `option`.
    """
    names = text.split(",")
    wrong = [name for name in names if choices and name not in choices]
    if wrong:
        raise typer.BadParameter(f'"{wrong[0]}" is not one of {", ".join(choices)}', param_hint=option)
    return names
