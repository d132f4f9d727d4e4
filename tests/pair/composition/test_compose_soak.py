"""A text that is typed for hours: suggestions stay true to it, and no daemon grows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typing_text import Typist

from hocket_client import Client, Composer
from hocket_tools.commands.library.documents import read_in
from hocket_tools.pair import processes
from hocket_tools.pair.home import NAMES, Home
from homes import running
from processes import resident_bytes
from waiting import WAIT_S

pytestmark = pytest.mark.programs

WORDS = ["kala", "mira", "duno", "soretu", "limba", "tano", "meku", "raso", "vilen", "okat"]
EDITS = 20_000
STORM = 40  # texts, one after the other, that are undone and done again
MAX_TEXT = 20_000  # characters, from which on all of it is undone
GROWTH_BYTES = 24 << 20


@pytest.fixture
def home(tiny_models: dict[str, Path]) -> Iterator[Home]:
    with running(tiny_models) as home:
        yield home


def type_on(composer: Composer, typist: Typist, edits: int) -> None:
    """Letters, pastes, jumps and deletions; now and then a storm of undoing, and a rest until it is suggested for."""
    before: list[tuple[str, int]] = []
    for edit in typist.edits(edits):
        if len(typist.text) > MAX_TEXT:
            typist.text, typist.cursor = "", 0
        composer.update(typist.text, typist.cursor)
        before = [*before[-STORM:], (typist.text, typist.cursor)]
        if edit.version % 200 == 0:
            for state in (*reversed(before), *before):
                composer.update(*state)
        if edit.version % 5 == 0:
            suggestion = composer.wait(WAIT_S)
            assert suggestion is not None
            assert suggestion.version == composer.version
            typist.follow(suggestion.text)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_no_daemon_grows_while_a_text_is_composed(home: Home, tmp_path: Path) -> None:
    """From a quarter of the edits on; with memory of both sides, under the same process ids, and nothing failed."""
    (tmp_path / "notes.txt").write_text(". ".join(" ".join(WORDS[at:] + WORDS[:at]) for at in range(len(WORDS))) + ".")
    for side in ("device", "cloud"):
        read_in(home.endpoint(f"{side}-retrieval"), [tmp_path])
    pids = {name: processes.running(home, name) for name in NAMES}
    typist = Typist(3, WORDS, "kala mira")
    with Client(home.endpoint("device"), connect_s=WAIT_S) as client:
        with client.compose(typist.text) as composer:
            type_on(composer, typist, EDITS // 4)
            small = {name: resident_bytes(pid) for name, pid in pids.items() if pid}
            type_on(composer, typist, EDITS - EDITS // 4)
            large = {name: resident_bytes(pid) for name, pid in pids.items() if pid}
        figures = client.status().metrics
    print({name: (small[name] >> 20, large[name] >> 20) for name in NAMES}, figures["composition_suggestions_total"])
    assert figures["composition_memory_replies_total"] > 0
    assert {name: processes.running(home, name) for name in NAMES} == pids
    for name in NAMES:
        assert large[name] - small[name] < GROWTH_BYTES
        assert not re.search(r"Traceback|error in the main loop|request failed", home.log(name).read_text())
