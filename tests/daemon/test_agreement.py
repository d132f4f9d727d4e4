"""Laws of how two sides come to score relevance alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_daemon.aggregation.weights.agreement import Agreement, Verdict, agree

SCORERS = ["fine", "other", "plain"]
known_scorers = st.lists(st.sampled_from(SCORERS), unique=True)


@pytest.mark.parametrize(
    ("used", "known", "begun", "expected"),
    [
        (("plain", "plain"), (["plain"], ["plain"]), False, Agreement("agreed", "plain")),
        (("plain", "plain"), (["plain"], ["plain"]), True, Agreement("agreed", "plain")),
        (("fine", "fine"), (["fine", "plain"], ["fine", "plain"]), False, Agreement("agreed", "fine")),
        (("fine", "plain"), (["fine", "plain"], ["plain"]), False, Agreement("begin anew", "plain")),
        (("plain", "fine"), (["plain"], ["fine", "plain"]), False, Agreement("begin anew", "plain")),
        (("fine", "plain"), (["fine", "plain"], ["plain"]), True, Agreement("too late", "plain")),
        (("plain", "plain"), (["fine", "plain"], ["plain"]), False, Agreement("agreed", "plain", lowered=True)),
        (("plain", "plain"), (["plain"], ["fine", "plain"]), True, Agreement("agreed", "plain", lowered=True)),
        (("fine", "other"), (["fine"], ["other"]), False, Agreement("impossible")),
        (("fine", "other"), (["fine"], ["other"]), True, Agreement("too late")),
        (("plain", "plain"), (["plain"], []), False, Agreement("impossible")),
    ],
)
def test_what_is_done(
    used: tuple[str, str], known: tuple[list[str], list[str]], begun: bool, expected: Agreement
) -> None:
    """Alike goes on, different begins anew with the best that both have; nothing common is the end. Behind a token
    both are too late: what is written stays."""
    assert agree(used, known, begun=begun) == expected


@given(known_scorers, known_scorers, st.sampled_from(SCORERS), st.sampled_from(SCORERS), st.booleans())
def test_both_sides_come_to_the_same_verdict(
    own: list[str], others: list[str], own_used: str, other_used: str, begun: bool
) -> None:
    """Seen from either side; where there is a scorer, both have it, and only an answer without tokens begins anew."""
    here = agree((own_used, other_used), (own, others), begun=begun)
    there = agree((other_used, own_used), (others, own), begun=begun)
    assert (here.verdict, here.lowered) == (there.verdict, there.lowered)
    assert (here.scorer == "") == (not set(own) & set(others))
    assert here.scorer or here.verdict == ("too late" if begun else "impossible")
    if here.scorer:
        assert here.scorer in own
        assert here.scorer in others
        better = own[: own.index(here.scorer)]
        assert not set(better) & set(others), "the best of the own that the other side has"
    allowed: set[Verdict] = {"agreed", "impossible", "too late" if begun else "begin anew"}
    assert here.verdict in allowed


@given(known_scorers, known_scorers, st.sampled_from(SCORERS), st.sampled_from(SCORERS))
def test_a_session_that_was_begun_anew_agrees(
    own: list[str], others: list[str], own_used: str, other_used: str
) -> None:
    """Both use the scorer that was found: nothing begins anew twice."""
    found = agree((own_used, other_used), (own, others), begun=False)
    if found.verdict == "begin anew":
        again = agree((found.scorer, found.scorer), (own, others), begun=False)
        assert (again.verdict, again.scorer) == ("agreed", found.scorer)
