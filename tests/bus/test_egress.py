"""Every message has a class of data, and a link sends nothing that its gate does not let pass."""

from __future__ import annotations

import msgspec
import pytest

from hocket_bus.config import from_values
from hocket_bus.errors import BadConfiguration, Forbidden
from hocket_bus.messages import (
    BY_CODE,
    CLASS_OF,
    PEER_CLASSES,
    Begin,
    Bridge,
    Draft,
    Hello,
    Passages,
    Ping,
    Prompt,
    Sampling,
)
from hocket_bus.messages.types import Message, Record
from hocket_daemon.config import DeviceSettings
from hocket_daemon.privacy.egress import EgressSettings, Ledger, PeerGate, obstacle


def subclasses(kind: type[Record]) -> set[type[Record]]:
    """Every message there is, whoever defines it."""
    return {found for child in kind.__subclasses__() for found in {child, *subclasses(child)}}


def test_no_message_is_without_a_class() -> None:
    """The table gives both the code and the class; a message that is in none cannot be encoded."""
    assert set(CLASS_OF) == set(BY_CODE.values()) == subclasses(Message)


def test_a_setting_stands_for_each_class_and_no_other() -> None:
    """What no setting names is for no peer: documents and answers never pass, whatever is allowed."""
    assert set(EgressSettings.__struct_fields__) == {
        *PEER_CLASSES,
        "ledger",
        "drafts_for",
        "bits_a_day",
        "bits_a_document",
    }
    gate = PeerGate(EgressSettings(), "cloud", Ledger(None))
    with pytest.raises(Forbidden, match="keeps documents on this device"):
        gate.check(Passages(request=bytes(16), passages=[], scorer="", scorers=[], documents_total=0, seconds=0.0))


def test_an_unknown_class_is_an_error_in_the_configuration() -> None:
    """By name, with the nearest one."""
    values = {"endpoint": "ipc:///x", "retrieval": "ipc:///y", "egress": {"draft": False}}
    with pytest.raises(BadConfiguration, match=r"unknown key 'egress.draft': did you mean 'drafts'\?"):
        from_values(values, DeviceSettings, "device.toml")


@pytest.mark.parametrize("allowed", [False, True])
def test_names_that_were_found_leave_as_a_class_of_their_own(*, allowed: bool) -> None:
    """Not by default; and counted apart from the question that they travel with."""
    bridge = Bridge(text="born Odile", names=["Odile"], score=0.5)
    begin = Begin(
        session=bytes(16),
        epoch=0,
        prompt=Prompt(query="Who?"),
        task="answer",
        sampling=Sampling(),
        method="coupled",
        documents=2,
        eos=[],
        weights="static",
        reweigh_every=4,
        relevance_temperature=0.1,
        wire_mass=0.98,
    )
    with_names, ledger = msgspec.structs.replace(begin, bridge=bridge), Ledger(None)
    assert not EgressSettings().bridges
    gate = PeerGate(EgressSettings(bridges=allowed), "cloud", ledger)
    gate.check(begin)
    if allowed:
        gate.check(with_names)
    else:
        with pytest.raises(Forbidden, match="keeps bridges on this device, so no name found in a passage may leave"):
            gate.check(with_names)
    gate.count(with_names, 200)
    assert ledger.sums == {"query": 185, "bridges": 15}


@pytest.mark.parametrize("kept", PEER_CLASSES)
def test_the_gate_lets_pass_what_is_not_kept(kept: str) -> None:
    """Message by message, each by its own class."""
    gate = PeerGate(EgressSettings(**{kept: False}), "cloud", Ledger(None))
    for message in (Ping(sent_s=0.0), Hello(role="device")):
        if kept == "control":
            with pytest.raises(Forbidden):
                gate.check(message)
        else:
            gate.check(message)
    assert (obstacle(EgressSettings(**{kept: False})) is not None) == (kept in ("control", "query", "targets"))
    assert (CLASS_OF[Begin], CLASS_OF[Draft]) == ("query", "drafts")
