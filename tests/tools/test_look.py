"""Whether all is well: a disk that is full is told before it is noticed by what is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hocket_tools.pair.home import Home
from hocket_tools.pair.look import LITTLE_BYTES, folders_of, health
from hocket_tools.pair.state import DaemonState


def ready(name: str, **facts: str) -> DaemonState:
    return DaemonState(name, 1, answering=True, ready=True, facts=facts)


def test_a_full_disk_is_not_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the home, and that of a daemon's documents; a disk with space is no matter."""
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
