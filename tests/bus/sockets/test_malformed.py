"""Malformed messages and topics by user: what one does is never another's loss."""

from __future__ import annotations

from hocket_bus.limits.malformed import MAX_MALFORMED, WINDOW_S, MalformedLimit
from hocket_bus.limits.shares import REFUSED_S, TOO_MANY, Shares
from hocket_bus.topics import Topics


def test_who_reaches_the_limit_within_the_window_is_refused_for_a_while() -> None:
    """The message that reaches it begins the refusal, which ends by itself; the count then begins anew."""
    shares = Shares()
    for start in (10.0, 10.0 + REFUSED_S):
        assert [shares.malformed("eve", start) for _ in range(MAX_MALFORMED)] == [False] * (MAX_MALFORMED - 1) + [True]
        assert not any(shares.malformed("eve", start) for _ in range(2 * MAX_MALFORMED)), "it is refused already"
        assert shares.refusal("eve", start) is shares.refusal("eve", start + REFUSED_S - 0.1) is TOO_MANY
        assert shares.refusal("eve", start + REFUSED_S) is shares.refusal("alice", start) is None


def test_a_few_a_minute_are_never_refused() -> None:
    """One less than too many in every window."""
    limit = MalformedLimit()
    for minute in range(100):
        assert not any(limit.count("eve", minute * WINDOW_S) for _ in range(MAX_MALFORMED - 1))


def test_only_ones_own_topics_are_forgotten() -> None:
    """However many another user has; the newest stay."""
    topics = Topics(max_topics=3)
    topics.give(b"alice's", "alice")
    for number in range(10):
        topics.give(bytes([number]), "mallory")
        topics.give(bytes([number]), "mallory")
    assert topics.owner(b"alice's") == "alice"
    assert [topics.owner(bytes([number])) for number in (6, 7, 8, 9)] == [None, "mallory", "mallory", "mallory"]


def test_a_topic_that_changed_hands_is_not_forgotten_with_the_former_owner() -> None:
    """Its key was revoked, and another took it."""
    topics = Topics(max_topics=2)
    topics.give(b"x", "former")
    topics.give(b"x", "present")
    for number in range(3):
        topics.give(bytes([number]), "former")
    assert topics.owner(b"x") == "present"
