"""Who gets drafts: devices that the owner has named, or with "*" those pinned by hand. Nobody else is pinned."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs
from test_routes_sessions import opening

from hocket_bus.messages import FoundMember, Message, Sealed
from hocket_bus.trust.pins import Pins, fingerprint
from hocket_bus.trust.sealing import Channel, SealingKey
from hocket_daemon.privacy.egress import EgressSettings, Ledger
from hocket_daemon.serving.peers import sealed_peer_group
from hocket_daemon.serving.peers.sealed_peer_group import SealedPeerGroup

OWN = SealingKey(b"o" * 32)


@dataclass
class Cloud:
    """A link that keeps what leaves."""

    sent: list[Message] = field(default_factory=list)
    up: bool = True
    silence_s: float = 0.0
    rtt_s: float = 0.0

    def send(self, message: Message) -> None:
        self.sent.append(message)


@dataclass
class Openings:
    """Takes every opening, and follows none."""

    taken: list[Message] = field(default_factory=list)

    def take(self, message: Message, _: Any) -> None:
        self.taken.append(message)

    def follows(self, *_: object) -> bool:
        return False


def peer_group(pins: Pins, *drafts_for: str) -> tuple[SealedPeerGroup, Openings]:
    openings = Openings()
    made = SealedPeerGroup(OWN, pins, openings, EgressSettings(drafts_for=drafts_for), ledger=Ledger(None))  # type: ignore[arg-type]
    return made, openings


def open_as(made: SealedPeerGroup, name: str, key: SealingKey) -> None:
    """What the cloud passes on of a device that asks this one along."""
    session = os.urandom(16)
    channel = Channel.opening(key, OWN.public, session)
    envelope = channel.seal(sealed_peer_group._packed(msgspec.structs.replace(opening(), session=session)))
    made._on_opening(Sealed(session=session, member=name, payload=envelope), Cloud())  # type: ignore[arg-type]


def test_a_member_that_the_cloud_invented_gets_no_drafts() -> None:
    """With "*" 1,001 are refused, and none is pinned; who is pinned by hand is taken, with its own key alone."""
    pins, key = Pins(None), SealingKey.fresh()
    made, openings = peer_group(pins, "*")
    pins.pin("ben", fingerprint(key.public))
    with capture_logs() as lines:
        for number in range(1_001):
            open_as(made, f"zoe-{number}", SealingKey.fresh())
        open_as(made, "ben", SealingKey.fresh())
    assert (pins.names(), openings.taken) == ({}, [])
    assert len(lines) <= 16
    assert "hocket keys pin" in str(lines[0])
    open_as(made, "ben", key)
    assert len(openings.taken) == 1


@pytest.mark.parametrize("drafts_for", [(), ("anna",), ("anna", "*")])
def test_what_was_seen_at_first_sight_is_no_reason(drafts_for: tuple[str, ...]) -> None:
    """Nor is it one to be named as another device."""
    pins, zoe = Pins(None), SealingKey.fresh()
    pins.check("zoe", zoe.public)
    made, openings = peer_group(pins, *drafts_for)
    open_as(made, "zoe", zoe)
    assert openings.taken == []


def test_who_is_named_is_pinned_with_a_notice() -> None:
    """Once; status tells it until it is pinned by hand."""
    pins, anna = Pins(None), SealingKey.fresh()
    made, openings = peer_group(pins, "anna")
    with capture_logs() as lines:
        open_as(made, "anna", anna)
        open_as(made, "anna", anna)
    assert len(openings.taken) == 2
    assert [fingerprint(anna.public) in str(line) for line in lines] == [True]
    assert fingerprint(anna.public) in made.facts()["members not pinned by hand"]
    pins.pin("anna", fingerprint(anna.public))
    assert made.facts()["members not pinned by hand"] == "none"


def test_the_asker_is_told_of_every_new_member() -> None:
    """With the fingerprint to compare, and what to do."""
    pins, ben = Pins(None), SealingKey.fresh()
    made, _ = peer_group(pins)
    told: list[str] = []
    found = FoundMember(name="ben", key=ben.public, rtt_s=0.0)
    for _ in range(2):
        made.participant(Cloud(), os.urandom(16), found, lambda _: None, told.append)
    assert len(told) == 1
    assert fingerprint(ben.public) in told[0]
    assert "hocket keys pin ben" in told[0]
