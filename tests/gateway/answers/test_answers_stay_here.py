"""Headers of every answer, pages of other ports, types of bodies, and requests whose length is ambiguous."""

from __future__ import annotations

import json

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import SHORT, USER, Served
from test_guarded import raw

from hocket_gateway.http.strict_http import has_two_lengths
from waiting import WAIT_S

CHAT = "/v1/chat/completions"
BODY = json.dumps({"model": "hocket", "messages": USER, **SHORT}).encode()
JSON = {"content-type": "application/json"}


def post(front: Served, content: bytes = BODY, path: str = CHAT, **headers: str) -> httpx2.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(front.url + path, content=content, headers=named, timeout=WAIT_S)


def test_a_page_of_another_port_changes_nothing(front: Served) -> None:
    """What else listens on this machine may be another user's. The gateway's own page may."""
    kind = "application/json"
    for origin in ("http://localhost:3000", "http://127.0.0.1", "https://localhost", f"http://localhost:{front.port}"):
        refused = post(front, content_type=kind, origin=origin)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "bad_origin"), origin
        for method, path in (("PUT", "/watched/tmp"), ("PUT", "/documents/a.md"), ("DELETE", "/documents/a.md")):
            assert httpx2.request(method, front.url + path, headers={"origin": origin}).status_code == 403
    assert post(front, content_type=kind, origin=front.url).status_code == 200
    assert post(front, content_type=kind, origin=front.url.upper().replace("HTTP:", "http:")).status_code == 200


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json"])
def test_a_body_that_is_not_said_to_be_json_is_refused(front: Served, kind: str) -> None:
    """These are what a page of others may send without asking first."""
    for path in (
        CHAT,
        "/v1/completions",
        "/v1/responses",
        "/v1/embeddings",
        "/api/chat",
        "/api/embed",
        "/link",
        "/mcp",
    ):
        named = {"content_type": kind} if kind else {}
        assert post(front, path=path, **named).status_code == 415, path


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/merge+json"])
def test_a_body_of_json_is_taken(front: Served, kind: str) -> None:
    assert post(front, content_type=kind).status_code == 200


def test_every_answer_is_kept_by_nobody_and_shown_in_no_page_of_others(front: Served) -> None:
    """Refusals, errors and streams, too; the page's own files may be asked for again."""
    answers = [
        httpx2.get(front.url + path, timeout=WAIT_S)
        for path in ("/health", "/v1/models", "/api/tags", "/documents", "/documents/device-0", "/nothing", "/status")
    ]
    answers += [
        post(front),
        post(front, content_type="application/json"),
        post(front, BODY[:-1] + b', "stream": true}', content_type="application/json"),
        post(front, path="/mcp", content_type="application/json"),
        httpx2.get(front.url + "/v1/models", headers={"host": "evil.example"}),
    ]
    for answer in answers:
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"], answer.url
        assert answer.headers.get_list("cross-origin-resource-policy") == ["same-origin"], answer.url
        assert answer.headers.get_list("cache-control") == ["no-store"], answer.url
    page = httpx2.get(front.url + "/page/app.js")
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "lengths",
    [
        ["Content-Length: {0}", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "content-length: 0"],
        ["Content-Length: {0}", "Content-Length: {0}"],
        ["Content-Length: {0}", "CONTENT-LENGTH: 0"],
        ["Content-Length: {0}, {0}"],
        ["Content-Length: {0},"],
        ["Content-Length: +{0}"],
        ["Content-Length: -1"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked, identity"],
        ["Transfer-Encoding: xchunked"],
    ],
)
def test_a_length_that_is_said_twice_ends_the_connection(front: Served, lengths: list[str]) -> None:
    """What comes behind such a request is read as no request."""
    head = "\r\n".join([f"POST {CHAT} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *lengths])
    smuggled = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = raw(front, head.format(len(BODY)).encode() + b"\r\n\r\n" + BODY + smuggled)
    assert (answer.split()[1], answer.count(b"HTTP/1.1")) in [(b"400", 1), (b"501", 1)]
    assert b"connection: close" in answer.lower()
    assert b"nosniff" in answer


@given(names=st.lists(st.sampled_from(["Content-Length", "transfer-encoding", "X-Length", "Content-Lengths"])))
@settings(max_examples=50, deadline=None)
def test_a_head_says_its_length_once_or_not_at_all(names: list[str]) -> None:
    """Whatever stands around it, and however it is spelled; not in a value."""
    head = "GET / HTTP/1.1\r\n" + "".join(f"{name}: content-length: 5\r\n" for name in names)
    said = sum(name.lower() in ("content-length", "transfer-encoding") for name in names)
    assert has_two_lengths(head.encode()) == (said > 1)
