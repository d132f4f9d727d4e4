"""Records found by the schema and filled in every field with values that JSON finds hard; and their way back."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import math
import random
import sys
import types
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

import house

WORDS = ("", "plain", 'a "quoted" \\ / word', "".join(map(chr, range(32))), "\x7f\x80\x85\x9f", "a\u2028b\u2029c")
SURROGATES = ("\ud800", "not UTF-8: \udcff.md", "\udfff\ud800")
TEXTS = (*WORDS, *SURROGATES, "\u202e\ufeff\0", "ß 中文 \U0001f600", "</script>", "NaN", "null")
NUMBERS = (0, 1, -1, 2**53 + 1, 2**63, 2**64, -(10**40))
FLOATS = (0.0, 0.1, -1e308, 5e-324, math.nan, math.inf, -math.inf)
LISTS: tuple[type, ...] = (list, Sequence, Collection)
DEPTH = 6


class NoData(Exception):
    """A type that is not data, such as a socket's."""


def imported(packages: Collection[str]) -> Iterator[types.ModuleType]:
    """All modules of the packages, but for those that need what is not installed, or that are run by their import."""
    for path in house.files(packages=packages):
        if path.stem != "__main__":
            try:
                yield importlib.import_module(house.module_of(path))
            except ModuleNotFoundError as error:
                if str(error.name).startswith("hocket"):
                    raise


def record_types(packages: Collection[str]) -> list[type]:
    """Every record class that the packages' modules define or use, wherever in the program it is from."""
    for _ in imported(packages):
        pass
    modules = [module for name, module in sorted(sys.modules.items()) if name.partition(".")[0] in packages]
    found = {each for module in modules for each in vars(module).values() if isinstance(each, type) and is_record(each)}
    return sorted((each for each in found if each.__module__.startswith("hocket_")), key=str)


def is_record(kind: object) -> bool:
    """Whether objects of it have named fields and are data."""
    if not isinstance(kind, type):
        return False
    return issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")


def names_of(kind: type) -> list[str]:
    """The names of a record's fields, as programs read them."""
    if issubclass(kind, msgspec.Struct):
        return list(kind.__struct_encode_fields__)
    return [each.name for each in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else list(kind._fields)  # type: ignore[attr-defined]


def hints_of(kind: type) -> list[Any]:
    """The types of a record's fields, in their order. Raises NoData."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as error:  # imported for the type checker alone
        raise NoData(str(error)) from error
    return [hints[name] for name in getattr(kind, "__struct_fields__", None) or names_of(kind)]


def filled(kind: Any, rng: random.Random, depth: int = 0) -> Any:
    """A value of a type, all its optional parts there as long as it is not too deep. Raises NoData."""
    kind, parts = bare(kind)
    origin = get_origin(kind) or kind
    if origin in (Union, types.UnionType):
        some = [each for each in parts if each is not type(None)]
        return filled(rng.choice(some if depth < DEPTH else list(parts)), rng, depth)
    if origin is Literal:
        return rng.choice(parts)
    if origin is Any or origin is object:
        return rng.choice([*TEXTS, *NUMBERS, *FLOATS, [None, {"é": b""}], True])
    if origin is tuple and parts and parts[-1] is not Ellipsis:
        return tuple(filled(each, rng, depth + 1) for each in parts)
    if origin in (*LISTS, tuple, set, frozenset, Set):
        some = [filled(parts[0] if parts else str, rng, depth + 1) for _ in range(2 if depth < DEPTH else 0)]
        return (list if origin in LISTS else frozenset if origin is Set else origin)(some)
    if origin in (dict, Mapping):
        key, value = parts or (str, Any)
        return {filled(key, rng, depth + 1): filled(value, rng, depth + 1) for _ in range(2 if depth < DEPTH else 0)}
    if is_typeddict(origin):
        return {name: filled(each, rng, depth + 1) for name, each in get_type_hints(origin).items()}
    if not isinstance(origin, type):
        raise NoData(str(kind))
    if is_record(origin):
        return made(origin, [filled(each, rng, depth + 1) for each in hints_of(origin)])
    return leaf(origin, rng)


def leaf(kind: type, rng: random.Random) -> Any:
    """A value of a type without parts. Raises NoData."""
    if issubclass(kind, enum.Enum):
        return rng.choice(list(kind))
    leaves: dict[type, Sequence[object]] = {
        str: TEXTS, bool: (True, False), int: NUMBERS, float: FLOATS, bytes: (b"", bytes(range(256)), bytes(16)),
        Path: tuple(Path("/", text.replace("\0", "")) for text in TEXTS), type(None): (None,),
    }  # fmt: skip
    if kind not in leaves:
        raise NoData(str(kind))
    return rng.choice(leaves[kind])


def made(kind: type, values: Sequence[object]) -> Any:
    """A record with these values, past what its constructor might refuse."""
    if not dataclasses.is_dataclass(kind):
        named = dict(zip(getattr(kind, "__struct_fields__", None) or names_of(kind), values, strict=True))
        return kind(**named)
    record = object.__new__(kind)
    for name, value in zip(names_of(kind), values, strict=True):
        object.__setattr__(record, name, value)
    return record


def read_back(kind: Any, found: Any) -> Any:
    """What JSON's value is as one of this type; a number that was not finite is None. Raises on a field too few."""
    kind, parts = bare(kind)
    origin = get_origin(kind) or kind
    if found is None or origin is Any or origin is object:
        return found
    if origin in (Union, types.UnionType):
        return read_back(chosen(parts, found), found)
    if origin is Literal or origin in (str, bool, int, float):
        return found
    if origin is tuple and parts and parts[-1] is not Ellipsis:
        return tuple(read_back(each, one) for each, one in zip(parts, found, strict=True))
    if origin in (*LISTS, tuple, set, frozenset, Set):
        some = [read_back(parts[0] if parts else str, each) for each in found]
        return (list if origin in LISTS else frozenset if origin is Set else origin)(some)
    if origin in (dict, Mapping):
        key, value = parts or (str, Any)
        return {key_of(key, name): read_back(value, each) for name, each in found.items()}
    if is_typeddict(origin):
        return {name: read_back(each, found[name]) for name, each in get_type_hints(origin).items()}
    if is_record(origin):
        return record_of(origin, found)
    return bytes.fromhex(found) if origin is bytes else origin(found)


def record_of(kind: type, found: dict[str, Any]) -> Any:
    """The record of JSON's object, which has its fields, its tag if it is one of several, and nothing else."""
    assert set(found) == names_with_tag(kind)
    return made(kind, [read_back(hint, found[name]) for name, hint in zip(names_of(kind), hints_of(kind), strict=True)])


def tag_of(kind: type) -> object:
    """What a record says that it is, where it is one of several; else nothing."""
    return kind.__struct_config__.tag if issubclass(kind, msgspec.Struct) else None


def names_with_tag(kind: type) -> set[str]:
    """All that JSON's object of a record has."""
    return {*names_of(kind), *(["type"] if tag_of(kind) is not None else [])}


def chosen(parts: Sequence[Any], found: object) -> Any:
    """The one of several types that JSON's value is of."""
    records = [each for each in parts if is_record(each)]
    if isinstance(found, dict) and records:
        return next(
            each for each in records if names_with_tag(each) == set(found) and tag_of(each) in (None, found.get("type"))
        )
    simple = {str: str, bool: bool, int: int, float: float}.get(type(found))
    of_lists = [
        each for each in parts if isinstance(found, list) and (get_origin(bare(each)[0]) or each) in (list, tuple)
    ]
    other = [each for each in parts if each is not type(None)]
    plain = [bare(each)[0] for each in parts]
    return simple if simple in plain else of_lists[0] if of_lists else other[0]


def key_of(kind: Any, name: str) -> Any:
    """The key of a mapping, which JSON has as a name."""
    origin = bare(kind)[0]
    return read_back(origin, name) if origin not in (int, float) else origin(name)


def bare(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its bounds and names, and its parts."""
    while get_origin(kind) is Annotated or hasattr(kind, "__supertype__"):
        kind = getattr(kind, "__supertype__", None) or get_args(kind)[0]
    return kind, get_args(kind)


def finite(value: Any) -> Any:
    """A value as it can be read back: a number that is not finite is nothing, bytes of no declared type are text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_record(type(value)):
        return (
            type(value),
            [finite(getattr(value, name)) for name in getattr(value, "__struct_fields__", names_of(type(value)))],
        )
    if isinstance(value, Mapping):
        return {finite(name): finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(map(finite, value)) if not isinstance(value, tuple) else tuple(map(finite, value))
    return value.hex() if isinstance(value, bytes) else str(value) if isinstance(value, PurePath) else value
