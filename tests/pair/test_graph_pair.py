"""Devices of a family in running daemons: who is asked, who is not, what leaves, and what a reader is told."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from family import Family, family

from hocket_bus.errors import BadRequest, Unavailable
from hocket_bus.messages import ListShared, Recalled, Removed, StopSharing
from hocket_tools.caller import Caller
from waiting import WAIT_S, until

HOME = "The boiler in the cellar of Elm House was serviced by Karsten Dahl on the third of March."
BOAT = (
    "The sailing boat Halcyon lies at berth 41 of the Marstal marina. "
    "The harbour master Inge Thorsen keeps the spare key of the Halcyon."
)
CHOIR = "The choir Vox Borealis rehearses on Thursdays in the Trinity chapel. Its conductor is Aurel Benko."
OF_BOAT = "At which berth does the sailing boat Halcyon lie?"
OF_HOME = "By whom was the boiler in the cellar of Elm House serviced?"


@pytest.fixture
def made(tiny_models: dict[str, Path]) -> Iterator[Family]:
    with tempfile.TemporaryDirectory(prefix="hk") as name, family(Path(name), tiny_models) as made:
        yield made


def three(made: Family) -> None:
    """Anna, Ben and Carl, one group; Dora, of another one, has Ben's document, too."""
    names = ["anna", "ben", "carl", "dora"]
    made.start_cloud(names, {"family": ["anna", "ben", "carl"], "others": ["dora"]}, gather_s=30.0)
    for name, text in zip(names, (HOME, BOAT, CHOIR, BOAT), strict=True):
        made.start_device(name, text)
    for name in names:
        made.wait_shared(name)


def test_a_question_goes_to_who_knows_and_a_known_one_stays(made: Family) -> None:
    """The device whose document answers is the first source; one kept at home sends nothing but control."""
    three(made)
    done, _ = made.ask("anna", OF_BOAT)
    assert done.routing is not None
    assert done.routing.way == "devices"
    assert done.routing.gate is not None
    assert done.routing.gate.decision == "escalate"
    assert done.routing.matched[0] == "ben"
    assert (done.sources[0].device, done.sources[0].document) == ("ben", "note.txt")
    assert done.sources[0].subgraph > 0
    assert done.sources[0].score > 0.5
    assert made.ledger("ben")["evidence"] > 0

    before = made.ledger("anna")
    kept, _ = made.ask("anna", OF_HOME)
    assert kept.routing is not None
    assert (kept.routing.way, kept.routing.matched) == ("home", [])
    assert {name for name, size in made.ledger("anna").items() if size != before.get(name)} <= {"control"}

    # of another group: neither asked nor answered
    alone, _ = made.ask("dora", "Who conducts the choir Vox Borealis?", "graph")
    assert alone.routing is not None
    assert alone.routing.matched == []
    assert all(source.device in ("", "dora") for source in alone.sources)
    assert "evidence" not in made.ledger("dora")


def test_a_device_that_is_down_is_named_and_the_answer_ends(made: Family) -> None:
    """What it shared is still known; nobody waits for it."""
    made.start_cloud(["anna", "ben"], {"family": ["anna", "ben"]}, gather_s=30.0)
    made.start_device("anna", HOME)
    ben = made.start_device("ben", BOAT)
    made.wait_shared("ben")
    assert ben.device is not None
    ben.device.stop()
    until(lambda: made.connected() == ["anna"])
    done, notices = made.ask("anna", OF_BOAT)
    assert any("ben, whose summaries match, is not connected" in notice for notice in notices)
    assert done.routing is not None
    assert done.routing.matched == ["ben"]


def test_who_forbids_it_shares_and_tells_nothing(made: Family) -> None:
    """Without `summaries` a device is never matched; without `evidence` it says no, and the answer goes on."""
    made.start_cloud(["anna", "ben"], {"family": ["anna", "ben"]}, gather_s=30.0)
    made.start_device("anna", HOME, summaries=False)
    made.start_device("ben", BOAT, evidence=False)
    made.wait_shared("ben")
    done, notices = made.ask("anna", OF_BOAT)
    assert any("ben" in notice and "lets no evidence leave" in notice for notice in notices)
    assert done.routing is not None
    assert done.routing.matched == ["ben"]
    assert "evidence" not in made.ledger("ben")
    assert "summaries" not in made.ledger("anna")


def test_what_is_withdrawn_or_removed_goes_in_the_cloud(made: Family) -> None:
    """Word for word what the graph says may leave; a removed document's part goes, and at last everything."""
    made.start_cloud(["ben"], {"family": ["ben"]})
    ben = made.start_device("ben", BOAT)
    made.wait_shared("ben")
    with Caller(ben.endpoint("device-retrieval"), connect_s=WAIT_S) as caller:
        own = {each.summary for each in made.graph(caller).subgraphs}
    with Caller(ben.endpoint("device"), connect_s=WAIT_S) as caller:

        def held() -> set[str]:
            page = caller.ask(ListShared(request=os.urandom(16)), Recalled, WAIT_S)
            return {each.text for each in page.summaries}

        assert held() == own
        made.ingest(ben, CHOIR)  # in the place of the old one
        until(lambda: any("Vox Borealis" in text for text in held()))
        assert not any("Halcyon" in text for text in held())
        assert caller.ask(StopSharing(request=os.urandom(16)), Removed, WAIT_S).removed == 1
        until(lambda: held() == set())


def test_a_cloud_that_restarts_is_told_what_it_lacks(made: Family) -> None:
    """A cloud without a memory asks nobody; the device sends all of it again."""
    made.start_cloud(["ben"], {"family": ["ben"]})
    made.start_device("ben", BOAT)
    made.wait_shared("ben")
    sent = made.ledger("ben")["summaries"]
    made.restart_cloud(forgets="ben")
    until(lambda: made.ledger("ben")["summaries"] > sent)
    made.wait_shared("ben")


def test_modes_refuse_what_they_cannot_do(made: Family) -> None:
    """One clear line."""
    made.start_cloud(["anna"], {"family": ["anna"]})
    made.start_device("anna", HOME)
    with made.devices["anna"].client() as client:
        with pytest.raises(BadRequest, match="asks others, too"):
            client.ask("Who?", mode="graph", alone=True).result()
        with pytest.raises((BadRequest, Unavailable)):
            client.ask("Who?", mode="auto", script="device").result()
