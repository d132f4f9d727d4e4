"""A server as a TextGenerator: its text whole and once, however it comes; and nothing leaves uncounted."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import scripted_server as scripted
from asking import ASKED, KEY, PROMPT, SHORT_S, World, fixed, then_stay
from scripted_server import CHUNKED, DONE, PLAIN, chunked, event, piece, serving, usage

from hocket_bus.errors import (
    BadRequest,
    Busy,
    Forbidden,
    Unavailable,
)
from hocket_bus.messages import Sampling, Task
from hocket_daemon.engine.generators.completions import Streamed
from hocket_daemon.engine.generators.generation import Usage
from hocket_daemon.engine.generators.generator import TextGenerator, TextRequest
from hocket_daemon.engine.generators.openai import MAX_TEXTS
from hocket_daemon.privacy.egress import EgressSettings, read
from waiting import WAIT_S, until


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
        asked = {"messages": [{"role": "user", "content": PROMPT}], "chat_template_kwargs": {"enable_thinking": False}}
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


def test_while_the_link_is_cut_a_server_elsewhere_is_asked_nothing(tmp_path: Path) -> None:
    """No connection is made; one on this machine answers, and the other does again once the link is joined."""
    with serving(fixed(PLAIN, piece("x", finish="stop"), DONE)) as server:
        world = World(server.url, tmp_path)
        world.switch.turn(cut=True)
        assert world.hear().ends == ["eos"]
        world.generator.is_here = False
        (end,) = world.hear().ends
        assert isinstance(end, Unavailable)
        assert "cut on this device" in str(end)
        assert len(server.requests) == 1
        world.switch.turn(cut=False)
        assert world.hear().ends == ["eos"]


@pytest.mark.parametrize("api", ["completions", "chat"])
@pytest.mark.parametrize("task", ["answer", "complete"])
def test_passages_are_read_before_the_prompt_and_counted_by_their_own_class(
    tmp_path: Path, api: str, task: Task
) -> None:
    """Byte by byte, whatever JSON makes of them; the instruction that goes with them is the question's."""
    passages = (' The "red" boat\nlies at €\t1. ', "Ünder 😀 the \\bridge.")
    with serving(fixed(PLAIN, piece("x", api, "stop"), DONE)) as server:
        world = World(server.url, tmp_path, api=api, egress=EgressSettings(passages=True))
        assert world.hear(TextRequest(PROMPT, ASKED.sampling, task, passages=passages)).ends == ["eos"]
        told = "".join(f"{passage.strip()}\n\n" for passage in passages)
        body = server.body
        said = body["prompt"] if api == "completions" else body["messages"][-1]["content"]
        assert told + (f"Question: {PROMPT}\nAnswer:" if (api, task) == ("completions", "answer") else PROMPT) in said
        escaped = len(json.dumps(told, ensure_ascii=False).encode()) - 2
        assert world.ledger.sums == {"query": len(server.requests[-1]) - escaped, "passages": escaped}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("framing", ["chunked", "plain"])
def test_a_text_is_the_same_wherever_its_bytes_are_cut(tmp_path: Path, seed: int, framing: str) -> None:
    """Within characters, events and HTTP's chunks; with comments between, and CRLF."""
    rng = random.Random(seed)
    text = "".join(rng.choice("ab €😀\n") for _ in range(30)).strip()
    fragments = [text[at : at + 3] for at in range(0, len(text), 3)]
    answer = b": hello\n\n" + b"".join(map(piece, fragments)) + piece("", finish="stop") + usage() + DONE
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
        (piece("a", finish="stop") + b"data: no JSON\n\n", "a", "eos", None),
        (piece("a", finish="stop") + event({"error": "too late"}), "a", "eos", None),
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
    monkeypatch.setattr("hocket_daemon.engine.generators.openai.USAGE_WAIT_S", SHORT_S)
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
        assert all(each.encode() for each in heard.fragments)


def test_nothing_from_a_stop_string_on_is_heard_and_the_server_is_left(tmp_path: Path) -> None:
    """Which it does not know of."""
    with serving(then_stay(PLAIN, *map(piece, ("one t", "w", "o th", "ree f", "our")))) as server:
        request = TextRequest(PROMPT, Sampling(), "complete", ("three", "never"))
        heard = World(server.url, tmp_path).hear(request)
        assert (heard.text, heard.ends) == ("one two ", ["stop"])
        assert server.left.acquire(timeout=WAIT_S)


def test_a_text_without_an_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the most that a message can hold."""
    monkeypatch.setattr("hocket_daemon.engine.generators.completions.MAX_CHARACTERS", 1000)
    with serving(then_stay(PLAIN, *[piece("x" * 99)] * 20)) as server:
        heard = World(server.url, tmp_path).hear()
        assert (len(heard.text), heard.ends) == (11 * 99, ["length"])
        assert server.left.acquire(timeout=WAIT_S)


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
        world.main.until(lambda: all(each.fragments for each in running))
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


def test_passages_do_not_leave_by_default(tmp_path: Path) -> None:
    """Nor does the question without them: an answer from nothing is not what was asked for."""
    with serving(fixed(PLAIN)) as server:
        world = World(server.url, tmp_path)
        heard = world.hear(TextRequest(PROMPT, Sampling(), passages=("The boat.",)))
        assert isinstance(heard.error, Forbidden)
        assert heard.error.remedy == "set passages = true there"
        assert (server.requests, world.ledger.sums) == ([], {})


def test_a_chat_goes_on_from_nothing(tmp_path: Path) -> None:
    """It says so before anything leaves; without a prefix it may be asked to go on with a prompt."""
    with serving(fixed(PLAIN, piece("a", "chat", "stop"), DONE)) as server:
        world = World(server.url, tmp_path, api="chat")
        assert isinstance(world.hear(TextRequest(PROMPT, Sampling(), prefix="The")).error, BadRequest)
        assert not server.requests
        assert world.hear(TextRequest(PROMPT, Sampling(), "complete")).text == "a"
        assert [each["role"] for each in server.body["messages"]] == ["system", "user"]


REFUSED = b"HTTP/1.1 %d No\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"


def refused(status: int, text: str) -> bytes:
    body = f'{{"error": {{"message": "{text}"}}}}'.encode()
    return REFUSED % (status, len(body), body)


def test_a_server_that_refuses_fields_is_asked_without_them_and_the_next_time_at_once(tmp_path: Path) -> None:
    """Every try is in the ledger."""
    answers = [
        refused(400, "use max_completion_tokens, not max_tokens"),
        refused(422, "extra: seed, stream_options, chat_template_kwargs"),
    ]
    said = PLAIN + piece("The bay", "chat") + piece(None, "chat", "stop") + DONE
    with serving(*map(fixed, answers), fixed(said)) as server:
        world = World(server.url, tmp_path, api="chat")
        heard = world.hear()
        assert (heard.text, heard.ends) == ("The bay", ["eos"])
        assert len(server.requests) == 3
        assert server.body.keys() == {"model", "messages", "max_completion_tokens", "temperature", "top_p", "stream"}
        assert world.hear().text == "The bay"
        assert len(server.requests) == 4
        assert world.ledger.sums == {"query": sum(map(len, server.requests))}


def test_a_server_that_refuses_for_ever_is_asked_no_more_often_than_there_are_fields(tmp_path: Path) -> None:
    with serving(fixed(refused(400, "max_tokens, seed, top_p, temperature and stream_options are wrong"))) as server:
        world = World(server.url, tmp_path, api="chat")
        assert isinstance(world.hear().error, BadRequest)
        assert len(server.requests) == 2


def parts(*said: tuple[str, str]) -> bytes:
    """A piece whose content is a list, as some servers have it."""
    content = [{"type": kind, "text" if kind == "text" else "thinking": text} for kind, text in said]
    return event({"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": None}]})


@pytest.mark.parametrize(
    "thought",
    [
        piece("<think>Which", "chat") + piece(" bay?</think>\n\n", "chat"),
        event({"choices": [{"delta": {"role": "assistant", "content": ""}}]}),
        event({"choices": [{"delta": {"reasoning_content": "Which bay?", "content": None}}]}),
        event({"choices": [{"delta": {"reasoning": "Which bay?"}, "finish_reason": None}]}),
        parts(("thinking", "Which bay?")),
        parts(("thinking", "Which?"), ("text", "")),
        b"data:\n\n" + b"data: \n\n" + b": there\n\n",
        event({"choices": []}) + event({"choices": [{"delta": None}]}),
    ],
)
def test_what_is_thought_or_said_beside_a_text_is_none_of_it(tmp_path: Path, thought: bytes) -> None:
    answer = thought + parts(("text", "The")) + piece(" bay", "chat") + piece(None, "chat", "stop") + DONE
    with serving(fixed(PLAIN, answer)) as server:
        heard = World(server.url, tmp_path, api="chat").hear()
        assert (heard.text, heard.ends) == ("The bay", ["eos"])


SILENT = [
    event({"choices": None, "usage": None}) + event({"choices": [None]}) + event({"object": "chat.completion.chunk"}),
    event(None) + event("there") + event(7) + event([]) + b"data: keep-alive\n\n" + b"data: :ping\n\n",
    b"event: ping\ndata: {}\n\n" + b"event: heartbeat\ndata: 1\n\n" + b"event: error\n\n" + b"retry: 9\n\n",
    event({"choices": [{"delta": {"content": [None], "role": None}, "index": None, "finish_reason": None}]}),
    b"data:\n\n" + b"\n\n" + b": there\n\n" + b":\n\n",
]


@pytest.mark.parametrize("silent", SILENT)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_that_says_nothing_ends_no_text(tmp_path: Path, silent: bytes, end: bytes) -> None:
    """Before it, in its middle, before its end and behind it. Only chunks with an empty list had been tried so."""
    said = [piece("The", "chat"), piece(" bay", "chat"), piece(None, "chat", "stop"), usage()]
    answer = (silent + silent.join(said) + silent + DONE).replace(b"\n", end)
    with serving(fixed(PLAIN, b"\xef\xbb\xbf" + answer)) as server:
        heard = World(server.url, tmp_path, api="chat").hear()
        assert (heard.text, heard.ends) == ("The bay", ["eos"])
        assert heard.begun is not None
        assert heard.begun.usage == Usage(7, 3)


def test_a_model_that_thinks_to_the_end_has_written_no_answer(tmp_path: Path) -> None:
    """Which is said, and not an empty text."""
    with serving(fixed(PLAIN, piece("<think>Which", "chat") + piece(" bay", "chat", "length") + DONE)) as server:
        heard = World(server.url, tmp_path, api="chat").hear()
        assert isinstance(heard.error, BadRequest)
        assert "--max-tokens" in heard.error.remedy
        assert heard.text == ""


@pytest.mark.parametrize(
    ("delta", "is_thought"),
    [
        ({"reasoning_content": "hm"}, True),
        ({"reasoning": "hm"}, True),
        ({"content": [{"type": "thinking", "thinking": "hm"}]}, True),
        ({"content": "<think>hm"}, True),
        ({"content": "", "reasoning_content": ""}, False),
        ({"role": "assistant"}, False),
    ],
)
def test_a_thought_is_a_sign_of_life(delta: dict[str, object], is_thought: bool) -> None:
    """Each is waited for as a piece of a text; an event that says nothing is none."""
    streamed = Streamed(TextRequest(PROMPT, Sampling()), "chat")
    assert streamed.add(json.dumps({"choices": [{"delta": delta}]})) == ""
    assert streamed.has_thought == is_thought
    streamed.add(" ")
    assert not streamed.has_thought
