"""Devices of a group that write one answer in running daemons: who takes part, what leaves, what a reader is told."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from family import BOAT, CHOIR, HOME, OF_BOAT, OF_HOME, PATIENT, Family, family

from hocket_bus.messages import AggregationOutcome, Message, Sealed, Waiting
from hocket_bus.sockets import Received
from hocket_bus.wire import encode
from hocket_daemon.aggregation.settings import GroupSettings
from hocket_daemon.roles.auto import Group
from hocket_lab.bench.privacy.canaries import grams
from waiting import WAIT_S, until

CANARY_WORDS = [
    f"{a}{b}{c}" for a in ("kal", "mir", "dun", "sor") for b in ("a", "e", "o") for c in ("vin", "tek", "lum")
]
QUESTION = "At which berth does the sailing boat Halcyon lie, and who conducts the choir Vox Borealis?"


@pytest.fixture
def made(tiny_models: dict[str, Path]) -> Iterator[Family]:
    with tempfile.TemporaryDirectory(prefix="hk") as name, family(Path(name), tiny_models) as made:
        yield made


def three(made: Family) -> None:
    """Anna, Ben and Carl, one group, each with a document of their own; Ben and Carl let drafts leave for Anna."""
    names = ["anna", "ben", "carl"]
    made.start_cloud(names, {"family": names})
    for name, text in zip(names, (HOME, BOAT, CHOIR), strict=True):
        made.start_device(name, text, drafts_for=["anna"])


def test_named_members_draft_along_and_no_passage_leaves(made: Family) -> None:
    """Each has a part in the answer and is among its sources; what leaves a member is drafts, not evidence."""
    three(made)
    with made.devices["anna"].client() as client:
        stream = client.ask(
            QUESTION, mode="graph", members=("ben", "carl"), max_tokens=12, seed=1, unknown="answer", deadline_s=WAIT_S
        )
        done = stream.result()
    assert isinstance(done.outcome, AggregationOutcome)
    assert {each.name: each.steps for each in done.outcome.members if each.steps} == {"ben": [0, 12], "carl": [0, 12]}
    assert {(origin.device, origin.document) for origin in done.sources if origin.device} == {
        ("ben", "note.txt"),
        ("carl", "note.txt"),
    }
    for name in ("ben", "carl"):
        assert "evidence" not in made.ledger(name)
        assert made.ledger(name)["drafts"] > 0


def test_members_write_an_answer_of_a_schema_together(made: Family) -> None:
    """Each holds its drafts to it, so the answer is JSON that all have had a part in."""
    three(made)
    schema = {
        "type": "object",
        "properties": {"who": {"enum": ["Halcyon", "Vox Borealis"]}, "berth": {"type": "integer", "maximum": 99}},
        "required": ["who", "berth"],
        "additionalProperties": False,
    }
    asked = {"mode": "graph", "members": ("ben", "carl"), "max_tokens": 80, "seed": 1, "unknown": "answer"}
    with made.devices["anna"].client() as client:
        done = client.ask(QUESTION, schema=schema, deadline_s=WAIT_S, **asked).result()  # type: ignore[arg-type]
    found = json.loads(done.text)
    assert found["who"] in ("Halcyon", "Vox Borealis")
    assert found["berth"] <= 99
    steps = {each.name: each.steps for each in done.aggregation.members if each.steps}
    assert steps == {name: [0, len(done.token_ids)] for name in ("ben", "carl")}


def test_a_member_that_reads_for_long_is_waited_for_and_the_reader_sees_who(made: Family) -> None:
    """By default, and beyond the wait for a draft: its reports come sealed as all that it says."""
    made.start_cloud(["anna", "ben"], {"family": ["anna", "ben"]})
    made.start_device("anna", HOME, group=GroupSettings(patience_ms=PATIENT.patience_ms))
    made.start_device("ben", BOAT, drafts_for=["anna"], read_s=1.5)
    with made.devices["anna"].client() as client:
        stream = client.ask(QUESTION, mode="graph", members=("ben",), max_tokens=6, unknown="answer", deadline_s=WAIT_S)
        waits = {event.party for event in stream.events() if isinstance(event, Waiting)}
        done = stream.result()
    assert "ben" in waits, stream.notices
    assert {each.name: each.steps for each in done.aggregation.members}["ben"] == [0, 6]


def test_who_lets_no_drafts_leave_is_named_and_sends_none(made: Family) -> None:
    """Nor does a device of another group: it cannot be named at all."""
    names = ["anna", "ben", "dora"]
    made.start_cloud(names, {"family": ["anna", "ben"], "others": ["dora"]})
    for name, text, allowed in zip(names, (HOME, BOAT, CHOIR), ((), ("carl",), ("*",)), strict=True):
        made.start_device(name, text, drafts_for=allowed)
    with made.devices["anna"].client() as client:
        stream = client.ask(
            QUESTION, mode="graph", members=("ben", "dora"), max_tokens=6, unknown="answer", deadline_s=WAIT_S
        )
        done = stream.result()
    assert any(line == "ben cannot take part: its owner does not allow drafts for anna" for line in stream.notices)
    assert "dora is not another device of your group" in stream.notices
    assert done.aggregation.solo_steps == list(range(6))
    for name in ("ben", "dora"):
        assert not {"drafts", "sources", "evidence"} & set(made.ledger(name))


@pytest.mark.slow
def test_a_key_that_has_changed_is_refused(made: Family) -> None:
    """On either end, with what to do; nothing is sealed for it."""
    three(made)
    anna = made.devices["anna"]
    with anna.client() as client:
        options = {"mode": "graph", "members": ("ben",), "max_tokens": 4, "unknown": "answer", "deadline_s": WAIT_S}
        assert client.ask(QUESTION, **options).result().aggregation.solo_steps == []  # type: ignore[arg-type]
        assert anna.device is not None
        pinned = anna.device.peer_group._pins  # type: ignore[union-attr]
        pinned.forget("ben")
        pinned.check("ben", bytes(range(32)))
        stream = client.ask(QUESTION, **options)  # type: ignore[arg-type]
        assert stream.result().aggregation.solo_steps == [0, 1, 2, 3]
    assert any("hocket keys forget ben" in line for line in stream.notices)


@pytest.mark.slow
def test_the_cloud_reads_nothing_of_a_members_documents(made: Family) -> None:
    """With drafts of the whole answer on their way: no five words in a row, no name of a document, no question."""
    names = ["anna", "ben", "carl"]
    made.start_cloud(names, {"family": names})
    canaries = [
        " ".join(random.Random(f"{name} {at}").sample(CANARY_WORDS, 8)) + "." for name in names for at in range(100)
    ]
    aside = GroupSettings(cloud=False, patience_ms=60_000, reading_s=60)
    for at, name in enumerate(names):
        text = "\n\n".join(canaries[100 * at : 100 * (at + 1)])
        made.start_device(name, text, group=aside, drafts_for=("anna",), summaries=False, evidence=False)
    passed, seen = made.cloud.at_server.dispatch, list[bytes]()

    def dispatch(event: Received) -> None:
        seen.extend(encode(event.message))
        passed(event)

    made.cloud.at_server.dispatch = dispatch  # type: ignore[method-assign]
    drafts = 0
    with made.devices["anna"].client() as client:
        for at in (3, 107, 216):
            asked = " ".join(canaries[at].split()[:6])
            options = {"members": ("ben", "carl"), "max_tokens": 12, "unknown": "answer", "deadline_s": WAIT_S}
            done = client.ask(asked, mode="graph", **options).result()  # type: ignore[arg-type]
            drafts += done.aggregation.drafts_cloud
            assert {origin.device for origin in done.sources} == {"", "ben", "carl"}
    envelopes = b"".join(seen)
    assert drafts > 60
    assert len(envelopes) > 10_000
    private = {gram for canary in canaries for gram in grams(canary)}
    assert not private & grams(envelopes.decode("utf-8", "replace"))
    assert b"note.txt" not in envelopes


@pytest.mark.slow
def test_boxes_with_an_altered_bit_or_twice_or_out_of_order_change_no_token(made: Family) -> None:
    """A cloud that does so is as good as a link that loses them: the answer is of the recorded members, and ends."""
    three(made)
    relay, send, held = random.Random(4), made.cloud.server.send, list[tuple[bytes, Message]]()

    def meddle(route: bytes, message: Message) -> None:
        if not isinstance(message, Sealed) or relay.random() < 0.6:
            send(route, message)
            return
        flipped = bytearray(message.payload)
        flipped[relay.randrange(len(flipped))] ^= 1 << relay.randrange(8)
        send(route, msgspec.structs.replace(message, payload=bytes(flipped)))
        held.append((route, message))
        if len(held) > 3:  # earlier ones, late and twice
            for _ in range(2):
                send(*relay.choice(held))

    impatient = {"mode": "graph", "members": ("ben", "carl"), "max_tokens": 16, "seed": 3, "unknown": "answer"}
    with made.devices["anna"].client() as client:
        whole = client.ask(QUESTION, deadline_s=WAIT_S, **impatient).result()  # type: ignore[arg-type]
        steps = {each.name: each.steps for each in whole.aggregation.members}
        assert steps["ben"] == steps["carl"] == [0, len(whole.token_ids)]
        made.devices["anna"].device.modes.asks["graph"]._group = Group(  # type: ignore[union-attr,attr-defined]
            GroupSettings(patience_ms=100, reading_s=1),
            lambda: made.devices["anna"].device.peer_group,  # type: ignore[union-attr]
        )
        made.cloud.server.send = meddle  # type: ignore[method-assign]
        for _ in range(3):
            stream = client.ask(QUESTION, deadline_s=WAIT_S, **impatient)  # type: ignore[arg-type]
            done = stream.result()
            # Where a member was lost, the sides that are left may write the token that ends the answer.
            assert done.finish == "eos" if len(done.token_ids) < 16 else done.finish == "length"
            # A member that reads for too long comes later: from its first step on is not enough.
            steps = {each.name: each.steps for each in done.aggregation.members}
            until_lost = min(steps[name][1] if steps[name][:1] == [0] else 0 for name in ("ben", "carl"))
            assert done.token_ids[:until_lost] == whole.token_ids[:until_lost], steps
    assert held


@pytest.mark.slow
@pytest.mark.parametrize("way", ["drafts", "both"])
def test_members_are_found_by_what_they_share(made: Family, way: Literal["drafts", "both"]) -> None:
    """With `[group] with` the modes graph and auto ask for drafts; with both the cloud reads passages as well."""
    names = ["anna", "ben", "carl"]
    made.start_cloud(names, {"family": names}, gather_s=30.0)
    for name, text in zip(names, (HOME, BOAT, CHOIR), strict=True):
        made.start_device(name, text, group=msgspec.structs.replace(PATIENT, with_=way), drafts_for=("*",))
    for name in names:
        made.wait_shared(name)
    for mode in ("graph", "auto"):
        done, notices = made.ask("anna", OF_BOAT, mode)
        assert done.routing is not None
        assert (done.routing.way, done.routing.matched[0]) == ("devices", "ben")
        assert "ben's summaries match best" in done.routing.why
        there = {each.name: each.steps for each in done.aggregation.members}
        assert there["ben"] == [0, 8], notices
        assert bool(there["cloud"]) == (way == "both")
        assert {origin.side for origin in done.sources if origin.device == "ben"} == (
            {"device", "cloud"} if way == "both" else {"device"}
        )
    assert ("evidence" in made.ledger("ben")) == (way == "both")
    before = made.ledger("anna")
    kept, _ = made.ask("anna", OF_HOME)  # the gate decides as ever
    assert kept.routing is not None
    assert kept.routing.way == "home"
    assert {name for name, size in made.ledger("anna").items() if size != before.get(name)} <= {"control"}


def test_every_byte_of_every_box_is_in_the_ledger_of_who_has_sent_it(made: Family) -> None:
    """Openings, tokens, drafts, refusals, and the empty box of who takes part: as many as the cloud has passed on."""
    names = ["anna", "ben", "carl"]
    made.start_cloud(names, {"family": names})
    for name, text, allowed in zip(names, (HOME, BOAT, CHOIR), ((), ("anna",), ()), strict=True):
        made.start_device(name, text, drafts_for=allowed)
    with made.devices["anna"].client() as client:
        options = {"mode": "graph", "members": ("ben", "carl"), "max_tokens": 6, "unknown": "answer"}
        client.ask(QUESTION, deadline_s=WAIT_S, **options).result()  # type: ignore[arg-type]
    passed = made.cloud.services.counters

    def counted() -> int:
        return sum(made.sealed_bytes(name) for name in names)

    until(lambda: 0 < counted() == passed.metrics()["sealed_bytes_total"])
    assert made.sealed_bytes("carl") > 0, "a refusal is counted, too"
