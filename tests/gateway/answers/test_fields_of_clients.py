"""Laws of what clients send beside what is asked for: null for what is not set, and slashes at an address's end.

No test saw a field that refuses null, since each sent what its author thought of: here every field of every body is
found by its record.
"""

from __future__ import annotations

import json
from typing import Any

import httpx2
import msgspec
import pytest
from serving import SHORT, USER, Served

from hocket_gateway.http.unset import without_unset
from hocket_gateway.openapi import JSON, OPERATIONS, Operation
from waiting import WAIT_S

TAKING = [each for each in OPERATIONS if isinstance(each.body, type) and issubclass(each.body, msgspec.Struct)]
PLAIN = [each for each in OPERATIONS if each.method == "get" and "{" not in each.path and each.path != "/"]


def records(kind: msgspec.inspect.Type) -> list[msgspec.inspect.StructType]:
    """All records of a body, those within it, too."""
    if isinstance(kind, msgspec.inspect.StructType):
        return [kind, *(found for field in kind.fields for found in records(field.type))]
    inner = kind.types if isinstance(kind, msgspec.inspect.UnionType) else [getattr(kind, "item_type", None)]
    return [found for each in inner if isinstance(each, msgspec.inspect.Type) for found in records(each)]


def required(field: msgspec.inspect.Field) -> object:
    """A value of a field that must be there."""
    kinds = field.type.types if isinstance(field.type, msgspec.inspect.UnionType) else (field.type,)
    values = {msgspec.inspect.ListType: [], msgspec.inspect.IntType: 0, msgspec.inspect.BoolType: True}
    return values.get(type(kinds[0]), getattr(kinds[0], "values", ("user",))[0])


@pytest.mark.parametrize("taking", TAKING, ids=lambda each: each.path)
def test_null_is_what_is_not_set(taking: Operation) -> None:
    """For each optional field of each record in each body alone, and for all of them at once."""
    assert isinstance(taking.body, type)
    for record in records(msgspec.inspect.type_info(taking.body)):
        least = {field.encode_name: required(field) for field in record.fields if field.required}
        unset = [field.encode_name for field in record.fields if not field.required]
        for names in [*([name] for name in unset), unset]:
            sent = json.loads(json.dumps({**least, **dict.fromkeys(names)}))
            msgspec.convert(without_unset(sent, record.cls), record.cls)


def test_a_field_that_must_be_there_is_asked_for_all_the_same(front: Served) -> None:
    """Null is no value for it; and one that may be null stays so."""
    answer = httpx2.post(f"{front.url}/v1/chat/completions", json={"model": None, "messages": None}, timeout=WAIT_S)
    assert answer.status_code == 400
    turns = [*USER, {"role": "assistant", "content": None, "name": None}, *USER]
    nulls: dict[str, Any] = dict.fromkeys(
        ("marks", "stream", "tools", "stop", "n", "logprobs", "user", "no such field")
    )
    asked = {"model": "hocket", "messages": turns, **SHORT, **nulls}
    assert httpx2.post(f"{front.url}/v1/chat/completions", json=asked, timeout=WAIT_S).status_code == 200


@pytest.mark.parametrize("plain", PLAIN, ids=lambda each: each.path)
def test_an_address_with_a_slash_at_its_end_is_that_without_one(front: Served, plain: Operation) -> None:
    found = [httpx2.get(f"{front.url}{plain.path}{end}", timeout=WAIT_S) for end in ("", "/", "//")]
    assert {each.status_code for each in found} == {found[0].status_code}
    if JSON in plain.gives and found[0].status_code == 200:
        assert found[0].json().keys() == found[1].json().keys() == found[2].json().keys()


def test_what_is_posted_to_such_an_address_is_answered_at_once(front: Served) -> None:
    """And not led elsewhere: many clients do not send a body twice."""
    asked = {"model": "hocket", "messages": USER, **SHORT}
    assert httpx2.post(f"{front.url}/v1/chat/completions/", json=asked, timeout=WAIT_S).status_code == 200
