"""`/openapi.json` describes what there is, and what it says of bodies is what is decoded."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import jsonschema
import pytest
from serving import USER, gateway
from starlette.routing import Route

from hocket_gateway.app import application
from hocket_gateway.openapi import OPERATIONS, description
from hocket_gateway.settings import ServeSettings
from waiting import WAIT_S

ELSEWHERE = {"/mcp", "/openapi.json", "/page/{name}"}  # a protocol of its own, itself, and files
BODIES = {
    "/v1/chat/completions": {"model": "hocket", "messages": USER, "stream": True, "stop": ["a"], "more": 1},
    "/v1/completions": {"model": "hocket", "prompt": "kala"},
    "/v1/responses": {"model": "hocket", "input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]},
    "/api/show": {"name": "hocket"},
    "/api/chat": {"model": "hocket", "messages": USER, "options": {"seed": 1}},
    "/api/generate": {"model": "hocket", "prompt": "kala", "think": False},
}


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


@pytest.mark.parametrize("path", BODIES)
def test_a_body_that_is_taken_fits(path: str) -> None:
    """And one of another type does not."""
    schema = schema_of(path)
    jsonschema.validate(BODIES[path], schema)
    for wrong in ([], {**BODIES[path], "model": 3}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_it_is_there_without_a_key(tmp_path: Path) -> None:
    """It says what hocket takes, and nothing of anybody."""
    keys = tmp_path / "people.json"
    keys.write_text("[]")
    keys.chmod(0o600)
    with gateway(ServeSettings(port=0, people=str(keys), device=f"ipc://{tmp_path}/none")) as port:
        got = httpx2.get(f"http://127.0.0.1:{port}/openapi.json", timeout=WAIT_S)
        assert (got.status_code, got.json()) == (200, description())
