"""Stored document KV in the running pair: the same ids from a cold and a warm store, and no trace of removed texts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from harness import WORDS, ListRetrieval, Pair, pair
from reference import Reference

from hocket_bus.messages import Chunks, ListChunks, Search, Status, StatusRequest
from hocket_bus.sockets import Event, Received, Server
from hocket_client.question import ask_message
from hocket_daemon.engine.runtime.stored import StoredKV
from hocket_daemon.engine.settings import KVSettings
from hocket_daemon.serving import background
from hocket_retrieval.text.heads import headed
from hocket_tools.caller import Caller
from waiting import WAIT_S, until

QUESTIONS = [" ".join(WORDS[(i * k + 3 * k) % len(WORDS)] for k in range(1, 6)) + "?" for i in range(3)]
OPTIONS: dict[str, object] = {"max_tokens": 10, "ignore_eos": True, "documents": 2, "temperature": 1.0}
SIDES = ("device", "cloud")


class Listing(ListRetrieval):
    """Lists the passages that it answers the questions with, while `there`."""

    there = True

    def texts(self) -> list[str]:
        found = [self.answer(Search(request=bytes(16), query=question, k=2)) for question in QUESTIONS]
        return [headed(passage) for passages in found for passage in passages.passages] if self.there else []

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Received) and isinstance(event.message, ListChunks):
            assert isinstance(event.port, Server)
            texts, asked = self.texts(), event.message
            page = texts[asked.after : asked.after + 4]
            version, last = 1 + (not self.there), asked.after + len(page)
            event.port.send(event.route, Chunks(request=asked.request, version=version, texts=page, last=last))
        else:
            super()._on_event(event)


def start(made: Pair, folder: Path) -> list[StoredKV]:
    """Both daemons with stores in `folder`."""
    settings = {side: KVSettings(folder=str(folder / f"{side}-kv")) for side in SIDES}
    started = [made.start_cloud(kv=settings["cloud"]), made.start_device(kv=settings["device"])]
    stores = [daemon.services.model.stored for daemon in started]
    return [store for store in stores if store is not None]


def ids(made: Pair) -> list[list[int]]:
    """The tokens of all questions."""
    client = made.client()
    streams = [client.ask(text, seed=seed, deadline_s=WAIT_S, **OPTIONS) for seed, text in enumerate(QUESTIONS)]  # type: ignore[arg-type]
    return [stream.result().token_ids for stream in streams]


def until_up_to_date(made: Pair) -> None:
    """Ask both daemons how they are until their stores have followed their collections."""
    for side in SIDES:
        with Caller(made.endpoint(side), WAIT_S) as caller:
            while "up to date" not in caller.ask(StatusRequest(request=bytes(16)), Status, WAIT_S).facts["stored KV"]:
                pass


def test_cold_warm_and_restarted_give_the_same_ids(tiny_models: dict[str, Path]) -> None:
    """The reference's, whether documents are computed, found, or found by a later process."""
    reference = Reference(tiny_models)
    asked = [ask_message(text, topic=bytes(16), seed=seed, **OPTIONS) for seed, text in enumerate(QUESTIONS)]  # type: ignore[arg-type]
    expected = [reference.answer(ask).ids for ask in asked]
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        for run in range(2):
            with pair(Path(folder), tiny_models, start=False) as made:
                for side in SIDES:
                    made.start_retrieval(side)
                stores = start(made, Path(folder))
                assert ids(made) == expected
                assert all((store.misses == 0) == (run == 1) for store in stores)
                until(lambda stores=stores: all(store.entries for store in stores))  # type: ignore[misc] # on threads of their own
                assert ids(made) == expected
                assert all(store.hits for store in stores)


def test_documents_are_computed_between_questions_and_go_with_their_texts(
    tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At rest every listed text has an entry and questions miss nothing; once removed, not a file is left."""
    monkeypatch.setattr(background, "POLL_S", 0.05)
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        retrievals = [Listing(made.endpoint(f"{side}-retrieval"), side) for side in SIDES]
        for retrieval in retrievals:
            made.stack.callback(retrieval.close)
        stores = start(made, Path(folder))
        until_up_to_date(made)
        files = [list(Path(folder, f"{side}-kv").glob("*.kv")) for side in SIDES]
        assert [len(found) for found in files] == [len(set(retrieval.texts())) for retrieval in retrievals]
        ids(made)
        assert all(store.hits and not store.misses for store in stores)
        for retrieval in retrievals:
            retrieval.there = False
        while any(list(Path(folder, f"{side}-kv").iterdir()) for side in SIDES):
            until_up_to_date(made)
