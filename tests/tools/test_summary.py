"""`hocket status` in a few lines: each thing that a user needs, once; every fact with --all."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hocket_tools.pair.home import Home
from hocket_tools.pair.look import LITTLE_BYTES, folders_of, health
from hocket_tools.pair.state import DaemonState
from hocket_tools.pair.summary import summary

MOST_LINES = 12


def ready(name: str, **facts: str) -> DaemonState:
    """A daemon that is ready, with its facts as it reports them; `_` stands for a blank."""
    named = {fact.replace("_", " "): value for fact, value in facts.items()}
    return DaemonState(name, 1, answering=True, ready=True, facts={"metrics": "off", **named})


BUSY = [
    ready("cloud-retrieval", documents="7", work="ingesting /srv/notes", files_to_ingest="3"),
    ready("device-retrieval", documents="12", documents_to_make_anew="2"),
    ready("cloud", model="a", a_better_model="b answers better", requests_in_work="1"),
    ready("device", model="a", a_better_model="b answers better", cloud="ipc:///x", leaves_this_device="questions"),
    ready("serve", page="http://127.0.0.1:8474/"),
]


def test_everything_that_a_user_needs_is_said_once_and_nothing_else() -> None:
    """With all daemons at work it is no more than fits a glance."""
    lines = summary(BUSY)
    assert len(lines) + 3 <= MOST_LINES, "and whether all is well, what is stray, and how to see every fact"
    text = "\n".join(lines)
    assert "metrics" not in text
    for told in ("model:      a", "b answers better", "ipc:///x", "questions", "http://127.0.0.1:8474/"):
        assert text.count(told) == 1
    assert "documents:  cloud: 7; device: 12" in lines
    work = "cloud-retrieval: ingesting /srv/notes, files to ingest: 3; device-retrieval: documents to make anew: 2"
    assert f"in work:    {work}; cloud: requests: 1" in lines


def test_daemons_that_differ_are_told_apart() -> None:
    """Two models on two sides are one line with both."""
    cloud, device = ready("cloud", model="large"), ready("device", model="small")
    assert summary([cloud, device]) == ["model:      cloud: large; device: small"]


@pytest.mark.parametrize("idle", ["none", "0", ""])
def test_who_does_nothing_has_no_line(idle: str) -> None:
    """Nor has a daemon that does not answer, unless it says why."""
    assert summary([ready("device", work=idle, requests_in_work=idle)]) == []
    silent = replace(ready("device", model="a"), answering=False, problem="not running")
    assert summary([silent]) == []
    assert summary([replace(silent, problem="not running: no model")]) == ["device:     not running: no model"]


def test_a_full_disk_is_not_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Report a full disk of the home, and of a daemon's documents; all is well while both have space."""
    documents = tmp_path / "documents"
    documents.mkdir()
    free = {tmp_path: LITTLE_BYTES, documents: LITTLE_BYTES}

    def usage(folder: Path) -> object:
        return shutil._ntuple_diskusage(0, 0, free[folder])

    monkeypatch.setattr(shutil, "disk_usage", usage)
    states = [ready("device"), ready("device-retrieval", state=str(documents)), ready("cloud-retrieval", state="/none")]
    folders = folders_of([Home(tmp_path)], states)
    assert folders == [tmp_path, documents]
    assert health(states, folders).well
    for folder in folders:
        free[folder] -= 1
        how = health(states, folders)
        assert not how.well
        assert "is full (99 MB left)" in how.line
        free[folder] += 1
