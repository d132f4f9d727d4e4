"""Bad messages and topics by user: what one does is never another's loss."""

from __future__ import annotations

from hocket_bus.malformed import MOST, REFUSED_S, WINDOW_S, MalformedLimit
from hocket_bus.topics import Topics


def test_as_many_as_are_borne_within_the_window_and_no_more() -> None:
    """The last one begins the refusal, which ends by itself; the count then begins anew."""
    borne = MalformedLimit()
    for _ in range(2):
        assert [borne.note("eve", 10.0) for _ in range(MOST)] == [False] * (MOST - 1) + [True]
        assert borne.refuses("eve", 10.0)
        assert borne.refuses("eve", 10.0 + REFUSED_S - 0.1)
        assert not borne.refuses("eve", 10.0 + REFUSED_S)
        assert not borne.refuses("alice", 10.0)


def test_a_few_a_minute_are_borne_for_ever() -> None:
    """One less than too many in every window."""
    borne = MalformedLimit()
    for minute in range(100):
        assert not any(borne.note("eve", minute * WINDOW_S) for _ in range(MOST - 1))


def test_only_ones_own_topics_are_forgotten() -> None:
    """However many another user has; the newest stay."""
    topics = Topics(most=3)
    topics.give(b"alice's", "alice")
    for number in range(10):
        topics.give(bytes([number]), "mallory")
        topics.give(bytes([number]), "mallory")
    assert topics.of(b"alice's") == "alice"
    assert [topics.of(bytes([number])) for number in (6, 7, 8, 9)] == [None, "mallory", "mallory", "mallory"]


def test_a_topic_that_changed_hands_is_not_forgotten_with_the_former_owner() -> None:
    """Its key was revoked, and another took it."""
    topics = Topics(most=2)
    topics.give(b"x", "former")
    topics.give(b"x", "present")
    for number in range(3):
        topics.give(bytes([number]), "former")
    assert topics.of(b"x") == "present"
