"""A server that refuses, fails, falls silent or is not there: one error with a remedy, and no secret in it."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
import scripted_server as scripted
import structlog
from asking import KEY, PROMPT, SHORT_S, World, fixed, then_stay
from scripted_server import CHUNKED, DONE, PLAIN, Step, event, piece, refusal, serving

from hocket_bus.errors import (
    BadConfiguration,
    BadMessage,
    BadRequest,
    Busy,
    DeadlineExceeded,
    HocketError,
    ProtocolError,
    Unavailable,
    Untrusted,
)
from ports import free_port
from waiting import WAIT_S

ECHO = {"message": f"{KEY} said: {PROMPT}"}


@pytest.mark.parametrize(
    ("answer", "kind", "remedy"),
    [
        (refusal(401, {"error": ECHO | {"code": "invalid_api_key"}}), Untrusted, "key_file"),
        (refusal(403, {"detail": PROMPT}), Untrusted, "key_file"),
        (refusal(404, {"error": ECHO}), BadConfiguration, "url, api and model"),
        (refusal(400, {"error": ECHO | {"code": "model_not_found"}}), BadConfiguration, "url, api and model"),
        (refusal(400, {"detail": f"pinned, not {PROMPT}"}), BadRequest, "model"),
        (refusal(400, {"error": ECHO | {"type": "exceed_context_size_error", "code": 400}}), BadRequest, "shorten"),
        (refusal(422, [ECHO]), BadRequest, "model"),
        (refusal(429, {"error": ECHO}, "Retry-After: 7"), Busy, "try again"),
        (refusal(429, {"error": ECHO | {"code": "insufficient_quota"}}), Unavailable, "account"),
        (refusal(503, PROMPT, "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT"), Busy, "try again"),
        (refusal(500, {"error": PROMPT}), Unavailable, "log"),
        (refusal(302, None, "Location: http://127.0.0.1:9/"), BadConfiguration, "url"),
        (refusal(204), ProtocolError, "url and api"),
        (refusal(666), Unavailable, "log"),
        (refusal(200, {"choices": [{"text": PROMPT}]}), ProtocolError, "url and api"),
        (b"HTTP/1.1 500 No\r\nContent-Length: 99\r\n\r\n{", Unavailable, "log"),
        (PROMPT.encode() + b"\r\n\r\n", Unavailable, "ask again"),
        (b"", Unavailable, "ask again"),
        (PLAIN, Unavailable, "ask again"),
        (PLAIN + b"<html>no stream</html>", Unavailable, "ask again"),
        (PLAIN + b"data: {" + PROMPT.encode() + b"\n\n", BadMessage, "url and api"),
        (PLAIN + event([PROMPT]), BadMessage, "url and api"),
        (PLAIN + event({"choices": PROMPT}), BadMessage, "url and api"),
        (PLAIN + b"data: " + b"[" * 100_000 + b"\n\n", BadMessage, "url and api"),
        (PLAIN + event({"error": ECHO}), Unavailable, "log"),
        (PLAIN + event({"error": PROMPT}), Unavailable, "log"),
        (PLAIN + event({"error": ECHO | {"code": 429}}), Busy, "try again"),
        (CHUNKED + b"zz\r\n", Unavailable, "ask again"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, Unavailable, "ask again"),
    ],
)
def test_what_is_no_text_is_one_error_that_says_what_to_do(
    tmp_path: Path, answer: bytes, kind: type[HocketError], remedy: str
) -> None:
    """Nothing has won then; neither key nor prompt is in the error or the log, whatever the server repeats."""
    with structlog.testing.capture_logs() as logged, serving(fixed(answer)) as server:
        heard = World(server.url, tmp_path).hear()
        assert len(server.requests) == 1
    assert type(heard.error) is kind
    assert remedy in heard.error.remedy
    assert not heard.fragments
    said = f"{heard.error}{heard.error!r}{heard.error.__cause__}{logged}{heard.begun!r}"
    assert KEY not in said
    assert PROMPT not in said
    assert "\n" not in str(heard.error)
    if "Retry-After: 7" in answer.decode("latin-1"):
        assert isinstance(heard.error, Busy)
        assert heard.error.retry_after_s == 7


def test_a_fault_of_our_own_tells_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what it is called, and where."""

    def fail(*_: object) -> None:
        raise KeyError(KEY + PROMPT)

    monkeypatch.setattr("hocket_daemon.engine.generators.openai.body_of", fail)
    with structlog.testing.capture_logs() as logged, serving(fixed(PLAIN)) as server:
        heard = World(server.url, tmp_path).hear()
    assert "daemon's log" in heard.error.remedy
    assert logged[0]["error"] == "KeyError"
    assert KEY not in f"{logged}{heard.error}"


@pytest.mark.parametrize(
    ("behind", "kind"),
    [
        ((), Unavailable),
        ((scripted.reset,), Unavailable),
        ((event({"error": "out of memory"}),), Unavailable),
        ((event({"error": {"code": 503}}),), Busy),
        ((b"data: {half an ev",), Unavailable),
        ((b"data: no JSON\n\n",), BadMessage),
        ((b"data: Internal Server Error\n\n", DONE), BadMessage),
        ((b"data: null\n\n", event({"choices": 7}), piece("", finish="stop")), BadMessage),
        ((event({"object": "error", "message": PROMPT, "code": 429}), DONE), Busy),
        ((b'event: error\ndata: {"message": "out of memory", "code": 503}\n\n', DONE), Busy),
        ((b"event: error\ndata: out of memory\n\n", DONE), Unavailable),
        ((b'event: error\ndata: {"error": {"code": 429}}\n\n', DONE), Busy),
    ],
)
def test_a_server_that_fails_in_the_middle_ends_a_text_once(
    tmp_path: Path, behind: tuple[Step, ...], kind: type[HocketError]
) -> None:
    """What came before is heard once; the next text is its own."""
    whole = fixed(PLAIN, piece("two"), piece("", finish="stop"), DONE)
    with serving(fixed(PLAIN, piece("one"), piece(" two"), *behind), whole) as server:
        world = World(server.url, tmp_path)
        heard = world.hear()
        # What a reset overtakes is lost on the way, and so may be a piece.
        assert heard.text == "one two" or (behind == (scripted.reset,) and "one two".startswith(heard.text))
        assert type(heard.error) is kind
        again = world.hear()
        assert (again.text, again.ends) == ("two", ["eos"])


@pytest.mark.parametrize(
    ("steps", "setting", "text"),
    [
        ((), "first_wait_s", ""),
        ((b"HTTP/1.1 200 OK\r\n",), "first_wait_s", ""),
        ((PLAIN,), "first_wait_s", ""),
        ((PLAIN, b": still here\n\n", piece(""), event({"choices": []})), "first_wait_s", ""),
        ((PLAIN, piece("one")), "piece_wait_s", "one"),
        ((PLAIN, piece("one"), b": still here\n\n", piece("")), "piece_wait_s", "one"),
        ((b"HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\n",), None, ""),
    ],
)
def test_silence_has_an_end(tmp_path: Path, steps: tuple[bytes, ...], setting: str | None, text: str) -> None:
    """Comments and empty pieces do not break it; the server is left."""
    with serving(then_stay(*steps)) as server:
        heard = World(server.url, tmp_path, **{setting or "first_wait_s": SHORT_S}).hear()
        assert heard.text == text
        if setting is None:
            assert isinstance(heard.error, Unavailable)
        else:
            assert isinstance(heard.error, DeadlineExceeded)
            assert setting in heard.error.remedy
        assert server.left.acquire(timeout=WAIT_S)


def test_a_server_that_drips_is_silent(tmp_path: Path) -> None:
    """One byte after the other of a head that never ends is no piece of a text."""

    def drip(connection: socket.socket) -> None:
        while True:
            connection.sendall(b"x")
            threading.Event().wait(SHORT_S / 20)

    with serving(fixed(b"HTTP/1.1 200 OK\r\nX: ", drip)) as server:
        assert isinstance(World(server.url, tmp_path, first_wait_s=SHORT_S).hear().error, DeadlineExceeded)


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    """Nobody at the port, nobody of the name: one line, with where."""
    for url, said in (
        (f"http://127.0.0.1:{free_port()}", "nothing listens there"),
        ("https://nowhere.invalid", "is not known here"),
    ):
        heard = World(url, tmp_path, connect_wait_s=WAIT_S).hear()
        assert type(heard.error) is Unavailable
        assert said in heard.error.text
        assert "url" in heard.error.remedy


def test_a_name_that_takes_too_long_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's resolver has none of its own."""
    found, go_on = socket.getaddrinfo, threading.Event()

    def slow(*asked: object, flags: int = 0, **others: object) -> object:
        if not flags:
            go_on.wait(WAIT_S)
        return found(*asked, flags=flags, **others)  # type: ignore[call-overload]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    heard = World("http://localhost:1", tmp_path, connect_wait_s=SHORT_S).hear()
    go_on.set()
    assert isinstance(heard.error, DeadlineExceeded)


def test_localhost_is_this_machine_whatever_a_resolver_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent in the clear to another address of that name."""
    found = socket.getaddrinfo

    def elsewhere(_: str, port: int, **others: object) -> object:
        return found("192.0.2.1", port, **others)  # type: ignore[call-overload]

    monkeypatch.setattr(socket, "getaddrinfo", elsewhere)
    world = World("http://localhost:1", tmp_path)
    assert "no address" in world.hear().error.text
    assert world.ledger.sums == {}


def test_a_server_without_tls(tmp_path: Path) -> None:
    """One that answers in the clear, and one that says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as listening:
        silence = World(f"https://127.0.0.1:{silent.getsockname()[1]}", tmp_path, connect_wait_s=SHORT_S)
        assert isinstance(silence.hear().error, DeadlineExceeded)
        threading.Thread(target=_answer_in_the_clear, args=(listening,), daemon=True).start()
        plain = World(f"https://127.0.0.1:{listening.getsockname()[1]}", tmp_path)
        assert type(plain.hear().error) is ProtocolError
        assert plain.ledger.sums == silence.ledger.sums == {}


def _answer_in_the_clear(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_certificate_must_be_trusted_and_of_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else neither key nor question is shown; with it the text comes as in the clear."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "private.pem"
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=here"
    files = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*made.split(), *files], check=True, capture_output=True, timeout=WAIT_S)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(fixed(PLAIN, piece("a", finish="stop"), DONE), context=context) as server:
        unknown = World(f"https://localhost:{server.port}", tmp_path)
        assert isinstance(unknown.hear().error, Untrusted)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert isinstance(World(f"https://127.0.0.1:{server.port}", tmp_path).hear().error, Untrusted)
        assert (server.requests, unknown.ledger.sums) == ([], {})
        trusted = World(f"https://localhost:{server.port}", tmp_path)
        assert trusted.hear().text == "a"
        assert trusted.ledger.sums == {"query": len(server.requests[0])}
