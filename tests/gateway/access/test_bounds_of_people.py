"""What a person may keep, hold and ask of the gateway: bytes, names, answers that nobody reads, and turns."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from serving import USER, Served, running_gateway
from shelf import Shelf, shelf, there

from hocket_bus.errors import BadRequest
from hocket_bus.messages import DocumentText, Removed
from hocket_gateway.access import people
from hocket_gateway.answers import response_store
from hocket_gateway.answers.response_store import ResponseStore, StoredResponse
from hocket_gateway.http import in_flight
from hocket_gateway.http.in_flight import InFlight
from hocket_gateway.http.refusals import Refusal
from hocket_gateway.library import document_turns, removals
from hocket_gateway.library.document_turns import DocumentTurns
from hocket_gateway.library.stored import StoredDocuments
from hocket_gateway.settings import ServeSettings
from waiting import WAIT_S, until

__all__ = ["shelf", "there"]  # fixtures


def post(front: Served, key: str = "", **body: object) -> httpx2.Response:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    asked = {"model": "hocket-alone", "input": USER[0]["content"], "max_output_tokens": 2, **body}
    return httpx2.post(f"{front.url}/v1/responses", json=asked, headers=headers, timeout=WAIT_S)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"metadata": {str(n): "x" for n in range(17)}}, 400),
        ({"metadata": {"k" * 65: "x"}}, 400),
        ({"metadata": {"k": "x" * 513}}, 400),
        ({"instructions": "x" * 300_000}, 413),
        ({"input": "x" * 300_000}, 413),
        ({"metadata": {str(n): "x" * 512 for n in range(16)}}, 200),
    ],
)
def test_what_a_response_keeps_is_bounded(front: Served, body: dict[str, object], status: int) -> None:
    assert post(front, **body).status_code == status


def test_so_many_bytes_are_stored_of_a_person_and_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go first, and of a person beyond the bound nobody else's."""
    monkeypatch.setattr(response_store, "MAX_BYTES_OF_ONE", 1_000)
    monkeypatch.setattr(response_store, "MAX_BYTES", 1_600)
    store = ResponseStore(tmp_path / "responses.db")

    def put(person: str, number: int) -> None:
        store.put(StoredResponse(f"{person}{number}", person, "", b"a" * 50, b"r" * 50))

    def kept(person: str, numbers: int) -> list[int]:
        return [number for number in range(numbers) if store.find(f"{person}{number}", person)]

    for number in range(5):
        put("anna", number)
    for number in range(30):
        put("ben", number)
    assert kept("anna", 5) == [0, 1, 2, 3, 4]
    assert kept("ben", 30) == [*range(20, 30)]
    for number in range(5):
        put("carl", number)
    assert (kept("anna", 5), kept("ben", 30), kept("carl", 5)) == ([4], [*range(20, 30)], [0, 1, 2, 3, 4])
    store.close()


@pytest.mark.parametrize("name", ["everybody", "Everybody", "nobody", "anyone"])
def test_a_name_that_means_no_one_person_is_taken_by_nobody(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadRequest, match="is a reserved name"):
        people.invite(tmp_path / "keys", name)


def test_an_older_key_of_such_a_name_has_not_the_folder_of_all() -> None:
    """Nor has one without an id another account than before."""
    assert people.Person(name="everybody").account not in ("", "everybody")
    assert people.Person(name="anna").account == "anna"
    assert people.NOBODY.account == ""


def test_a_key_made_anew_is_another_person(front: Served) -> None:
    """It has nothing that a revoked key of this name has stored."""
    try:
        first = people.invite(front.people, "anna")
        number = post(front, first).json()["id"]
        assert post(front, first, previous_response_id=number).status_code == 200
        people.revoke(front.people, "anna")
        second = people.invite(front.people, "anna")
        bearer = {"authorization": f"Bearer {second}"}
        assert httpx2.get(f"{front.url}/v1/responses/{number}", headers=bearer).status_code == 404
        assert post(front, second, previous_response_id=number).status_code == 404
    finally:
        front.people.unlink()


def test_nor_has_it_the_files(shelf: Shelf) -> None:
    file = shelf.folder / "people.json"
    first = people.invite(file, "anna", folders=("/none",), may_upload=True, uploads=shelf.uploads)
    name = shelf.put("a.md", key=first).json()["name"]
    people.revoke(file, "anna")
    second = people.invite(file, "anna", folders=("/none",), may_upload=True, uploads=shelf.uploads)
    assert shelf.names(second) == []
    for method in ("GET", "DELETE"):
        assert shelf.ask(method, f"/documents/{quote(name, safe='')}", second).status_code == 403


def test_a_link_in_a_persons_folder_leads_to_no_document_elsewhere(tmp_path: Path) -> None:
    """Whatever is spelled in the name."""
    own, other = tmp_path / "letters", tmp_path / "private"
    for folder in (own, other):
        folder.mkdir()
        (folder / "a.md").write_text("text")
    (own / "b.md").symlink_to(other / "a.md")
    person = people.Person(name="anna", folders=(str(own),))
    assert person.may_read(str(own / "a.md"))
    assert not person.may_read(str(own / "b.md"))
    assert not person.may_read(f"{own}/../private/a.md")
    assert not person.may_read(f"{own}//a.md")


def test_a_removal_that_takes_long_goes_on_without_its_file(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asked is told so; when it is over the document is gone."""
    name = shelf.put("long.md").json()["name"]
    plain, held = StoredDocuments.remove, asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def slow(self: StoredDocuments, names: list[str]) -> Removed:
        loops.append(asyncio.get_running_loop())
        await held.wait()
        return await plain(self, names)

    monkeypatch.setattr(StoredDocuments, "remove", slow)
    monkeypatch.setattr(removals, "WAIT_S", 0.1)
    answer = shelf.ask("DELETE", f"/documents/{quote(name, safe='')}")
    assert (answer.status_code, answer.json()["going_on"]) == (202, True)
    assert not Path(name).exists()
    assert shelf.names() == [name]
    loops[0].call_soon_threadsafe(held.set)
    until(lambda: shelf.names() == [])


@pytest.mark.slow
def test_answers_that_nobody_reads_hold_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each connection a piece, and of all documents so many are on their way; others are told to wait."""
    pages = 0

    async def page(self: StoredDocuments, name: str, offset: int) -> DocumentText:
        nonlocal pages
        pages += 1
        text = "x" * 400_000
        return DocumentText(request=b"r" * 16, name=name, title="", version="", text=text, outline=[], total=1 << 30)

    monkeypatch.setattr(StoredDocuments, "page", page)
    monkeypatch.setattr(in_flight, "MAX_OF_ONE", in_flight.MAX_DOCUMENTS)
    asked = b"GET /documents/a HTTP/1.1\r\nHost: localhost\r\n\r\n"
    settings = ServeSettings(port=0, device=f"ipc://{tmp_path}/none", people=str(tmp_path / "people"))
    with running_gateway(settings) as (port, server), ExitStack() as stack:
        for _ in range(in_flight.MAX_DOCUMENTS):
            there = stack.enter_context(socket.create_connection(("127.0.0.1", port), WAIT_S))
            there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            there.sendall(asked)
        until(lambda: pages >= in_flight.MAX_DOCUMENTS)
        until(lambda: httpx2.get(f"http://127.0.0.1:{port}/documents/a", timeout=WAIT_S).status_code == 503)
        waiting = [each.transport.get_write_buffer_size() for each in server.server_state.connections]  # type: ignore[union-attr]
        assert max(waiting) <= 3 * in_flight.PIECE_BYTES


def test_long_whole_answers_have_a_bound_together() -> None:
    """Of several the later one is refused in its place; one alone is sent, however long, in pieces."""

    async def scenario() -> None:
        flight, sent = InFlight(), list[dict[str, object]]()
        gate = asyncio.Event()

        async def slow(message: object) -> None:
            await gate.wait()

        async def quick(message: object) -> None:
            sent.append(dict(message))  # type: ignore[call-overload]

        def head(size: int) -> dict[str, object]:
            return {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % size)]}

        async def answer(send: object, size: int) -> None:
            with flight.answer(send, "/") as sending:  # type: ignore[arg-type]
                await sending(head(size))
                await sending({"type": "http.response.body", "body": b"x" * 200_000, "more_body": False})

        first = asyncio.create_task(answer(slow, in_flight.MAX_BYTES))
        await asyncio.sleep(0)
        await answer(quick, 200_000)
        assert sent[0]["status"] == 503
        gate.set()
        await first
        assert flight.bytes == 0
        sent.clear()
        await answer(quick, 2 * in_flight.MAX_BYTES)
        assert sent[0]["status"] == 200
        assert [len(each["body"]) for each in sent[1:]] == [65_536, 65_536, 65_536, 3_392]  # type: ignore[arg-type]
        assert [each["more_body"] for each in sent[1:]] == [True, True, True, False]

    asyncio.run(scenario())


def test_keys_take_turns_at_the_retrieval_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks a hundred things lets one of another key come next, and has a bound of its own."""

    async def scenario() -> list[str]:
        turns, order, gate = DocumentTurns(), list[str](), asyncio.Event()

        async def ask(account: str) -> None:
            async with turns.turn(account):
                order.append(account)
                await gate.wait()

        many = [asyncio.create_task(ask("mallory")) for _ in range(document_turns.OF_ONE + document_turns.MAX_WAITING)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert order == ["mallory"] * document_turns.OF_ONE
        with pytest.raises(Refusal, match="wait for the retrieval daemon"):
            await ask("mallory")
        anna = asyncio.create_task(ask("anna"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert order[-1] == "anna"
        gate.set()
        await asyncio.gather(anna, *many)
        return order

    assert len(asyncio.run(scenario())) == document_turns.OF_ONE + document_turns.MAX_WAITING + 1


def test_a_turn_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a reason, and nothing of it stays."""
    monkeypatch.setattr(document_turns, "WAIT_S", 0.05)

    async def scenario() -> None:
        turns = DocumentTurns()
        async with AsyncExitStack() as stack:
            for _ in range(document_turns.OF_ONE):
                await stack.enter_async_context(turns.turn("anna"))
            with pytest.raises(Refusal, match="take long"):
                await stack.enter_async_context(turns.turn("anna"))
        async with turns.turn("anna"):
            pass

    asyncio.run(scenario())
