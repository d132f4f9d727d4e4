"""`/openapi.json` describes what there is, and what it says of bodies is what is decoded."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import jsonschema
import pytest
from serving import Served, gateway
from starlette.routing import Route

from hocket_gateway.app import application
from hocket_gateway.openapi import OPERATIONS, description
from hocket_gateway.settings import ServeSettings
from waiting import WAIT_S

ELSEWHERE = {"/mcp", "/openapi.json", "/page/{name}"}  # a protocol of its own, itself, and files
EXAMPLES = {each.path: each.example for each in OPERATIONS if each.example is not None}


def schema_of(path: str) -> dict[str, object]:
    """That of a body, with all that it refers to."""
    whole = description()
    body = whole["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    return {**body, "components": whole["components"]}


def test_every_path_is_described_and_no_other() -> None:
    routes = {
        (method.lower(), re.sub(r":\w+}", "}", route.path))
        for route in application(ServeSettings()).routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    there = {(method, path) for method, path in routes if path not in ELSEWHERE}
    assert there == {(each.method, each.path) for each in OPERATIONS}


@pytest.mark.parametrize("path", EXAMPLES)
def test_an_example_fits_and_is_answered(front: Served, path: str) -> None:
    """One of another type does neither; nor does a name that no model has."""
    schema, example = schema_of(path), dict(EXAMPLES[path] or {})
    jsonschema.validate(example, schema)
    assert httpx2.post(front.url + path, json=example, timeout=WAIT_S).status_code == 200
    for wrong in ([], example | {"model": 3}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
        assert httpx2.post(front.url + path, json=wrong, timeout=WAIT_S).status_code == 400
    assert httpx2.post(front.url + path, json=example | {"model": "other"}, timeout=WAIT_S).status_code == 404


def test_it_is_there_without_a_key(tmp_path: Path) -> None:
    """It says what hocket takes, and nothing of anybody."""
    keys = tmp_path / "people.json"
    keys.write_text("[]")
    keys.chmod(0o600)
    with gateway(ServeSettings(port=0, people=str(keys), device=f"ipc://{tmp_path}/none")) as port:
        got = httpx2.get(f"http://127.0.0.1:{port}/openapi.json", timeout=WAIT_S)
        assert (got.status_code, got.json()) == (200, description())
