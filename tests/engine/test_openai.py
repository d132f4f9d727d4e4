"""A server as a TextGenerator: its text whole and once, one end, whatever it does; and nothing leaves uncounted."""

from __future__ import annotations

import random
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import scripted_server as scripted
import structlog
from mainthread import MainThread
from scripted_server import CHUNKED, DONE, PLAIN, Scripted, Step, chunked, event, piece, refusal, serving, usage

from hocket_bus.errors import (
    BadConfiguration,
    BadMessage,
    BadRequest,
    Busy,
    DeadlineExceeded,
    Forbidden,
    HocketError,
    ProtocolError,
    Unavailable,
    Untrusted,
)
from hocket_bus.messages import Finish, Sampling
from hocket_daemon.engine.completions import Usage
from hocket_daemon.engine.generator import TextGenerator, TextRequest
from hocket_daemon.engine.openai import MAX_TEXTS, OpenAIGenerator, ServerText, open_server
from hocket_daemon.engine.settings import ServerSettings
from hocket_daemon.privacy.egress import EgressSettings
from hocket_daemon.privacy.ledger import Ledger, read
from ports import free_port
from waiting import WAIT_S, until

KEY, PROMPT = "sk-very-secret-0123", "Where is the red boat?"
ALL_LEAVES = EgressSettings()
SHORT_S = 0.1  # what a server must take too long for
ASKED = TextRequest(PROMPT, Sampling(temperature=0.0, seed=(1 << 31) + 5, max_tokens=9), session=b"\x01" * 16)


@dataclass
class Heard:
    """What a text calls back."""

    pieces: list[str] = field(default_factory=list)
    ends: list[Finish | HocketError] = field(default_factory=list)
    begun: ServerText | None = None

    @property
    def error(self) -> HocketError:
        (end,) = self.ends
        assert isinstance(end, HocketError)
        return end

    @property
    def text(self) -> str:
        assert all(self.pieces), "no piece is empty"
        return "".join(self.pieces)


class World:
    """A generator for one server, this thread as the main one, and a ledger."""

    def __init__(self, url: str, folder: Path, *, egress: EgressSettings = ALL_LEAVES, **settings: object) -> None:
        key = folder / "key"
        key.write_text(f"{KEY}\n")
        key.chmod(0o600)
        told = {"url": url, "model": "m", "key_file": str(key), **settings}
        self.main, self.ledger = MainThread(), Ledger(folder / "ledger")
        made = open_server(ServerSettings(**told), self.main.post, egress, self.ledger)  # type: ignore[arg-type]
        assert made is not None
        self.generator: OpenAIGenerator = made

    def begin(self, request: TextRequest = ASKED) -> Heard:
        heard = Heard()

        def on_text(text: str) -> None:
            assert threading.current_thread() is threading.main_thread()
            assert not heard.ends
            heard.pieces.append(text)

        heard.begun = self.generator.generate(request, on_text, heard.ends.append)
        assert not heard.ends
        return heard

    def hear(self, request: TextRequest = ASKED) -> Heard:
        heard = self.begin(request)
        self.main.until(lambda: bool(heard.ends))
        return heard


def fixed(*steps: Step) -> Callable[[Scripted], Iterable[Step]]:
    return lambda _: steps


def then_stay(*steps: Step) -> Callable[[Scripted], Iterable[Step]]:
    """And wait for the client to leave."""
    return lambda server: (*steps, server.until_left)


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_a_text_is_what_the_server_streams(tmp_path: Path, api: str) -> None:
    """With what it counts, and after a request that says the question and how to draw, and nothing else."""
    answer = piece(None, api) + piece("  The", api) + piece(" bay", api) + piece("", api, "stop") + usage() + DONE
    with serving(fixed(CHUNKED, chunked(answer))) as server:
        world = World(server.url, tmp_path, api=api)
        heard = world.hear()
        assert (heard.text, heard.ends) == ("The bay", ["eos"])
        assert heard.begun is not None
        assert heard.begun.usage == Usage(7, 3)
        asked = {"messages": [{"role": "user", "content": PROMPT}]}
        if api == "completions":
            asked = {"prompt": f"Question: {PROMPT}\nAnswer:"}
        drawn = {"max_tokens": 9, "temperature": 0.0, "top_p": 0.9, "seed": 5}
        told = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}
        assert server.body == asked | drawn | told
        path = "/v1/completions" if api == "completions" else "/v1/chat/completions"
        assert server.head.startswith(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n")
        assert f"\r\nAuthorization: Bearer {KEY}\r\n" in server.head
        generator: TextGenerator = world.generator
        assert generator.continues == (api == "completions")


@pytest.mark.parametrize("prefix", ["", " 😀 \"quoted\"\n and € 'more'"])
@pytest.mark.parametrize("task", ["answer", "complete"])
def test_every_byte_that_leaves_is_in_the_ledger(tmp_path: Path, prefix: str, task: str) -> None:
    """Under the server's host: the text so far by its class, all the rest with the question."""
    with serving(fixed(PLAIN, piece(" x", finish="length"), DONE)) as server:
        world = World(server.url, tmp_path)
        heard = world.hear(TextRequest(PROMPT, ASKED.sampling, task, ("stop here",), prefix, b"\x01" * 16))  # type: ignore[arg-type]
        assert heard.ends == ["length"]
        assert heard.text == ("x" if task == "answer" and not prefix else " x")
        before = PROMPT if task == "complete" else f"Question: {PROMPT}\nAnswer:{' ' if prefix else ''}"
        assert server.body["prompt"] == before + prefix
        assert b"stop here" not in server.requests[-1]
        escaped = len(prefix.encode()) + prefix.count('"') + prefix.count("\n")
        expected = {"query": len(server.requests[-1]) - escaped} | ({"targets": escaped} if prefix else {})
        assert world.ledger.sums == expected
        world.ledger.write()
        written = {(each.peer, each.session, each.kind, each.size_bytes) for each in read(tmp_path / "ledger")}
        assert written == {("127.0.0.1", "01" * 16, kind, size_bytes) for kind, size_bytes in expected.items()}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("framing", ["chunked", "plain"])
def test_a_text_is_the_same_wherever_its_bytes_are_cut(tmp_path: Path, seed: int, framing: str) -> None:
    """Within characters, events and HTTP's chunks; with comments between, and CRLF."""
    rng = random.Random(seed)
    text = "".join(rng.choice("ab €😀\n") for _ in range(30)).strip()
    pieces = [text[at : at + 3] for at in range(0, len(text), 3)]
    answer = b": hello\n\n" + b"".join(map(piece, pieces)) + piece("", finish="stop") + usage() + DONE
    answer = answer.replace(b"\n", b"\r\n") if seed % 2 else answer
    sent = answer if framing == "plain" else chunked(answer, [rng.randrange(1000) for _ in range(9)])
    places = sorted({0, len(sent), *(rng.randrange(len(sent)) for _ in range(20))})
    parts = [sent[first:last] for first, last in zip(places, places[1:], strict=False)]  # noqa: RUF007
    with serving(fixed(PLAIN if framing == "plain" else CHUNKED, *parts)) as server:
        heard = World(server.url, tmp_path).hear()
        assert (heard.text, heard.ends) == (text, ["eos"])


@pytest.mark.parametrize(
    ("answer", "text", "finish", "counted"),
    [
        (piece("a") + piece("b", finish="length", usage=scripted.USAGE), "ab", "length", Usage(7, 3)),
        (piece("a") + piece("b", finish="stop"), "ab", "eos", None),
        (piece("a") + DONE, "a", "eos", None),
        (piece("a") + usage({"prompt_tokens": 1, "completion_tokens": 9}) + DONE, "a", "length", Usage(1, 9)),
        (event({"choices": []}) + event({}) + piece("a", finish="stop") + usage(None) + DONE, "a", "eos", None),
        (piece("a", finish="stop") + usage({"prompt_tokens": "many"}) + usage(3) + DONE, "a", "eos", None),
        (piece("a", finish="stop") + piece("never") + piece("", finish="length") + DONE, "a", "eos", None),
        (piece("", finish="stop") + DONE, "", "eos", None),
        (b"data: [DONE]\r\n\r\n", "", "eos", None),
    ],
)
def test_how_texts_end(tmp_path: Path, answer: bytes, text: str, finish: str, counted: Usage | None) -> None:
    """With or without [DONE], a count, a reason; nothing behind the end is heard."""
    with serving(fixed(CHUNKED, chunked(answer))) as server:
        heard = World(server.url, tmp_path).hear()
        assert (heard.text, heard.ends) == (text, [finish])
        assert heard.begun is not None
        assert heard.begun.usage == counted


def test_a_count_that_never_comes_delays_an_end_and_does_not_spoil_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server holds the connection open behind the end."""
    monkeypatch.setattr("hocket_daemon.engine.openai.USAGE_WAIT_S", SHORT_S)
    with serving(then_stay(PLAIN, piece("a", finish="stop"))) as server:
        heard = World(server.url, tmp_path).hear()
        assert (heard.text, heard.ends) == ("a", ["eos"])
        assert server.left.acquire(timeout=WAIT_S)


HALVES = [
    (b'data: {"choices":[{"text":"a\xe2\x82"}]}\n\ndata: {"choices":[{"text":"\xac!"}]}\n\n', "a€!"),
    (b'data: {"choices":[{"text":"a\\ud83d"}]}\n\ndata: {"choices":[{"text":"\\ude00!"}]}\n\n', "a😀!"),
    (b'data: {"choices":[{"text":"a\xe2\x82"}]}\n\n', "a"),
    (b'data: {"choices":[{"text":"a\\ud83d"}]}\n\n', "a"),
    (b'data: {"choices":[{"text":"a\\ude00b"}]}\n\n', "a\ufffdb"),
    (b'data: {"choices":[{"text":"a\xe2b"}]}\n\n', "a\ufffdb"),
]


@pytest.mark.parametrize(("answer", "text"), HALVES)
def test_half_a_character_waits_for_the_other_half(tmp_path: Path, answer: bytes, text: str) -> None:
    """No piece has half of one; at the end it is left out."""
    with serving(fixed(PLAIN, answer, piece("", finish="stop"), DONE)) as server:
        heard = World(server.url, tmp_path).hear()
        assert (heard.text, heard.ends) == (text, ["eos"])
        assert all(each.encode() for each in heard.pieces)


def test_nothing_from_a_stop_string_on_is_heard_and_the_server_is_left(tmp_path: Path) -> None:
    """Which it does not know of."""
    with serving(then_stay(PLAIN, *map(piece, ("one t", "w", "o th", "ree f", "our")))) as server:
        request = TextRequest(PROMPT, Sampling(), "complete", ("three", "never"))
        heard = World(server.url, tmp_path).hear(request)
        assert (heard.text, heard.ends) == ("one two ", ["stop"])
        assert server.left.acquire(timeout=WAIT_S)


def test_a_text_without_an_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the most that a message can hold."""
    monkeypatch.setattr("hocket_daemon.engine.completions.MAX_CHARACTERS", 1000)
    with serving(then_stay(PLAIN, *[piece("x" * 99)] * 20)) as server:
        heard = World(server.url, tmp_path).hear()
        assert (len(heard.text), heard.ends) == (11 * 99, ["length"])
        assert server.left.acquire(timeout=WAIT_S)


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
        (refusal(204), Unavailable, "log"),
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
    assert not heard.pieces
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

    monkeypatch.setattr("hocket_daemon.engine.openai.body_of", fail)
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


@pytest.mark.parametrize("steps", [(), (b"HTTP/1.1 200 OK\r\n",), (PLAIN,), (PLAIN, piece("a"), piece("b"))])
def test_a_cancelled_text_is_heard_no_more_and_its_server_is_left(tmp_path: Path, steps: tuple[bytes, ...]) -> None:
    """Before the head, within it, behind it, in the middle."""
    with serving(then_stay(*steps)) as server:
        world = World(server.url, tmp_path)
        heard = world.begin()
        if piece("b") in steps:
            world.main.until(lambda: heard.text == "ab")
        until(lambda: bool(server.requests))
        assert heard.begun is not None
        heard.begun.cancel()
        assert heard.ends == ["cancelled"]
        heard.begun.cancel()
        assert server.left.acquire(timeout=WAIT_S)
        assert heard.ends == ["cancelled"]


def test_a_text_that_is_cancelled_at_once_takes_no_place(tmp_path: Path) -> None:
    """Wherever its thread is then: resolving, connecting, sending."""
    with serving(then_stay(PLAIN)) as server:
        world = World(server.url, tmp_path)
        for _ in range(3 * MAX_TEXTS):
            heard = world.begin()
            heard.begun.cancel()  # type: ignore[union-attr]
            assert heard.ends == ["cancelled"]
            until(lambda: world.generator._free._value > 0)
        until(lambda: world.generator._free._value == MAX_TEXTS)


def test_texts_beyond_the_most_are_told_that_the_server_is_busy(tmp_path: Path) -> None:
    """And are served again once others have ended."""
    with serving(*[then_stay(PLAIN, piece("a"))] * MAX_TEXTS, fixed(PLAIN, piece("b", finish="stop"), DONE)) as server:
        world = World(server.url, tmp_path)
        running = [world.begin() for _ in range(MAX_TEXTS)]
        world.main.until(lambda: all(each.pieces for each in running))
        assert isinstance(world.hear().error, Busy)
        for each in running:
            each.begun.cancel()  # type: ignore[union-attr]
        until(lambda: world.generator._free._value == MAX_TEXTS)
        assert world.hear().text == "b"


@pytest.mark.parametrize(
    ("egress", "prefix"), [({"query": False}, ""), ({"query": False}, "a"), ({"targets": False}, "a")]
)
def test_what_egress_keeps_does_not_leave(tmp_path: Path, egress: dict[str, bool], prefix: str) -> None:
    """Nobody is even connected to."""
    with serving(fixed(PLAIN)) as server:
        world = World(server.url, tmp_path, egress=EgressSettings(**egress))
        heard = world.hear(TextRequest(PROMPT, Sampling(), prefix=prefix))
        assert isinstance(heard.error, Forbidden)
        assert next(iter(egress)) in heard.error.text
        assert (server.requests, world.ledger.sums) == ([], {})


def test_a_chat_goes_on_from_nothing(tmp_path: Path) -> None:
    """It says so before anything leaves; without a prefix it may be asked to go on with a prompt."""
    with serving(fixed(PLAIN, piece("a", "chat", "stop"), DONE)) as server:
        world = World(server.url, tmp_path, api="chat")
        assert isinstance(world.hear(TextRequest(PROMPT, Sampling(), prefix="The")).error, BadRequest)
        assert not server.requests
        assert world.hear(TextRequest(PROMPT, Sampling(), "complete")).text == "a"
        assert [each["role"] for each in server.body["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("url", "kind", "text"),
    [
        (f"http://127.0.0.1:{free_port()}", Unavailable, "nobody listens there"),
        ("https://nowhere.invalid", Unavailable, "is not known here"),
    ],
)
def test_a_server_that_is_not_there(tmp_path: Path, url: str, kind: type[HocketError], text: str) -> None:
    """One line, with where."""
    heard = World(url, tmp_path).hear()
    assert type(heard.error) is kind
    assert text in heard.error.text
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
