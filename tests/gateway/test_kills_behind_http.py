"""Gateway, device or cloud killed at any place of a stream: it goes on, or ends in one error; nothing comes twice."""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

import httpx2
import pytest
from front_herd import GATEWAY, FrontHerd
from herd import started
from response_schema import check_event

from waiting import WAIT_S, until

TOKENS = 24
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
BROKEN = (HTTPException, OSError)
PLACES = ("idle", "asked", 0, 1, 2, 4, 8, 12, 16, TOKENS)  # a number: so many tokens were read
SHORT = {("device", 8, CHAT), ("cloud", 4, CHAT), (GATEWAY, 2, CHAT), ("device", 1, RESPONSES), (GATEWAY, 8, RESPONSES)}
CASES = [
    pytest.param(name, place, path, marks=pytest.mark.slow if (name, place, path) in SHORT else pytest.mark.long)
    for name in ("device", "cloud", GATEWAY)
    for place in PLACES
    for path in (CHAT, RESPONSES)
]


@pytest.fixture(scope="module")
def herd(tiny_models: dict[str, Path]) -> Iterator[FrontHerd]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, started(FrontHerd(Path(folder), tiny_models)) as made:
        assert isinstance(made, FrontHerd)
        made.start(GATEWAY)
        until(lambda: is_up(made))
        yield made


@pytest.fixture(scope="module")
def undisturbed(herd: FrontHerd) -> tuple[str, str]:
    """A question with a long answer, and that when nothing happens."""
    for number in range(100):
        question = f"Where does heron {number} stand?"
        with closing(Reader(herd, CHAT, question)) as reader:
            reader.read()
        if len(reader.texts) == TOKENS:
            return question, "".join(reader.texts)
    raise AssertionError("every answer is short")


def is_up(herd: FrontHerd) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{herd.port}/health", timeout=WAIT_S).status_code == 200
    except httpx2.TransportError:
        return False


class Reader:
    """One stream as a client reads it: its tokens' texts, how it ended, and whether its connection broke."""

    def __init__(self, herd: FrontHerd, path: str, question: str) -> None:
        common = {"model": "hocket", "stream": True}
        chat = {"messages": [{"role": "user", "content": question}], "max_tokens": TOKENS}
        background = {"input": question, "max_output_tokens": TOKENS, "background": True}
        self.events: list[Any] = []
        self.texts: list[str] = []
        self.alone_from: int | None = None  # the first token that the device wrote alone
        self.end: Any = None
        self.is_broken = False
        self._connection = HTTPConnection("127.0.0.1", herd.port, timeout=WAIT_S)
        body = json.dumps(common | (chat if path == CHAT else background))
        self._connection.request("POST", path, body, {"Content-Type": "application/json"})
        self._response: HTTPResponse | None = None

    def read(self, tokens: int | None = None) -> None:
        """Up to so many tokens, or to the end."""
        try:
            self._response = self._response or self._connection.getresponse()
            if self._response.status != 200:
                self.end = json.loads(self._response.read())
                return
            while tokens is None or len(self.texts) < tokens or not self.events:
                line = self._response.readline()
                if not line:  # a whole body ends so, too
                    self.is_broken = self.end is None
                    break
                self._take(line)
        except BROKEN:
            self.is_broken = True

    def close(self) -> None:
        self._connection.close()

    @property
    def id(self) -> str:
        return str(self.events[0]["response"]["id"]) if self.events else ""

    def _take(self, line: bytes) -> None:
        if line == b"data: [DONE]\n":
            self.end = self.end or "done"
        elif line.startswith(b"data: "):
            event = json.loads(line.removeprefix(b"data: "))
            self.events.append(event)
            self._note(event)

    def _note(self, event: Any) -> None:
        if "error" in event or event.get("type") == "response.failed":
            self.end = event
        delta = event["choices"][0]["delta"] if event.get("choices") else {}
        text = delta.get("content") or (event["delta"] if event.get("type", "").endswith("text.delta") else "")
        source = (delta.get("hocket") or event.get("hocket") or {}).get("source") if text or delta else None
        if source or event.get("type", "").endswith("text.delta"):
            self.texts.append(text)
            if source == "solo" and self.alone_from is None:
                self.alone_from = len(self.texts) - 1


def has_error(end: Any) -> bool:
    """Whether this is an error in the shape of the API that was asked."""
    if not isinstance(end, dict):
        return False
    error = end["error"] if "error" in end else end["response"]["error"]
    return bool(error["message"] and error["code"])


def check(reader: Reader, whole: str, name: str) -> None:
    """It has the text that is undisturbed, up to where it ends or the device goes on alone."""
    joint = "".join(reader.texts[: reader.alone_from])
    assert whole.startswith(joint)
    for event in reader.events:
        if "sequence_number" in event:
            check_event(event)
    numbers = [event["sequence_number"] for event in reader.events if "sequence_number" in event]
    assert numbers == list(range(len(numbers)))
    if reader.end == "done":
        assert name == "cloud" or "".join(reader.texts) == whole
    else:
        assert has_error(reader.end) or (name == GATEWAY and reader.is_broken)


def follow(herd: FrontHerd, id: str, after: int) -> httpx2.Response:
    url = f"http://127.0.0.1:{herd.port}{RESPONSES}/{id}?stream=true&starting_after={after}"
    return httpx2.get(url, timeout=WAIT_S)


def check_resumed(herd: FrontHerd, reader: Reader, name: str) -> None:
    """What follows event 3 is what the reader had behind it; a gateway that was killed has one error."""
    again = follow(herd, reader.id, 3)
    if name == GATEWAY:
        assert (again.status_code, has_error(again.json())) in ((400, True), (404, True))
        return
    lines = [line.removeprefix("data: ") for line in again.text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    assert [json.loads(line) for line in lines[:-1]] == reader.events[4:]


@pytest.mark.parametrize(("name", "place", "path"), CASES)
def test_whatever_is_killed_the_client_has_an_answer_or_one_error(
    herd: FrontHerd, undisturbed: tuple[str, str], name: str, place: str | int, path: str
) -> None:
    """And the next question is answered by both sides; nothing goes on for nobody."""
    question, whole = undisturbed
    herd.answers_together()
    if place == "idle":
        herd.send(name, signal.SIGKILL)
    if place == "idle" and name == GATEWAY:  # there is nobody to ask
        herd.start(name)
        until(lambda: is_up(herd))
    with closing(Reader(herd, path, question)) as reader:
        if isinstance(place, int):
            reader.read(place)
        if place != "idle":
            herd.send(name, signal.SIGKILL)
        if (name, place) != (GATEWAY, "idle"):
            herd.start(name)
        reader.read()
        check(reader, whole, GATEWAY if name == GATEWAY and place != "idle" else name)
        until(lambda: is_up(herd))
        herd.answers_together()
        until(lambda: herd.in_work() == 0)
        if path == RESPONSES and len(reader.events) > 4 and place != "idle":
            check_resumed(herd, reader, name)
    with closing(Reader(herd, path, question)) as again:
        again.read()
        assert ("".join(again.texts), again.end) == (whole, "done")
