"""Canaries: what a key may not see is in no response of any path, and what is asked alone in no frame to the cloud.

Each operation of `/openapi.json` and each tool of `/mcp` has its calls here: one that is new fails until it has some.
"""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from every_call import Place, calls_of, tool_calls, uses_of
from harness import pair
from mcp.shared.exceptions import MCPError
from mcp_use import Use, called, tools, used
from serving import gateway

from hocket_daemon.privacy.egress import EgressSettings
from hocket_gateway.access import people
from hocket_gateway.openapi import OPERATIONS
from hocket_gateway.settings import ServeSettings
from hocket_lab.link.tap import Tap, messages
from hocket_retrieval.config import RetrievalConfig
from hocket_retrieval.service.daemon import Daemon
from hocket_tools.commands.library.documents import read_in
from waiting import WAIT_S

FOLDER, FILE, BROKEN, WORD, TOLD = "canaryfolder", "canaryfile", "canarybroken", "canaryword", "canarytold"
CANARIES = (FOLDER, FILE, BROKEN, WORD, TOLD)  # of the owner: names of a folder and its files, a passage, a question
SECRET = f"The safe of Elm House opens with {WORD}."
PUBLIC = "A safe is opened with a word, a number or a key."
OPEN = "The gate of Elm House is green."
QUESTION = "What opens the safe of Elm House?"
STREAM_PATHS = "/composing"  # a stream that does not end by itself


@dataclass(frozen=True)
class House:
    """A pair whose device has a private folder and one that a guest reads, and its gateway."""

    url: str
    tap: Tap
    keys: dict[str, str]
    place: Place

    def send(self, method: str, path: str, key: str, **more: Any) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self.keys[key]}", **more.pop("headers", {})}
        with httpx2.stream(method, self.url + path, headers=headers, timeout=WAIT_S, **more) as response:
            if path.startswith(STREAM_PATHS) and response.status_code == 200:
                response._content = next(line for line in response.iter_lines() if line).encode()
            else:
                response.read()
        return response

    def frames(self) -> list[bytes]:
        """All that went to the cloud."""
        return [frame for recorded in self.tap.recorded() for each in messages(recorded) for frame in each]


def _shelves(folder: Path) -> tuple[Path, Path]:
    private, letters = folder / "notes" / FOLDER, folder / "notes" / "letters"
    for each in (private, letters):
        each.mkdir(parents=True)
    (private / f"{FILE}.md").write_text(SECRET)
    (private / f"{BROKEN}.pdf").write_bytes(b"%PDF-1.7 and no more")
    (letters / "open.md").write_text(OPEN)
    (folder / "articles").mkdir()
    (folder / "articles" / "safes.md").write_text(PUBLIC)
    return private, letters


def _retrieval(stack: ExitStack, endpoint: str, state: Path, documents: Path) -> None:
    """A retrieval daemon that has read a folder."""
    daemon = Daemon(RetrievalConfig(endpoint=endpoint, state=str(state)))
    stack.callback(daemon.close)
    daemon.start()
    serving = threading.Thread(target=daemon.serve, daemon=True)
    serving.start()
    stack.callback(lambda: (daemon.stop(), serving.join(WAIT_S)))
    read_in(endpoint, [documents])


@pytest.fixture(scope="module")
def house(tiny_models: dict[str, Path]) -> Iterator[House]:
    with tempfile.TemporaryDirectory(prefix="hk") as name, pair(Path(name), tiny_models, start=False) as made:
        folder = Path(name)
        private, letters = _shelves(folder)
        tap = made.stack.enter_context(Tap(made.endpoint("tap"), made.endpoint("cloud")))
        _retrieval(made.stack, made.endpoint("device-retrieval"), folder / "own", folder / "notes")
        _retrieval(made.stack, made.endpoint("cloud-retrieval"), folder / "public", folder / "articles")
        made.start_cloud()
        egress = EgressSettings(ledger=str(folder / "ledger"))
        made.start_device(link=made.endpoint("tap"), egress=egress, decisions=str(folder / "decisions.db"))
        file = folder / "people.json"
        uploads = folder / "uploads"
        keys = {
            "owner": people.invite(file, "owner"),
            "guest": people.invite(file, "guest", folders=(str(letters), str(uploads / "guest")), may_upload=True),
            "alone": people.invite(file, "alone", alone_only=True, may_upload=True),
        }
        settings = ServeSettings(
            port=0,
            device=made.endpoint("device"),
            retrieval=made.endpoint("device-retrieval"),
            people=str(file),
            responses=str(folder / "responses.db"),
            uploads=str(uploads),
            watched=str(folder / "watched.json"),
            max_tokens=8,
            a_minute=10_000,
        )
        port = made.stack.enter_context(gateway(settings))
        there = House(f"http://127.0.0.1:{port}", tap, keys, Place(str(private / f"{FILE}.md"), str(letters), "", ""))
        asked = {"model": "hocket-alone", "input": f"{TOLD} {QUESTION}"}
        response = there.send("POST", "/v1/responses", "owner", json=asked).json()
        yield replace(there, place=replace(there.place, response=response["id"], answer=response["hocket"]["id"]))


def seen(response: httpx2.Response) -> list[str]:
    """The canaries in a response that its request did not have."""
    request = response.request
    asked = f"{request.url} {request.content if hasattr(request, '_content') else b''!r}"
    told = response.text + json.dumps(dict(response.headers))
    return [canary for canary in CANARIES if canary in told and canary not in asked]


def told_by(house: House, use: Use, key: str) -> str:
    """Return the text of a resource or a prompt, or of its refusal."""
    try:
        return str(used(house.url, use, house.keys[key]))
    except MCPError as error:
        return str(error)


def test_every_operation_and_tool_is_tried(house: House) -> None:
    assert set(calls_of(house.place, QUESTION)) == {(each.method, each.path) for each in OPERATIONS}
    assert set(tool_calls(QUESTION, house.place.file)) == set(tools(house.url, house.keys["guest"]))


@pytest.mark.parametrize(("method", "path"), [(each.method, each.path) for each in OPERATIONS])
def test_a_guest_is_shown_nothing_private(house: House, method: str, path: str) -> None:
    """No name, no passage and no question of others, whatever the path is asked."""
    for made in calls_of(house.place, QUESTION)[method, path]:
        response = made(partial(house.send, key="guest"))
        assert response.status_code < 500, response.text
        assert seen(response) == []


def test_a_guests_tools_show_nothing_private(house: House) -> None:
    for tool, asked in tool_calls(QUESTION, house.place.file).items():
        for arguments in asked:
            told = str(called(house.url, tool, house.keys["guest"], **arguments))
            assert [canary for canary in CANARIES if canary in told] == []
    for at, use in enumerate(uses_of(QUESTION, house.place.file)):
        told = told_by(house, use, "guest")
        hidden = CANARIES if at < 2 else (WORD, TOLD)  # a refusal repeats the name that was asked for
        assert [canary for canary in hidden if canary in told] == []


@pytest.mark.slow
def test_the_owner_is_shown_it(house: House) -> None:
    """By the same calls: the canaries are there to be seen."""
    found = {
        (method, path)
        for (method, path), made in calls_of(house.place, QUESTION).items()
        if method != "delete"
        for each in made
        if seen(each(partial(house.send, key="owner")))
    }
    assert found >= {
        *(("get", path) for path in ("/documents", "/documents/{name}", "/skipped", "/v1/responses/{id}")),
        *(("post", path) for path in ("/v1/chat/completions", "/v1/responses", "/v1/completions", "/api/chat")),
        ("post", "/api/generate"),
    }
    for tool in ("ask", "search", "fetch", "documents"):
        told = str(called(house.url, tool, house.keys["owner"], **tool_calls(QUESTION, house.place.file)[tool][0]))
        assert [canary for canary in CANARIES if canary in told]
    for use in uses_of(QUESTION, house.place.file)[:4:2]:
        assert [canary for canary in CANARIES if canary in told_by(house, use, "owner")]


def test_what_there_is_and_what_there_is_not_look_alike(house: House) -> None:
    """A guest learns no name by trying it: not of a document, a response, an answer's record or a folder."""
    none = str(Path(house.place.file).parents[1] / "none" / "none.md")
    nothing = Place(none, house.place.letters, response="resp_0", answer="0" * 32)
    for operation, made in calls_of(house.place, QUESTION).items():
        if "{" in operation[1]:
            pairs = zip(made, calls_of(nothing, QUESTION)[operation], strict=True)
            for there, missing in pairs:
                statuses = [each(partial(house.send, key="guest")).status_code for each in (there, missing)]
                assert statuses[0] == statuses[1], operation


def test_what_is_asked_alone_is_in_no_frame(house: House) -> None:
    """By whatever path and tool; a question of another key of the same time is."""
    told = "canaryasked What opens the safe of Elm House?"
    for operation, made in calls_of(house.place, told).items():
        if operation[0] != "delete":
            for each in made:
                assert each(partial(house.send, key="alone")).status_code < 500, operation
    for tool, asked in tool_calls(told, house.place.file).items():
        for arguments in asked:
            called(house.url, tool, house.keys["alone"], **arguments)
    for use in uses_of(told, house.place.file):
        told_by(house, use, "alone")
    public = [{"role": "user", "content": "mirabelle kala?"}]
    house.send("POST", "/v1/chat/completions", "owner", json={"model": "hocket", "messages": public})
    frames = house.frames()
    assert any(b"mirabelle" in frame for frame in frames)
    assert [frame for frame in frames if b"canaryasked" in frame] == []
