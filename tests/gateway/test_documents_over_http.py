"""Documents over HTTP, by a retrieval daemon with the product's embedder: sent, listed, shown and forgotten."""

from __future__ import annotations

import base64
import json
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import httpx2
import numpy as np
import pytest
from serving import gateway
from shelf import MAX_BYTES, NOTE, Shelf, shelf, there

from hocket_gateway.access import people
from hocket_gateway.library import uploads
from hocket_gateway.settings import ServeSettings
from hocket_retrieval.embedding.embedder import Embedder
from waiting import WAIT_S, until

__all__ = ["shelf", "there"]  # fixtures


def test_what_is_sent_is_read_and_what_is_removed_is_gone(shelf: Shelf) -> None:
    """The list, the text and the file agree at every moment; the same again is unchanged, another takes its place."""
    first = shelf.put("notes/allotment.md").json()
    file = shelf.uploads / "everybody" / "notes" / "allotment.md"
    assert first == {"name": str(file), "outcome": "added", "passages": 1, "notices": []}
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (NOTE, 0o600)
    assert shelf.names() == [str(file)]
    assert "300 litres" in shelf.ask("GET", f"/documents/{quote(str(file), safe='')}").text
    assert shelf.put("notes/allotment.md").json()["outcome"] == "unchanged"
    assert shelf.put("notes/allotment.md", b"The tank is empty.").json()["outcome"] == "replaced"
    assert "empty" in shelf.ask("GET", f"/documents/{quote(str(file), safe='')}").text
    assert shelf.ask("DELETE", f"/documents/{quote(str(file), safe='')}").json()["deleted"]
    assert shelf.names() == []
    assert not file.exists()
    assert shelf.ask("DELETE", f"/documents/{quote(str(file), safe='')}").status_code == 404


def test_the_way_there_is_shown_as_events(shelf: Shelf) -> None:
    """The last one is the outcome."""
    text = b"\n\n".join(b"Paragraph %d about tulips and tanks." % number for number in range(300))
    accept = {"accept": "text/event-stream"}
    with httpx2.stream("PUT", f"{shelf.url}/documents/long.txt", content=text, headers=accept, timeout=WAIT_S) as got:
        events = [json.loads(line[6:]) for line in got.iter_lines() if line.startswith("data: ")]
    assert events[-1]["outcome"] == "added"
    assert all(set(each) == {"progress", "waiting"} for each in events[:-1])
    assert events[:-1]


def test_a_document_of_this_device_that_was_not_sent_stays_a_file(shelf: Shelf, tmp_path: Path) -> None:
    """It is forgotten, and no more."""
    shelf.put("a.md")
    elsewhere = tmp_path / "own.md"
    elsewhere.write_bytes(NOTE)
    inside = shelf.uploads / "everybody" / "a.md"
    inside.unlink()
    inside.symlink_to(elsewhere)
    assert shelf.ask("DELETE", f"/documents/{quote(str(inside), safe='')}").status_code == 200
    assert elsewhere.exists()


@pytest.mark.parametrize(
    "name",
    [
        *("../a.md", "a/../../b.md", "/etc/passwd", "a//b", "a/", ".", "..", "a/."),
        *("a\\b.md", "a\0b", "a\nb", "x" * 256, ".part-1", "a/b/c/d/e/f/g/h/i.md"),
    ],
)
def test_nothing_is_written_outside(shelf: Shelf, name: str) -> None:
    """A name that leads elsewhere, or is none, is refused, however it is spelled in the request."""
    for spelled in (quote(name, safe=""), quote(name)):
        refused = httpx2.put(f"{shelf.url}/documents/{spelled}", content=NOTE, timeout=WAIT_S)
        assert refused.status_code in (400, 404, 405, 422), spelled  # some clients shorten it: to no file
    assert [path for path in shelf.folder.rglob("*") if path.is_file() and path.read_bytes() == NOTE] == []


def test_what_cannot_be_read_is_said_and_not_kept(shelf: Shelf) -> None:
    """Neither the file nor a document."""
    refused = shelf.put("broken.pdf", b"%PDF-1.7 and no more")
    assert refused.status_code == 422
    assert "broken.pdf" in refused.json()["error"]["message"]
    assert shelf.names() == []
    assert not (shelf.uploads / "everybody" / "broken.pdf").exists()
    assert str(shelf.uploads / "everybody" / "broken.pdf") in str(shelf.ask("GET", "/skipped").json())


def test_what_cannot_be_read_leaves_what_was_there(shelf: Shelf) -> None:
    """File and document are those that were sent before under this name, and nothing else lies about."""
    name = shelf.put("a.md").json()["name"]
    assert shelf.put("a.md", b"").status_code == 422
    assert Path(name).read_bytes() == NOTE
    assert "300 litres" in shelf.ask("GET", f"/documents/{quote(name, safe='')}").text
    assert [path.name for path in Path(name).parent.iterdir() if path.is_file()] == ["a.md"]


def test_who_leaves_while_it_is_read_leaves_nothing_that_cannot_be_read(shelf: Shelf) -> None:
    """It goes as soon as that is known, and so does its place among the uploads in work."""
    name = shelf.uploads / "everybody" / "a.pdf"
    broken = b"%PDF-1.7 and no more"
    head = f"PUT /documents/a.pdf HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(broken)}\r\n\r\n"
    long = b"\n\n".join(b"Paragraph %d about tulips and tanks." % number for number in range(600))
    with ThreadPoolExecutor(1) as threads:
        before = threads.submit(shelf.put, "long.txt", long)  # what is sent behind it waits
        until((shelf.uploads / "everybody" / "long.txt").exists)
        with socket.create_connection(("127.0.0.1", int(shelf.url.rsplit(":", 1)[1])), WAIT_S) as there:
            there.sendall(head.encode() + broken)
            until(name.exists)
        assert before.result().status_code == 200
    until(lambda: not name.exists())
    assert str(name) in str(shelf.ask("GET", "/skipped").json())
    for _ in range(uploads.AT_ONCE + 1):
        assert shelf.put("b.md").status_code == 200


def test_too_much_is_refused_and_leaves_nothing(shelf: Shelf) -> None:
    """Announced or not."""
    long = b"x" * (MAX_BYTES + 1)
    assert shelf.put("long.txt", long).status_code == 413
    chunked = httpx2.put(
        f"{shelf.url}/documents/long.txt", content=iter([long[:50_000], long[50_000:]]), timeout=WAIT_S
    )
    assert chunked.status_code == 413
    assert not [path for path in shelf.uploads.rglob("*") if path.is_file()]


def test_each_key_has_a_folder_of_its_own(shelf: Shelf) -> None:
    """It sees and removes what it has sent, and nothing of others; without the right it sends nothing."""
    file = shelf.folder / "people.json"
    anna = people.invite(file, "anna", folders=("/none",), may_upload=True, uploads=shelf.uploads)
    ben = people.invite(file, "ben", folders=("/none",), may_upload=True, uploads=shelf.uploads)
    own, other = (person.folders[1] for person in people.listed(file))
    reader = people.invite(file, "reader")
    mine, his = shelf.put("a.md", key=anna).json()["name"], shelf.put("b.md", b"Of Ben.", key=ben).json()["name"]
    assert (shelf.names(anna), shelf.names(ben), shelf.names(reader)) == ([mine], [his], sorted([mine, his]))
    assert [each["removable"] for each in shelf.ask("GET", "/documents", anna).json()["documents"]] == [True]
    assert shelf.put("c.md", key=reader).status_code == 403
    for key, name in ((ben, mine), (reader, mine), (anna, own), (ben, f"{other}/../{Path(own).name}/a.md")):
        assert shelf.ask("DELETE", f"/documents/{quote(name, safe='')}", key).status_code == 403
    assert shelf.ask("GET", f"/documents/{quote(his, safe='')}", anna).status_code == 403
    assert shelf.ask("DELETE", f"/documents/{quote(mine, safe='')}", anna).status_code == 200
    assert shelf.names(reader) == [his]


def test_so_many_files_of_a_key_are_in_work(shelf: Shelf) -> None:
    """One that stays open counts until it ends, and then no more."""
    line = b"PUT /documents/slow.md HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n"
    host, port = "127.0.0.1", int(shelf.url.rsplit(":", 1)[1])
    with ExitStack() as stack:
        for _ in range(uploads.AT_ONCE):
            stack.enter_context(socket.create_connection((host, port), WAIT_S)).sendall(line)
        until(lambda: shelf.put("a.md").status_code == 429)
    until(lambda: shelf.put("a.md").status_code == 200)
    assert not list(shelf.uploads.rglob(".part-*"))


def test_a_gateway_without_a_folder_takes_none(shelf: Shelf, tmp_path: Path) -> None:
    settings = ServeSettings(port=0, device=f"ipc://{tmp_path}/none", retrieval=f"ipc://{shelf.folder}/r")
    with gateway(settings) as port:
        refused = httpx2.put(f"http://127.0.0.1:{port}/documents/a.md", content=NOTE, timeout=WAIT_S)
        assert (refused.status_code, "uploads" in refused.text) == (403, True)
        assert httpx2.get(f"http://127.0.0.1:{port}/documents", timeout=WAIT_S).json()["uploads"] is False


def test_a_watched_folder_is_read_at_every_change(shelf: Shelf, tmp_path: Path) -> None:
    """What is made, changed and deleted in it, until it is watched no more; then its documents stay."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_bytes(NOTE)
    one, other = str(notes / "a.md"), str(notes / "b.md")
    assert shelf.ask("PUT", f"/watched{quote(str(notes))}").status_code == 200
    assert shelf.ask("PUT", f"/watched{quote(str(notes))}/").json()["folders"][0]["folder"] == str(notes)
    until(lambda: shelf.names() == [one])
    (notes / "b.md").write_bytes(b"Of tulips.")
    until(lambda: shelf.names() == [one, other])
    (notes / "a.md").unlink()
    until(lambda: shelf.names() == [other])
    (folder,) = shelf.ask("GET", "/watched").json()["folders"]
    assert (folder["failures"], folder["problem"]) == ([], "")
    assert json.loads((shelf.folder / "watched.json").read_text()) == [str(notes)]
    assert shelf.ask("DELETE", f"/watched{quote(str(notes))}").json() == {"folders": []}
    assert shelf.ask("DELETE", f"/watched{quote(str(notes))}").status_code == 404
    assert shelf.names() == [other]


def test_a_document_that_is_removed_from_a_watched_folder_stays_away(shelf: Shelf, tmp_path: Path) -> None:
    """Keep it away when the folder changes, and the file itself; the file stays."""
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_bytes(NOTE + name.encode())
    one, other = str(tmp_path / "a.md"), str(tmp_path / "b.md")
    assert shelf.ask("PUT", f"/watched{quote(str(tmp_path))}").status_code == 200
    until(lambda: shelf.names() == [one, other])
    assert shelf.ask("DELETE", f"/documents/{quote(one, safe='')}").status_code == 200
    (tmp_path / "a.md").write_bytes(b"Of herons.")
    (tmp_path / "c.md").write_bytes(b"Of tulips.")
    until(lambda: len(shelf.names()) == 2)
    assert shelf.names() == [other, str(tmp_path / "c.md")]
    reasons = {each["name"]: each["why"] for each in shelf.ask("GET", "/skipped").json()["skipped"]}
    assert "you have removed it" in reasons[one]
    assert Path(one).exists()


def test_no_folder_is_watched_twice(shelf: Shelf, tmp_path: Path) -> None:
    """Refuse a folder in a watched one; one that holds others takes their place."""
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "in" / "ner"
    inner.mkdir(parents=True)
    (inner / "a.md").write_bytes(NOTE)
    for folder in (inner, outer):
        shown = shelf.ask("PUT", f"/watched{quote(str(folder))}").json()["folders"]
        assert [each["folder"] for each in shown] == [str(folder)]
    refused = shelf.ask("PUT", f"/watched{quote(str(inner))}")
    assert (refused.status_code, f"as part of {outer}" in refused.text) == (400, True)
    assert json.loads((shelf.folder / "watched.json").read_text()) == [str(outer)]
    until(lambda: shelf.names() == [str(inner / "a.md")])


def test_no_key_is_enough_to_watch(shelf: Shelf, tmp_path: Path) -> None:
    """Whoever could name a folder could read any file."""
    key = people.invite(shelf.folder / "people.json", "anna", may_upload=True)
    for method, path in (("GET", "/watched"), ("PUT", f"/watched{tmp_path}"), ("DELETE", f"/watched{tmp_path}")):
        assert shelf.ask(method, path, key).status_code == 403


@pytest.mark.parametrize("name", ["/no/such/folder", "/etc/passwd", "relative"])
def test_what_is_no_folder_is_not_watched(shelf: Shelf, name: str) -> None:
    refused = shelf.ask("PUT", f"/watched/{quote(name, safe='')}")
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "folder")


TEXTS = ["The tank holds 300 litres.", "Tulips are red."]


def test_embeddings_are_the_embedders(shelf: Shelf) -> None:
    """By OpenAI's package, as numbers and as base64, and by Ollama's; one text alone gives the same as among others."""
    openai = pytest.importorskip("openai", reason="openai is not installed: hocket[dev]")
    ollama = pytest.importorskip("ollama", reason="ollama is not installed: hocket[dev]")
    want = Embedder().documents(TEXTS)
    with openai.OpenAI(base_url=f"{shelf.url}/v1", api_key="none", timeout=WAIT_S, max_retries=0) as client:
        for more in ({}, {"encoding_format": "float"}):
            found = client.embeddings.create(model="hocket-embeddings", input=TEXTS, **more)
            assert [each.index for each in found.data] == [0, 1]
            assert np.array([each.embedding for each in found.data]) == pytest.approx(want, abs=1e-3)
    with ollama.Client(host=shelf.url, timeout=WAIT_S) as other:
        assert np.array(other.embed("hocket-embeddings:latest", TEXTS).embeddings) == pytest.approx(want, abs=1e-3)
        assert np.array(other.embeddings("hocket-embeddings", TEXTS[0]).embedding) == pytest.approx(want[0], abs=1e-2)
    raw = shelf.ask(
        "POST", "/v1/embeddings", json={"model": "hocket-embeddings", "input": TEXTS[1], "encoding_format": "base64"}
    ).json()["data"][0]["embedding"]
    assert struct.unpack("<384f", base64.b64decode(raw)) == pytest.approx(want[1], abs=1e-2)


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({"input": "x", "input_type": "image"}, 400, "input_type"),
        ({"model": "hocket", "input": "x"}, 404, "model"),
        ({"input": ""}, 400, "input"),
        ({"input": []}, 400, "input"),
        ({"input": ["a", " "]}, 400, "input"),
        ({"input": [1, 2]}, 400, "input"),
        ({"input": ["x"] * 257}, 400, "input"),
        ({"input": "x", "dimensions": 2}, 400, "dimensions"),
        ({"input": "x", "encoding_format": "hex"}, 400, "encoding_format"),
    ],
)
def test_what_cannot_be_embedded_is_refused_by_name(
    shelf: Shelf, body: dict[str, object], status: int, param: str
) -> None:
    refused = shelf.ask("POST", "/v1/embeddings", json={"model": "hocket-embeddings"} | body)
    assert (refused.status_code, refused.json()["error"]["param"]) == (status, param)


def test_a_key_that_is_lost_lets_nobody_in(tmp_path: Path) -> None:
    """Where others may reach the gateway, the file of keys that is gone does not open it."""
    settings = ServeSettings(host="0.0.0.0", port=0, device=f"ipc://{tmp_path}/none", people=str(tmp_path / "keys"))
    key = people.invite(tmp_path / "keys", "anna")
    with gateway(settings) as port:
        url = f"http://127.0.0.1:{port}/status"
        assert httpx2.get(url, headers={"authorization": f"Bearer {key}"}, timeout=WAIT_S).status_code == 200
        (tmp_path / "keys").unlink()
        assert httpx2.get(url, timeout=WAIT_S).status_code == 401
        assert httpx2.get(url, headers={"authorization": f"Bearer {key}"}, timeout=WAIT_S).status_code == 503
