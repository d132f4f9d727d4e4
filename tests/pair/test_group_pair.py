"""Devices of a group that write one answer in running daemons: who takes part, what leaves, what a reader is told."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from family import Family, family

from hocket_bus.messages import AggregationOutcome
from waiting import WAIT_S

HOME = "The boiler in the cellar of Elm House was serviced by Karsten Dahl on the third of March."
BOAT = (
    "The sailing boat Halcyon lies at berth 41 of the Marstal marina. "
    "The harbour master Inge Thorsen keeps the spare key of the Halcyon."
)
CHOIR = "The choir Vox Borealis rehearses on Thursdays in the Trinity chapel. Its conductor is Aurel Benko."
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
    print(done, stream.notices)
    assert isinstance(done.outcome, AggregationOutcome)
    assert {each.name: each.steps for each in done.outcome.members if each.steps} == {"ben": [0, 12], "carl": [0, 12]}
    assert {(origin.device, origin.document) for origin in done.sources if origin.device} == {
        ("ben", "note.txt"),
        ("carl", "note.txt"),
    }
    for name in ("ben", "carl"):
        assert "evidence" not in made.ledger(name)
        assert made.ledger(name)["drafts"] > 0
