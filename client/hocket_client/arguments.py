"""What a caller may say: the names and types that a method declares, checked before anything is sent."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import reprlib
from collections.abc import Callable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints

from hocket_bus.errors import BadRequest

P = ParamSpec("P")
R = TypeVar("R")

_WORDS = {str: "text", bool: "True or False", int: "a whole number", float: "a number", NoneType: "None"}
_WORDS[Path] = "a pathlib.Path"


def checked(method: Callable[P, R]) -> Callable[P, R]:
    """Raises BadRequest that names the argument where there is none of this name, or it is of another type."""
    called = method.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    signature = inspect.signature(method)

    @functools.cache
    def types() -> dict[str, Any]:  # not before all classes that are named are there
        found = get_type_hints(method)
        options = [get_args(found.pop(name))[0] for name in list(found) if get_origin(found[name]) is Unpack]
        return {name: found[name] for name in signature.parameters if name in found} | {
            name: kind for each in options for name, kind in get_type_hints(each).items()
        }

    @functools.wraps(method)
    def check(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in types():
                raise BadRequest(f"{called} has no argument '{name}'", _meant(name, list(types())))
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise BadRequest(f"{called}: {error}", f"it takes {', '.join(types())}") from error
        for name, value in (given | kwargs).items():
            if name in types():
                _check(name, value, types()[name])
        return method(*args, **kwargs)

    return check


def _check(name: str, value: object, kind: Any) -> None:  # noqa: ANN401 - an annotation
    if not _fits(value, kind):
        raise BadRequest(f"{name} is {reprlib.repr(value)}", f"give {_takes(kind)}")
    if name.endswith("_s") and isinstance(value, int | float) and value < 0:
        raise BadRequest(f"{name} is {value:g}", "give seconds, 0 or more")


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - an annotation
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(kind))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if origin is tuple:  # of texts, as many as there are
        return isinstance(value, list | tuple) and all(_fits(each, get_args(kind)[0]) for each in value)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and _is_number(value)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _is_number(value: float) -> bool:
    try:
        return not math.isnan(value)
    except OverflowError:  # a whole number that is greater than any
        return False


def _takes(kind: Any) -> str:  # noqa: ANN401 - an annotation
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return " or ".join(_takes(each) for each in get_args(kind))
    if origin is Literal:
        return f"one of {', '.join(get_args(kind))}"
    return "a list of texts" if origin is tuple else _WORDS[kind]


def _meant(name: str, known: list[str]) -> str:
    """The argument that was probably meant, or all there are."""
    near = difflib.get_close_matches(name, known, n=1)
    if "timeout" in name:
        near = [each for each in known if each.endswith("_s")] or near
    return f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"
