"""`/mcp`, by the client of the official SDK."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError
from mcp_use import called, tools, used
from serving import QuotingRetrieval, Served, served

from hocket_bus.messages import Documents
from hocket_gateway.access import people
from hocket_lab.link.tap import messages
from ports import free_port
from waiting import WAIT_S, until


@pytest.fixture(scope="module")
def front(tiny_models: dict[str, Path]) -> Iterator[Served]:
    with served(tiny_models, tapped=True, max_tokens=8) as there:
        yield there


def test_there_are_five_tools_that_say_what_they_do(front: Served) -> None:
    found = tools(front.url)
    assert set(found) == {"ask", "search", "fetch", "documents", "status"}
    assert all(tool.description for tool in found.values())
    assert found["ask"].input_schema["required"] == ["question"]
    assert all(tool.annotations.read_only_hint for tool in found.values())
    assert [name for name, tool in found.items() if tool.annotations.open_world_hint] == ["ask"]


def test_an_answer_comes_with_its_sources(front: Served) -> None:
    """The pair's, of both sides, the device's with their words."""
    plain = front.pair.client().ask("kala mira?", max_tokens=8).result()
    got = called(front.url, "ask", question="kala mira?").structured_content
    assert (got["answer"], got["model"]) == (plain.text, "hocket")
    assert {source["side"]: bool(source["snippet"]) for source in got["sources"]} == {"device": True, "cloud": False}
    assert (
        called(front.url, "ask", question="kala mira?", model="hocket-alone").structured_content["model"]
        == "hocket-alone"
    )


def test_a_search_tells_the_cloud_nothing(front: Served) -> None:
    assert front.tap is not None
    assert front.retrieval is not None
    got = called(front.url, "search", query="canary4711 kala", passages=3).structured_content
    assert [passage["document"] for passage in got["passages"]] == ["device-0", "device-1", "device-2"]
    assert front.retrieval.searched[-1].query == "canary4711 kala"
    frames = [frame for recorded in front.tap.recorded() for each in messages(recorded) for frame in each]
    assert frames
    assert not [frame for frame in frames if b"canary4711" in frame]


def test_what_a_search_finds_can_be_fetched(front: Served) -> None:
    """By the fields that hosts expect of the two tools; a name that is none is told as an error."""
    got = called(front.url, "search", query="kala", passages=3).structured_content
    first = got["results"][0]
    assert (first["id"], first["url"]) == ("device-0", f"{front.url}/documents/device-0")
    found = called(front.url, "fetch", id=first["id"]).structured_content
    assert {name: found[name] for name in ("id", "title", "url")} == first
    assert found["text"]
    refused = called(front.url, "fetch", id="no such document")
    assert refused.is_error


def test_a_program_that_starts_its_servers_gets_the_same_tools(front: Served, tmp_path: Path) -> None:
    """By `hocket mcp`, on standard input and output; without a gateway it says in one line what to do."""
    program = Path(sys.executable).with_name("hocket")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    async def use(port: int) -> tuple[set[str], Any]:
        (tmp_path / "serve.toml").write_text(f"port = {port}\n", encoding="utf-8")
        given = ["mcp", "--home", str(tmp_path)]
        started = StdioServerParameters(command=str(program), args=given, env=environment)
        async with Client(stdio_client(started)) as client:
            named = {tool.name for tool in (await client.list_tools()).tools}
            return named, await client.call_tool("search", {"query": "kala", "passages": 1})

    port = int(front.url.rpartition(":")[2])
    named, found = asyncio.run(asyncio.wait_for(use(port), WAIT_S))
    assert named == {"ask", "search", "fetch", "documents", "status"}
    assert found.structured_content == called(front.url, "search", query="kala", passages=1).structured_content
    (tmp_path / "serve.toml").write_text(f"port = {free_port()}\n", encoding="utf-8")
    command = [program, "mcp", "--home", tmp_path]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert (ended.returncode, ended.stdout, len(ended.stderr.splitlines())) == (69, "", 1)
    assert "hocket up --serve" in ended.stderr


@pytest.mark.parametrize("given", ["", "no message\n", "initialize"])
def test_the_program_ends_with_its_input_and_answers_what_came_before(
    front: Served, tmp_path: Path, given: str
) -> None:
    """As hosts end it; the answer comes though nobody can ask any more."""
    (tmp_path / "serve.toml").write_text(f"port = {front.url.rpartition(':')[2]}\n", encoding="utf-8")
    client = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}) + "\n"
    command = [Path(sys.executable).with_name("hocket"), "mcp", "--home", tmp_path]
    ended = subprocess.run(
        command,
        input=asked if given == "initialize" else given,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert ended.returncode == 0
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [each["id"] for each in answers] == ([1] if given == "initialize" else [])
    assert all(each["result"]["serverInfo"] for each in answers)


def test_documents_are_resources(front: Served) -> None:
    """Read a document's text by a URI with its whole name; refuse another URI or cursor in one line."""
    listed = used(front.url, lambda client: client.list_resources()).resources
    assert [(each.name, str(each.uri)) for each in listed] == [
        ("device-0", "hocket://device/device-0"),
        ("letters/a", "hocket://device/letters%2Fa"),
    ]
    (read,) = used(front.url, lambda client: client.read_resource(listed[0].uri)).contents
    assert (read.text, read.mime_type) == ("<script>", "text/plain")
    (template,) = used(front.url, lambda client: client.list_resource_templates()).resource_templates
    assert template.uri_template == "hocket://device/{name}"
    for uri in ("hocket://device/none", "hocket://device/%2Fetc%2Fpasswd", "hocket://cloud/device-0"):
        with pytest.raises(MCPError) as refused:
            used(front.url, lambda client, uri=uri: client.read_resource(uri))
        assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(MCPError, match="cursor"):
        used(front.url, lambda client: client.list_resources(cursor="x"))


def test_resources_come_in_pages(front: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the cursor of the next page with each page but the last."""
    stored = front.retrieval

    def one_at_a_time(asked: object) -> object:
        answer = QuotingRetrieval.stored(stored, asked)  # type: ignore[arg-type]
        if not isinstance(answer, Documents):
            return answer
        at = asked.offset  # type: ignore[attr-defined]
        return msgspec.structs.replace(answer, documents=answer.documents[at : at + 1])

    monkeypatch.setattr(stored, "stored", one_at_a_time)
    first = used(front.url, lambda client: client.list_resources())
    second = used(front.url, lambda client: client.list_resources(cursor=first.next_cursor))
    assert [each.name for page in (first, second) for each in page.resources] == ["device-0", "letters/a"]
    assert (first.next_cursor, second.next_cursor) == ("1", None)


def test_prompts_begin_what_hosts_offer_as_commands(front: Served) -> None:
    """Return a question, and a document's text; refuse the name of no document."""
    found = {each.name: each for each in used(front.url, lambda client: client.list_prompts()).prompts}
    assert {name: [each.name for each in found[name].arguments] for name in found} == {
        "answer_from_documents": ["question"],
        "summarize_document": ["name"],
    }
    assert all(each.description for each in found.values())
    asked = used(front.url, lambda client: client.get_prompt("answer_from_documents", {"question": "Which berth?"}))
    assert asked.messages[0].content.text.startswith("Which berth?")
    summed = used(front.url, lambda client: client.get_prompt("summarize_document", {"name": "device-0"}))
    assert summed.messages[0].content.resource.text == "<script>"
    assert "Summarize" in summed.messages[1].content.text
    with pytest.raises(MCPError, match="no such document"):
        used(front.url, lambda client: client.get_prompt("summarize_document", {"name": "none"}))
    for name, arguments, said in (
        ("answer_from_documents", {}, "answer_from_documents needs question"),
        ("summarize_document", {"document": "x"}, "summarize_document needs name"),
        ("summarize_document", {"name": "device-0", "more": "x"}, "summarize_document takes name alone"),
        ("none", {}, "there is no prompt 'none': use one of answer_from_documents, summarize_document"),
    ):
        with pytest.raises(MCPError, match=said):
            used(front.url, lambda client, name=name, given=arguments: client.get_prompt(name, given))


@pytest.mark.parametrize(("given", "named"), [({"query": "kala", "passages": 99}, "passages"), ({}, "query")])
def test_wrong_arguments_are_named_in_one_line(front: Served, given: dict[str, object], named: str) -> None:
    refused = called(front.url, "search", **given)
    said = refused.content[0].text
    assert (refused.is_error, said.count("\n"), "http" in said) == (True, 0, False)
    assert f"search does not take these arguments ({named}: " in said


def test_documents_and_status_are_listed(front: Served) -> None:
    """List a document without a title by the last part of its name."""
    assert called(front.url, "documents").structured_content == {
        "documents": [{"id": "device-0", "title": "device-0"}, {"id": "letters/a", "title": "To Anna"}],
        "next": None,
    }
    assert called(front.url, "status").structured_content["model"]


def test_rights_are_those_of_the_key(front: Served) -> None:
    """No key, no tools; the device alone; one folder."""
    key = people.invite(front.people, "anna", alone_only=True, folders=("letters",))
    try:
        assert httpx2.post(f"{front.url}/mcp", json={}, timeout=WAIT_S).status_code == 401
        assert called(front.url, "ask", key, question="kala?").structured_content["model"] == "hocket-alone"
        assert front.retrieval is not None
        assert front.retrieval.searched[-1].within == ["letters"]
        refused = called(front.url, "ask", key, question="kala?", model="hocket")
        assert refused.is_error
        assert "hocket-alone" in refused.content[0].text
        called(front.url, "search", key, query="kala")
        assert front.retrieval.searched[-1].within == ["letters"]
        (listed,) = called(front.url, "documents", key).structured_content["documents"]
        assert listed == {"id": "letters/a", "title": "To Anna"}
        listed = used(front.url, lambda client: client.list_resources(), key).resources
        assert [each.name for each in listed] == ["letters/a"]
        for use in (
            lambda client: client.read_resource("hocket://device/device-0"),
            lambda client: client.get_prompt("summarize_document", {"name": "device-0"}),
        ):
            with pytest.raises(MCPError, match="may not read"):
                used(front.url, use, key)
    finally:
        front.people.unlink()


def test_what_is_wrong_is_said_in_the_result(front: Served) -> None:
    for tool, arguments in (("ask", {"question": " "}), ("ask", {"question": "x", "model": "y"}), ("search", {})):
        assert called(front.url, tool, **arguments).is_error


def test_a_strange_page_reaches_no_tool(front: Served) -> None:
    for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
        assert httpx2.post(f"{front.url}/mcp", json={}, headers=headers, timeout=WAIT_S).status_code == 403


@pytest.mark.parametrize("leaves", [False, True])
def test_a_call_that_is_given_up_ends_the_question(tiny_models: dict[str, Path], leaves: bool) -> None:
    """By the protocol's own word, or by a client that is there no more."""
    with served(tiny_models, hold_s=0.1, max_tokens=200) as slow:

        async def begin(client: Client) -> None:
            asking = asyncio.create_task(client.call_tool("ask", {"question": "kala?", "model": "hocket-alone"}))
            asking.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            await asyncio.to_thread(until, lambda: slow.in_work() == 1)
            if not leaves:
                asking.cancel()
                await asyncio.to_thread(until, lambda: slow.in_work() == 0)

        used(slow.url, begin)
        until(lambda: slow.in_work() == 0)
