"""Who is not let in, and what no request can do: names, pages, lengths, paths, and bytes that are no request."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import MODELS, SHORT, USER, Served, served

from hocket_gateway import server
from waiting import WAIT_S

CHAT = "/v1/chat/completions"
WHOLE = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
PAGE = "https://chat.example"
OF_JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def front(tiny_models: dict[str, Path]) -> Iterator[Served]:
    with served(tiny_models, names=("laptop.lan",), origins=(PAGE,), max_body_bytes=20_000, a_minute=100_000) as there:
        yield there


def get(front: Served, path: str, **headers: str) -> httpx2.Response:
    return httpx2.get(front.url + path, headers=headers, timeout=WAIT_S)


def raw(front: Served, request: bytes) -> bytes:
    """What comes back for these bytes, up to the end of the connection."""
    with socket.create_connection(("127.0.0.1", front.port), timeout=WAIT_S) as there:
        there.sendall(request)
        parts = []
        while part := there.recv(65_536):
            parts.append(part)
        return b"".join(parts)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8474", "[::1]:80", "LOCALHOST", "laptop.lan:1"])
def test_these_names_are_its_own(front: Served, host: str) -> None:
    assert get(front, "/v1/models", host=host).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.", "a@localhost", "localhost:x", "", "0.0.0.0", "lan"]
)
def test_a_request_for_another_name_is_refused(front: Served, host: str) -> None:
    """Which a page sends whose name was made to resolve to this machine."""
    for path in ("/v1/models", "/", "/documents/device-0"):
        refused = get(front, path, host=host)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "bad_host")


def test_a_request_with_no_host_or_two_is_refused(front: Served) -> None:
    assert b" 400 " in raw(front, b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n").splitlines()[0]
    two = raw(front, b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nConnection: close\r\n\r\n")
    assert two.split()[1] in (b"400", b"403")


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", "http://laptop.lan", PAGE])
def test_these_pages_may_ask(front: Served, origin: str) -> None:
    assert get(front, "/v1/models", origin=origin).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "file://", "http://localhost.evil", f"{PAGE}.evil"])
def test_another_page_may_not(front: Served, origin: str) -> None:
    """Not even with a request that browsers send without asking first."""
    refused = httpx2.post(
        front.url + CHAT, content="{}", headers={"origin": origin, "content-type": "text/plain"}, timeout=WAIT_S
    )
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "bad_origin")


def test_a_browser_is_told_which_page_may_ask(front: Served) -> None:
    """The named one, and no other one of elsewhere."""
    asks = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    allowed = httpx2.options(front.url + CHAT, headers={"origin": PAGE, **asks}, timeout=WAIT_S)
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, PAGE)
    assert (
        httpx2.options(front.url + CHAT, headers={"origin": "https://evil.example", **asks}, timeout=WAIT_S).status_code
        == 403
    )


def test_a_body_that_is_too_long_is_refused(front: Served) -> None:
    """Whether its length is announced or not."""
    long = json.dumps({"model": "hocket", "messages": [{"role": "user", "content": "x" * 30_000}]}).encode()
    for content in (long, iter([long[:15_000], long[15_000:]])):
        refused = httpx2.post(front.url + CHAT, content=content, headers=OF_JSON, timeout=WAIT_S)
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_long")
    head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 9999999\r\n\r\n"
    assert b" 413 " in raw(front, head.encode())


@pytest.mark.parametrize("begun", [b"", b"GET /v1/models HT", WHOLE, WHOLE + b"GET /health HT"])
def test_a_connection_that_asks_nothing_whole_ends(
    front: Served, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    """Also behind a whole request; one in work is waited for."""
    monkeypatch.setattr(server, "HEAD_S", 0.5)
    with socket.create_connection(("127.0.0.1", front.port), timeout=WAIT_S) as there:
        there.sendall(begun)
        parts = list(iter(lambda: there.recv(65_536), b""))
    assert (b" 200 " in b"".join(parts)) == begun.startswith(WHOLE)


def test_a_document_is_shown_as_text(front: Served) -> None:
    """That of the side that is asked, and nothing that a browser would run."""
    shown = get(front, "/documents/device-0")
    assert (shown.status_code, shown.text) == (200, "<script>")
    assert shown.headers["content-type"] == "text/plain; charset=utf-8"
    assert "sandbox" in shown.headers["content-security-policy"]
    assert get(front, "/documents/device-9").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/documents/../../../../etc/passwd",
        "/documents/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/documents//etc/passwd",
        "/documents/%2fetc%2fpasswd",
        "/documents/%252e%252e%252f%252e%252e%252fetc%252fpasswd",
        "/documents/%25252e%25252e/etc/passwd",
        "/documents/..%5c..%5cetc%5cpasswd",
        "/documents/..\\..\\etc\\passwd",
        "/documents/device-0%00/../../etc/passwd",
        "/documents/device-0%00.txt",
        "/documents/..%c0%af..%c0%afetc/passwd",
        "/documents/file:///etc/passwd",
        "/documents/device-0/../../../etc/passwd",
        "/page/../../people.json",
        "/page/%2e%2e%2fguard.py",
        "/page//etc/passwd",
        "/page/..%5cguard.py",
        "/page/app.js%00",
        "/documents/%00",
        "/v1/../documents/x",
        "//etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/v1/models/../../x",
    ],
)
def test_a_path_leads_to_no_file(front: Served, path: str) -> None:
    """The path is sent as it stands here."""
    answer = raw(front, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    status = int(answer.split()[1])
    assert status in (400, 404)
    assert b"root:" not in answer


@pytest.mark.parametrize("path", ["/v1/nothing", "/nothing", "/v1/audio/speech"])
def test_what_there_is_not_is_a_404_in_the_apis_shape(front: Served, path: str) -> None:
    refused = httpx2.post(front.url + path, json={}, timeout=WAIT_S)
    assert (refused.status_code, refused.json()["error"]["type"]) == (404, "invalid_request_error")
    assert get(front, CHAT).status_code == 405


@pytest.mark.parametrize(
    "body", [b"", b"x", b"[]", b"1", b"{", b"\xff\xfe", b'{"model": "\xff"}', b"[" * 9_000, b'{"a":' * 3_000, b"null"]
)
def test_what_is_no_request_is_a_400(front: Served, body: bytes) -> None:
    refused = httpx2.post(front.url + CHAT, content=body, headers=OF_JSON, timeout=WAIT_S)
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ASKED = {"prompt": "kala", "input": "kala", "max_output_tokens": 4, "options": {"num_predict": 4}}
FIELDS = (
    *("model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p"),
    *("seed", "stop", "n", "logprobs", "tools", "response_format", "logit_bias", "user"),
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": JSON}),
    max_size=3,
)
TEXTS = ("prompt", "suffix", "system", "raw", "format", "think", "options", "images", "echo", "best_of")
RESPONSES = ("input", "instructions", "store", "previous_response_id", "text", "include", "max_output_tokens")
BODIES = st.builds(
    lambda given, model, messages: {"model": model, "messages": messages, **ASKED, **SHORT, **given},
    st.dictionaries(st.sampled_from(FIELDS + TEXTS + RESPONSES), JSON, max_size=3),
    st.sampled_from(MODELS),
    MESSAGES | st.just(USER),
)
PATHS = (CHAT, "/v1/completions", "/v1/responses", "/api/chat", "/api/generate", "/api/show")


@pytest.mark.parametrize("number", [80, pytest.param(4_000, marks=[pytest.mark.long, pytest.mark.timeout(7_200)])])
def test_no_request_makes_the_gateway_fail(front: Served, number: int) -> None:
    """Whatever JSON it is: an answer, or a refusal of less than 500 in the API's shape."""

    @settings(max_examples=number)
    @given(st.sampled_from(PATHS), BODIES)
    def law(path: str, body: dict[str, object]) -> None:
        content = json.dumps(body).encode("utf-8", "replace")
        got = httpx2.post(front.url + path, content=content, headers=OF_JSON, timeout=WAIT_S)
        assert got.status_code < 500, (path, body, got.text)
        if got.status_code >= 400:
            error = got.json()["error"]
            assert isinstance(error, str) or set(error) == {"message", "type", "param", "code"}

    law()
