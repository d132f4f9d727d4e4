"""`hocket status` in a few lines: each thing that a user needs, once; every fact with --all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hocket_tools.pair.state import DaemonState
from hocket_tools.pair.summary import summary

MOST_LINES = 12


def state(name: str, **facts: str) -> DaemonState:
    """A daemon that is ready, with its facts as it reports them; `_` stands for a blank."""
    named = {fact.replace("_", " "): value for fact, value in facts.items()}
    return DaemonState(name, 1, answering=True, ready=True, facts={"metrics": "off", **named})


BUSY = [
    state("cloud-retrieval", documents="7", work="ingesting /srv/notes", files_to_ingest="3"),
    state("device-retrieval", documents="12", documents_to_make_anew="2"),
    state("cloud", model="a", a_better_model="b answers better", requests_in_work="1"),
    state("device", model="a", a_better_model="b answers better", cloud="ipc:///x", leaves_this_device="questions"),
    state("serve", page="http://127.0.0.1:8474/"),
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
    cloud, device = state("cloud", model="large"), state("device", model="small")
    assert summary([cloud, device]) == ["model:      cloud: large; device: small"]


@pytest.mark.parametrize("idle", ["none", "0", ""])
def test_who_does_nothing_has_no_line(idle: str) -> None:
    """Nor has a daemon that does not answer, unless it says why."""
    assert summary([state("device", work=idle, requests_in_work=idle)]) == []
    silent = replace(state("device", model="a"), answering=False, problem="not running")
    assert summary([silent]) == []
    assert summary([replace(silent, problem="not running: no model")]) == ["device:     not running: no model"]
