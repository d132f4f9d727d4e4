"""Laws of who may ask whom: devices of one group whose keys may still pair here."""

from __future__ import annotations

from hocket_daemon.graph.members import Members

GROUPS = {"family": ["anna", "ben", "carl"], "firm": ["ben", "dora"]}


def test_a_name_in_no_key_is_told_and_neither_asks_nor_is_asked() -> None:
    members = Members(GROUPS, {"anna", "ben", "dora"}.__contains__)
    assert members.keyless == ["carl"]
    assert not members.is_member("carl")
    assert members.others("carl") == frozenset()
    assert members.others("anna") == {"ben"}


def test_only_those_who_share_a_group_ask_each_other() -> None:
    members = Members(GROUPS, lambda _: True)
    assert members.others("anna") == {"ben", "carl"}
    assert members.others("ben") == {"anna", "carl", "dora"}
    assert members.others("eve") == frozenset()
    assert all(one in members.others(other) for one in members.known for other in members.others(one))


def test_a_key_that_is_revoked_counts_at_once() -> None:
    keys = {"anna", "ben", "carl", "dora"}
    members = Members(GROUPS, keys.__contains__)
    assert members.others("anna") == {"ben", "carl"}
    keys.discard("ben")
    assert members.keyless == ["ben"]
    assert members.others("anna") == {"carl"}
    assert members.others("dora") == frozenset()
