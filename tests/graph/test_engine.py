"""Laws of a graph that an engine reads: what it says is kept where it stands, and nothing waits for it."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import structlog
from engines import KEY, completion, finds_people
from real_server import MODEL, listens, needs_serving, serve, started
from scripted_server import PLAIN, Scripted, Step, refusal, reset, serving

from hocket_bus.errors import BadConfiguration
from hocket_retrieval.collection import Collection
from hocket_retrieval.config import GraphConfig
from hocket_retrieval.graph import engine
from ports import free_port
from toys import ToyEmbedder
from waiting import WAIT_S, until

TEXTS = [
    ("1", "", "Then Ada Merrow met Tomas Quill near the harbour crane."),
    ("2", "", "Then Ines Harker met Ada Merrow near the tide table."),
    ("3", "", "Then Tomas Quill met Ines Harker near the harbour crane."),
]
SHORT_S = 0.2
PEOPLE = "Names: Ada Merrow; Ines Harker; Tomas Quill."


@contextmanager
def opened(folder: Path, url: str = "", **others: str) -> Iterator[Collection]:
    config = GraphConfig(engine=url, model="m" if url else "", **others)
    with Collection(folder / "state", ToyEmbedder(dimension=8), graph=config) as made:
        yield made


def summary(collection: Collection) -> str:
    (only,) = collection.graph.page(0, 10)[1]
    return only.summary


def by_rules(folder: Path) -> str:
    """The summary of an undisturbed graph by the rules."""
    with opened(folder / "rules") as plain:
        plain.add(TEXTS)
        plain.build()
        return summary(plain)


def fixed(*steps: Step) -> Callable[[Scripted], list[Step]]:
    return lambda _: list(steps)


def test_an_engine_is_believed_where_the_chunk_bears_it_out(tmp_path):
    """Its names and no others; whom it relates is told of after one chunk, which the rules never do."""
    with serving(finds_people) as server, opened(tmp_path, server.url) as collection:
        collection.add(TEXTS)
        collection.build()
        assert summary(collection).splitlines()[0] == PEOPLE
        assert "Together: Ada Merrow – Ines Harker; Ada Merrow – Tomas Quill;" in summary(collection)
        assert len(server.requests) == len(TEXTS)
        assert (collection.graph.extraction().unread, collection.graph.extraction().fallen) == (0, 0)
    assert "harbour crane" in by_rules(tmp_path)
    assert "Ada Merrow – Tomas Quill" not in by_rules(tmp_path / "again")


HUGE = b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n" + b" " * 10_000_000
HALF = completion(json.dumps({"entities": ["Ada Merrow"]}))[:-9]
FOREIGN = completion(json.dumps({"entities": ["Bram Oakes", "Lena Voss"], "relations": [["Bram Oakes", "Lena Voss"]]}))


def stays(connection: socket.socket) -> None:
    """Until the client leaves."""
    connection.recv(1)


@pytest.mark.parametrize(
    "script",
    [
        fixed(stays),
        fixed(PLAIN, b'{"choices"', stays),
        fixed(refusal(500, {"error": KEY})),
        fixed(refusal(429, None, "Retry-After: 1")),
        fixed(refusal(302, None, "Location: http://127.0.0.1:9/")),
        fixed(refusal(200, "no completion")),
        fixed(completion("Here are the entities: Ada Merrow.")),
        fixed(FOREIGN),
        fixed(HUGE),
        fixed(HALF),
        fixed(HALF, reset),
        fixed(reset),
        fixed(b"no HTTP\r\n\r\n"),
        fixed(b""),
    ],
    ids=(
        "hang", "hang in the middle", "500", "429", "elsewhere", "no completion", "no JSON", "foreign names", "10 MB",
        "cut", "reset in the middle", "reset", "no HTTP", "nothing",
    ),
)  # fmt: skip
def test_the_rules_read_what_an_engine_does_not(tmp_path, monkeypatch, script):
    """Whatever it does: the graph is that of the rules, each chunk is counted, and the status says so."""
    monkeypatch.setattr(engine, "ANSWER_S", SHORT_S)
    with serving(script) as server, opened(tmp_path, server.url) as collection:
        collection.add(TEXTS)
        collection.build()
        assert summary(collection) == by_rules(tmp_path)
        assert collection.graph.extraction().fallen == len(TEXTS)
        assert "3 read by rules in its place" in collection.graph.extraction().fact


def test_an_engine_that_is_down_is_not_asked_for_every_chunk(tmp_path, monkeypatch):
    """After FAILURES it is left alone, and afterwards asked once, until it answers."""
    monkeypatch.setattr(engine, "ALONE_S", WAIT_S)
    with serving(fixed(refusal(503))) as server, opened(tmp_path, server.url) as collection:
        collection.add(TEXTS * 3 + [(f"more {n}", *text[1:]) for n, text in enumerate(TEXTS * 3)])
        collection.build()
        assert len(server.requests) == engine.FAILURES
        collection.add([("new", "", "Then Ada Merrow met Ines Harker.")])
        collection.build()
        assert len(server.requests) == engine.FAILURES
        monkeypatch.setattr(engine, "time", Later())
        collection.add([(f"newer {n}", "", f"Then Ada Merrow met Ines Harker {n} times.") for n in range(5)])
        collection.build()
        assert len(server.requests) == engine.FAILURES + 1


class Later:
    """In the place of the module `time`: when the engine has been left alone long enough."""

    def monotonic(self) -> float:
        import time

        return time.monotonic() + WAIT_S + 1


def test_nobody_waits_while_an_engine_is_asked(tmp_path):
    """Documents are searched, removed, and the graph is looked at; what is gone when the answer comes is not read."""
    done: list[object] = []

    def meanwhile(server: Scripted) -> Iterator[Step]:
        if len(server.requests) == 1:
            done.append(collection.search("Tomas Quill", 1).passages[0].document)
            done.append(collection.remove(["1"]).removed)
            done.append(collection.graph.info().documents)
        yield from finds_people(server)

    with serving(meanwhile) as server, opened(tmp_path, server.url) as collection:
        collection.add(TEXTS)
        collection.build()
        assert done[1:] == [["1"], 0]
        assert summary(collection).splitlines()[0] == PEOPLE
        assert "Ada Merrow – Tomas Quill" not in summary(collection)


def test_reading_is_interrupted_while_an_engine_hangs(tmp_path):
    """At once, and by a stop, too; the chunk is read another time and has not fallen back."""
    with serving(fixed(stays), fixed(stays), finds_people) as server, opened(tmp_path, server.url) as collection:
        collection.add(TEXTS)
        collection.build(lambda: bool(server.requests))
        assert (collection.graph.extraction().unread, collection.graph.extraction().fallen) == (len(TEXTS), 0)
        building = threading.Thread(target=collection.build)
        building.start()
        until(lambda: len(server.requests) == 2)
        collection.stop()
        building.join(WAIT_S)
        assert not building.is_alive()
        collection.graph.build(lambda: False)
        assert collection.graph.extraction().unread == 0
        assert summary(collection).splitlines()[0] == PEOPLE


def test_what_an_engine_did_not_answer_it_is_asked_at_the_next_start(tmp_path):
    """Not so what it answered badly; another model reads all anew, and so do the rules."""
    with opened(tmp_path, f"http://127.0.0.1:{free_port()}") as collection:
        collection.add(TEXTS)
        collection.build()
        assert collection.graph.extraction().fallen == len(TEXTS)
        assert "nothing listens there" in collection.graph.extraction().fact
    with serving(fixed(FOREIGN), finds_people) as server:
        for asked in (3, 3):
            with opened(tmp_path, server.url) as collection:
                collection.build()
                assert (len(server.requests), collection.graph.extraction().fallen) == (asked, 1)
    rules = by_rules(tmp_path)
    with opened(tmp_path) as collection:
        collection.build()
        assert (summary(collection), collection.graph.extraction().fallen) == (rules, 0)


def test_the_key_is_shown_to_the_server_alone(tmp_path):
    """Neither the status nor a log has it, or a word of a document."""
    key = tmp_path / "key"
    key.write_text(f"{KEY}\n")
    key.chmod(0o600)
    with structlog.testing.capture_logs() as logs, serving(fixed(refusal(401, {"error": KEY}))) as server:
        with opened(tmp_path, server.url, key_file=str(key)) as collection:
            collection.add(TEXTS)
            collection.build()
            fact = collection.graph.extraction().fact
        assert all(f"Authorization: Bearer {KEY}" in request.decode() for request in server.requests)
        sent = sum(map(len, server.requests))
    assert f"documents' text goes to the server at 127.0.0.1:{server.port}, {sent:,} bytes" in fact
    assert any("left alone" in log["event"] for log in logs)
    assert not any(word in f"{logs}{fact}" for word in (KEY, "Merrow", "harbour"))


@pytest.mark.long
@needs_serving
def test_a_real_server_answers_every_passage(tmp_path):
    """A bundled model chats badly: the rules read what it was asked for, and nothing is to be asked again."""
    port, model = free_port(), shutil.copytree(MODEL, tmp_path / "model")
    (model / "chat_template.jinja").write_text("{% for each in messages %}{{ each['content'] }}\n{% endfor %}")
    with started(serve(port, model), tmp_path) as process:
        until(lambda: listens(process, port))
        config = GraphConfig(engine=f"http://127.0.0.1:{port}", model=str(model))
        with Collection(tmp_path / "state", ToyEmbedder(dimension=8), graph=config) as collection:
            collection.add(TEXTS)
            collection.build()
            assert collection.graph.extraction().unread == 0
            with collection.graph._file.reading() as connection:
                assert connection.execute("SELECT count(*) FROM fallen WHERE NOT answered").fetchone() == (0,)
            assert summary(collection).splitlines()[0] == PEOPLE


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"engine": "http://192.0.2.7", "model": "m"}, "use https"),
        ({"engine": "http://localhost:8000"}, "model"),
        ({"engine": "localhost:8000", "model": "m"}, "write https://host"),
        ({"engine": "https://u:secret@example.org", "model": "m"}, "key_file"),
    ],
)
def test_a_wrong_engine_is_one_line_before_anything_is_opened(tmp_path, config, said):
    """As with [server]."""
    with pytest.raises(BadConfiguration) as caught:
        Collection(tmp_path / "state", ToyEmbedder(dimension=8), graph=GraphConfig(**config))
    assert said in caught.value.remedy
    assert "[graph]" in caught.value.text
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "state").exists()
