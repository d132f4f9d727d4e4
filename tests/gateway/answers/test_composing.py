"""What may follow a text, over HTTP: of the text as it stands, within bounds, and as far as a key goes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from serving import Served, served

from hocket_bus.messages import Extract, Extracted, MemoryRequest
from hocket_bus.wire import decode
from hocket_client import Client
from hocket_gateway.access import people
from hocket_gateway.answers import composing
from hocket_lab.link.tap import Tap, messages
from waiting import WAIT_S, until

TEXT = "kala mira duno soretu limba"


@pytest.fixture(scope="module")
def front(tiny_models: dict[str, Path]) -> Iterator[Served]:
    with served(tiny_models, tapped=True) as there:
        yield there


@pytest.fixture
def http(front: Served) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=front.url, timeout=WAIT_S) as client:
        yield client


def compose(http: httpx2.Client, text: str, cursor: int | None = None, **more: object) -> str:
    """The first suggestion."""
    body = {"id": "a", "text": text, "cursor": len(text) if cursor is None else cursor, **more}
    return first(http, body)


def first(http: httpx2.Client, body: dict[str, object], headers: dict[str, str] | None = None) -> str:
    with http.stream("POST", "/composing", json=body, headers=headers or {}) as answer:
        assert answer.status_code == 200
        line = next((line for line in answer.iter_lines() if line.startswith("data: ")), "data: {}")
        return str(json.loads(line.removeprefix("data: ")).get("text", ""))


def refused(http: httpx2.Client, body: dict[str, object], headers: dict[str, str] | None = None) -> httpx2.Response:
    answer = http.post("/composing", json=body, headers=headers or {})
    assert answer.status_code >= 400
    return answer


def memory_requests(front: Served) -> int:
    assert isinstance(front.tap, Tap)
    frames = [each for recorded in front.tap.recorded() for each in messages(recorded)]
    return sum(isinstance(decode(each), MemoryRequest) for each in frames)


def test_a_suggestion_is_that_of_the_client(front: Served, http: httpx2.Client) -> None:
    """Letter by letter, where the cursor is counted in characters and not in halves of them."""
    for text, cursor in (("ka", 2), (TEXT, len(TEXT)), (f"\N{GRINNING FACE} {TEXT} x", len(TEXT) + 2)):
        with front.pair.client().compose(text, cursor, memory=False) as composer:
            found = composer.wait(WAIT_S)
        assert found is not None
        assert compose(http, text, cursor, alone=True, id=f"b{cursor}") == found.text


def test_alone_the_cloud_is_told_nothing(front: Served, http: httpx2.Client) -> None:
    compose(http, TEXT, id="c")
    until(lambda: memory_requests(front) > 0)
    before = memory_requests(front)
    key = {"authorization": f"Bearer {people.invite(front.people, 'anna', alone_only=True)}"}
    try:
        body: dict[str, object] = {"id": "d", "text": TEXT, "cursor": len(TEXT)}
        assert first(http, body, key)
    finally:
        front.people.unlink()
    assert compose(http, TEXT, id="e", alone=True)
    compose(http, f"{TEXT} tano meku relado sina borita kulo namira ditu sola", id="f")  # goes behind those
    until(lambda: memory_requests(front) > before)
    assert memory_requests(front) == before + 1


def test_a_key_of_a_folder_composes_nothing(front: Served, http: httpx2.Client) -> None:
    key = {"authorization": f"Bearer {people.invite(front.people, 'ben', folders=('letters',))}"}
    try:
        body: dict[str, object] = {"id": "a", "text": TEXT, "cursor": 1}
        answer = refused(http, body, key)
        assert (answer.status_code, "may read only some folders" in answer.text) == (403, True)
        assert refused(http, body).status_code == 401
    finally:
        front.people.unlink()


@pytest.mark.parametrize(
    "wrong", [{"cursor": 99}, {"cursor": -1}, {"id": ""}, {"id": "x" * 65}, {"text": 7}, {"text": "x" * 1_000_000}]
)
def test_what_is_no_text_is_refused(http: httpx2.Client, wrong: dict[str, object]) -> None:
    """And the next one is answered."""
    body: dict[str, object] = {"id": "g", "text": TEXT, "cursor": 0, **wrong}
    assert refused(http, body).status_code == 400
    assert compose(http, TEXT, id="g", alone=True)


def test_only_the_newest_text_is_answered(http: httpx2.Client) -> None:
    """What was asked before of the same writing comes to an end, too, with nothing or with its own suggestion."""
    texts = [TEXT[:end] for end in range(5, len(TEXT))]
    with ThreadPoolExecutor(len(texts)) as pool:
        found = list(pool.map(lambda text: compose(http, text, id="h", alone=True), texts))
    assert len(found) == len(texts)
    assert compose(http, TEXT, id="h", alone=True)


def test_no_more_texts_are_open_than_a_person_may_have(front: Served, http: httpx2.Client) -> None:
    for number in range(composing.MAX_TEXTS + 3):
        compose(http, TEXT, id=f"i{number}", alone=True)
    with front.pair.client() as client:
        until(lambda: _open(client) <= composing.MAX_TEXTS + 1)  # and one of a key, above
        assert _open(client) >= 1


def _open(client: Client) -> int:
    return int(client.status(WAIT_S).facts["composition"].partition(" ")[0])


def test_a_strange_page_composes_nothing(http: httpx2.Client) -> None:
    body: dict[str, object] = {"id": "j", "text": TEXT, "cursor": 1}
    assert refused(http, body, {"origin": "https://evil.example"}).status_code == 403


def test_it_comes_again_with_newer_memory(front: Served, http: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same stream, which ends as soon as the text is another one."""
    retrieval, is_read = front.retrieval, threading.Event()
    assert retrieval is not None
    extract = retrieval.extract

    def extract_later(asked: Extract) -> Extracted:
        assert is_read.wait(WAIT_S)
        return extract(asked)

    monkeypatch.setattr(retrieval, "extract", extract_later)
    body: dict[str, object] = {"id": "k", "text": TEXT, "cursor": len(TEXT)}
    with http.stream("POST", "/composing", json=body) as answer:
        lines = (line for line in answer.iter_lines() if line.startswith("data: "))
        assert "text" in next(lines)
        is_read.set()
        assert "text" in next(lines)
        compose(http, TEXT + " tano", id="k")
        assert all("text" in line for line in lines)
