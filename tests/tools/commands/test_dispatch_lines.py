"""What the command line says of a dispatched answer, for people and for programs."""

from __future__ import annotations

import json

from hocket_bus.messages import DispatchOutcome, Done, Migration
from hocket_tools import console
from hocket_tools.commands.asking.ask import _record

MOVE = Migration(step=3, source="cloud", target="device", late_s=0.25)
OUTCOME = DispatchOutcome(winner="cloud", device_tokens=2, cloud_tokens=3, migrations=[MOVE])
DONE = Done(
    request=bytes(range(16)), seq=9, finish="eos", token_ids=[1, 2, 3, 4, 5], text="", ttft_s=0.1, ms_per_token=9.0,
    mode="dispatch", seed=7, outcome=OUTCOME,
)  # fmt: skip


def test_programs_get_every_move() -> None:
    """One flat object, which JSON can hold."""
    record = json.loads(json.dumps(_record(DONE)))
    assert record["winner"] == "cloud"
    assert record["migrations"] == [{"step": 3, "source": "cloud", "target": "device", "late_s": 0.25}]
    assert record["id"] == bytes(range(16)).hex()


def test_people_read_who_wrote_and_the_id() -> None:
    """In one line; nothing was lost, for nothing was to be written by two."""
    line = console.summary(DONE)
    assert "written by the device 2, by the cloud 3" in line
    assert bytes(range(16)).hex() in line
    assert console.lost(DONE) == []
    assert DONE.dispatch is OUTCOME
