"""A law of the server beside a running device: it suggests what the client library does."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from editor import Editor, with_editor
from harness import Pair, pair
from lsprotocol import types

from exact import exact
from hocket_daemon.composition.settings import CompositionSettings
from waiting import WAIT_S

TYPED = "The ferry to 渡し 🙂 Brightholm costs 14 crowns.\nLinnea Varga lives in Oak"


@pytest.fixture(scope="module")
def running() -> Iterator[Pair]:
    """A device with the bundled model, whose suggestions are a function of the text: it remembers nothing."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), {}, start=False) as running:
        running.start_retrieval("device")
        running.start_device(
            model=exact(name="bundled"), composition=CompositionSettings(own_documents=False, confidence=0.0)
        )
        yield running


@pytest.mark.slow
def test_each_suggestion_is_that_of_the_client(running: Pair) -> None:
    """Letter by letter, over two lines, with letters of two code units before it."""
    client = running.client()
    given: list[str] = []

    async def law(editor: Editor) -> None:
        editor.open("a", "")
        with client.compose(memory=False) as composer:
            for count, letter in enumerate(TYPED):
                place = editor.place(TYPED, count)
                editor.change("a", types.TextDocumentContentChangePartial(types.Range(place, place), letter))
                composer.update(TYPED[: count + 1])
                expected = await asyncio.to_thread(composer.wait, WAIT_S)
                assert expected is not None
                asks = editor.told if expected.text else editor.grey
                assert await asks("a", editor.place(TYPED, count + 1)) == (expected.text or None)
                given.append(expected.text)

    asyncio.run(with_editor(running.endpoint("device"), law, "--no-memory"))
    assert len(set(given)) > len(TYPED) / 4
