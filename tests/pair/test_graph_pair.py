"""Devices of a family in running daemons: who is asked, who is not, what leaves, and what a reader is told."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from family import BOAT, CHOIR, HOME, OF_BOAT, OF_HOME, Family, family
from harness import Pair

from hocket_bus.errors import BadRequest, Unavailable
from hocket_bus.messages import CLASS_OF, ListShared, Recalled, Removed, StopSharing
from hocket_bus.wire import decode
from hocket_daemon.graph.settings import FederationSettings, GateSettings
from hocket_daemon.privacy.egress import EgressSettings
from hocket_lab.bench.privacy.canaries import grams
from hocket_lab.link.tap import Tap, messages
from hocket_tools.caller import Caller
from waiting import WAIT_S, until


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

    # where the cloud is required none stays: that one has no documents, nor has another device any about it
    with made.devices["anna"].client() as client, pytest.raises(Unavailable, match="the cloud has no documents"):
        client.ask(OF_HOME, mode="auto", require_cloud=True, deadline_s=WAIT_S).result()

    # of another group: neither asked nor answered
    alone, _ = made.ask("dora", "Who conducts the choir Vox Borealis?", "graph")
    assert alone.routing is not None
    assert alone.routing.matched == []
    assert all(source.device in ("", "dora") for source in alone.sources)
    assert "evidence" not in made.ledger("dora")


@pytest.mark.slow
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
    assert any("ben" in notice and "does not share passages" in notice for notice in notices)
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
        made.wait_shared("ben")  # the device has heard of it, too
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
    ben = made.devices["ben"]
    with Caller(ben.endpoint("device-retrieval"), connect_s=WAIT_S) as caller:
        own = {each.summary for each in made.graph(caller).subgraphs}
    with Caller(ben.endpoint("device"), connect_s=WAIT_S) as caller:
        held = caller.ask(ListShared(request=os.urandom(16)), Recalled, WAIT_S).summaries
    assert {each.text for each in held} == own != set()


def test_the_gate_of_answers_writes_several_and_decides_by_them(made: Family) -> None:
    """Untrained models are sure of nothing, so the question goes on, and says why."""
    made.start_cloud(["anna"], {"family": ["anna"]})
    made.start_device("anna", HOME, gate=GateSettings(gate="answers", candidates=2))
    done, _ = made.ask("anna", OF_HOME)
    assert done.routing is not None
    assert done.routing.gate is not None
    assert done.routing.gate.decision == "escalate"
    assert "answers on this device" in done.routing.gate.reason
    assert done.routing.gate.threshold == 0.75


def test_modes_refuse_what_they_cannot_do(made: Family) -> None:
    """One clear line."""
    made.start_cloud(["anna"], {"family": ["anna"]})
    made.start_device("anna", HOME)
    with made.devices["anna"].client() as client, pytest.raises(BadRequest, match="also asks other devices"):
        client.ask("Who?", mode="graph", alone=True).result()


def test_on_ipc_a_device_is_its_store_and_its_summaries_are_counted(made: Family, tiny_models: dict[str, Path]) -> None:
    """Every byte on the wire is in the ledger; no five words in a row of the document are on it."""
    one = Pair(made.folder / "one", tiny_models, stack=made.stack)
    one.folder.mkdir()
    for side in ("device", "cloud"):
        made.start_retrieval(one, side)
    made.ingest(one, BOAT)
    with Caller(one.endpoint("device-retrieval"), connect_s=WAIT_S) as caller:
        store = made.graph(caller).store
    tap = made.stack.enter_context(Tap(one.endpoint("tap"), one.endpoint("cloud")))
    one.start_cloud(federation=FederationSettings(groups={"family": [store]}))
    egress = EgressSettings(ledger=str(one.folder / "ledger"), summaries=True)
    made.devices["one"] = one
    device = one.start_device(link=one.endpoint("tap"), egress=egress)
    made.wait_shared("one")
    device.stop()
    until(lambda: not device.bus._running and tap.ended())
    frames = [frames for stream in tap.recorded() for frames in messages(stream)]
    sent: dict[str, int] = {}
    for each in frames:
        kind = CLASS_OF[type(decode(each))]
        sent[kind] = sent.get(kind, 0) + sum(map(len, each))
    assert sent == made.ledger("one")
    assert sent["summaries"] > 0
    told = [grams(frame.decode("utf-8", "replace")) for each in frames for frame in each]
    assert not any(grams(BOAT) & words for words in told)
