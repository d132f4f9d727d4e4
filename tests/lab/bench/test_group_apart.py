"""Laws of `hocket bench group --part apart`: the group in virtual time, and what it is held to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact import exact
from hocket_bus.messages import Begin, Prompt, Sampling
from hocket_daemon.aggregation.settings import GroupSettings
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_lab.bench.group import apart
from hocket_lab.bench.group.apart import GROUP, SIDES, Mixed, Recorded, is_decided
from hocket_lab.bench.group.worlds import Asked
from hocket_lab.bench.parties.parties import Parties
from hocket_lab.bench.running.product import TEMPERATURE, TOP_P
from hocket_lab.reporting.report import Report, Row
from hocket_lab.simulator.group import Group, Law, Place, Run, Sides, Weather

HOLD_S, TOKENS, VOCABULARY = 0.025, 40, 30
LIKELIHOODS = np.full(5, -1.0)


def begin() -> Begin:
    """An answer of TOKENS tokens, drawn at temperature 1."""
    return Begin(
        session=bytes(16),
        epoch=0,
        prompt=Prompt(query=""),
        task="answer",
        documents=1,
        eos=[],
        sampling=Sampling(seed=3, temperature=1.0, top_p=1.0, max_tokens=TOKENS),
        method="coupled",
        weights="likelihood",
        reweigh_every=1,
        relevance_temperature=0.1,
        wire_mass=1.0,
    )


def law_of(place: Place, *, similar: bool) -> Law:
    """A party's own by the tokens before it, or one of all parties."""
    rng = np.random.default_rng([0 if similar else place.party, *place.ids])
    return Law(Distribution(np.arange(VOCABULARY), rng.integers(1, 100, VOCABULARY), 1.0), 0.0)


def carried(run: Run, laws: dict[Place, Law], *, similar: bool = False) -> Run:
    """To its end; nobody is asked what is known."""
    while missing := run.advance():
        assert not set(missing) & set(laws)
        laws |= {place: law_of(place, similar=similar) for place in missing}
    return run


def run_of(kind: type[Group | Sides], parties: int, rtt_s: float, *, jitter: float = 0.0, similar: bool = False) -> Run:
    """An answer of so many parties that are so far away."""
    laws: dict[Place, Law] = {}
    weather = Weather(HOLD_S, rtt_s / 2, jitter, 1)
    return carried(kind(begin(), [LIKELIHOODS] * parties, laws, weather), laws, similar=similar)


@pytest.mark.parametrize(("parties", "rtt_s"), [*product((2, 4), (0.0, 0.1, 0.3))])
def test_time_changes_no_token_and_nobody_is_left_out_for_being_far_away(parties: int, rtt_s: float) -> None:
    """Although nearly every draft is rejected, so that all wait longer in a row than the patience of a step."""
    near, remote = (run_of(Group, parties, way_s, jitter=0.1) for way_s in (0.0, rtt_s))
    assert near.ids == remote.ids
    assert len(remote.ids) == TOKENS
    assert all(len(there) == parties - 1 for there in remote.roster)
    assert rtt_s < 0.3 or remote.confirmed_s[-1] > 2 * GroupSettings().patience_ms / 1000


@pytest.mark.parametrize("rtt_s", [0.0, 0.1, 0.3])
def test_a_group_of_two_writes_what_two_sides_do(rtt_s: float) -> None:
    """Though not at the same times: the cloud knows both drafts, and a member waits for the device's word."""
    group, sides = run_of(Group, 2, rtt_s, jitter=0.1), run_of(Sides, 2, rtt_s, jitter=0.1)
    assert group.ids == sides.ids
    assert group.accepted == sides.accepted
    assert group.stalled == sides.stalled
    assert group.confirmed_s[-1] >= sides.confirmed_s[-1]


@pytest.mark.parametrize(("parties", "rtt_s"), [*product((2, 3, 8), (0.0, 0.1, 0.3))])
def test_where_no_draft_is_rejected_a_token_takes_a_step_however_far_away_all_are(parties: int, rtt_s: float) -> None:
    """And the first one the cloud's answer who is there, an opening, a step, and a draft's way."""
    run = run_of(Group, parties, rtt_s, similar=True)
    assert run.confirmed_s[0] == pytest.approx(1.5 * rtt_s + HOLD_S)
    assert [each.seconds for each in run.waited[1:]] == pytest.approx([HOLD_S] * (TOKENS - 1))
    assert not any(run.stalled)
    assert [machine.drafts for machine in run.machines] == [TOKENS] * parties


@pytest.mark.parametrize("parties", [2, 3, 8])
def test_a_rejected_draft_costs_a_round_trip_once_however_many_are_rejected(parties: int) -> None:
    """Without jitter a step behind one takes that and a pass, any other one a pass; and both are recorded apart."""
    run = run_of(Group, parties, 0.3)
    for before, waited in zip(run.stalled, run.waited[1:], strict=False):
        assert waited.seconds == pytest.approx(HOLD_S + 0.3 * before)
        assert waited.cause == "rejected" or not before
    assert sum(each.seconds for each in run.waited) == pytest.approx(run.confirmed_s[-1])
    assert any(run.stalled)


parts = st.lists(st.tuples(st.integers(1, 20), st.lists(st.integers(0, 9), min_size=4, max_size=4)), min_size=2)


@given(parts.filter(lambda drawn: all(any(counts) for _, counts in drawn)), st.integers(0, 3))
def test_a_step_is_decided_if_nothing_that_the_others_can_say_changes_it(
    drawn: list[tuple[int, list[int]]], token: int
) -> None:
    """The worst that they can say is all of one other token."""
    total = sum(weight for weight, _ in drawn)
    given = np.array([[weight / total * each / sum(counts) for each in counts] for weight, counts in drawn[:-1]])
    known = given.sum(axis=0)
    rest = drawn[-1][0] / total
    worst = max(known[other] + rest - known[token] for other in range(4) if other != token)
    if abs(worst) > 1e-9:
        ids = [np.flatnonzero(counts) for _, counts in drawn[:-1]]
        laws = [
            (weight / total, Distribution(at, np.array(counts)[at], 1.0))
            for (weight, counts), at in zip(drawn[:-1], ids, strict=True)
        ]
        assert is_decided(laws, token) == (worst < 0)


def scores(query: str, passages: Sequence[str]) -> list[float]:
    """Words in common."""
    own = set(query.split())
    return [len(own & set(text.split())) / (1 + len(own)) for text in passages]


TEXTS = [("the mill is in town", "the river runs north"), ("two men built the mill",), ("the bridge is old",)]


def test_what_a_model_says_behind_a_prefix_is_the_same_wherever_it_was_before(
    tiny_models: dict[str, Path],
) -> None:
    """A party that comes back from a wrong guess says what it would have said; a run is that of the one process.

    To a count: passes of other shapes round the last digits otherwise.
    """
    model = open_model(exact(name=str(tiny_models["device"]), slots=64), "device")
    law = Parties([model] * len(TEXTS), scores, 12)
    settings = apart.Settings((2, 3), (0, 300), 25.0, 1, 12, "reported", "", "", 0)
    recorded = Recorded(Asked("", "where is the mill", (), ()), law, TEXTS, settings, model.eos)
    try:
        for way in settings.ways:
            (row,) = apart._measured(law, [recorded], settings, way)
            assert (row["way"], row["equal"], row["present"]) == (way[0], True, True)
        mixed = Mixed(recorded, [(1, 2)] * 12)
        apart._answer(law, [recorded], [mixed])
    finally:
        recorded.writing.close()
    wrong = [place for place in recorded.laws if list(place.ids) != mixed.ids[: len(place.ids)]]
    assert wrong, "no guess was wrong"
    (steps,) = law.answers([("where is the mill", TEXTS)], [Rule(0, TEMPERATURE, TOP_P)])
    assert [step.token for step in steps] == mixed.ids[: len(steps)]
    for at, step in enumerate(steps):
        for party, draft in enumerate(step.drafts):
            known = recorded.laws[Place(party, tuple(mixed.ids[:at]))].distribution
            assert np.array_equal(known.ids, draft.distribution.ids)
            assert np.abs(known.counts - draft.distribution.counts).max() <= 1


def test_a_member_that_is_left_out_misses() -> None:
    """And so does an answer with another token."""
    report = Report({})
    row: Row = {"way": GROUP, "equal": True, "present": True}
    changes: list[tuple[Row, list[bool]]] = [
        ({}, [True, True]), ({"equal": False}, [False, True]), ({"present": False}, [True, False]),
    ]  # fmt: skip
    for changed, holds in changes:
        report.rows = [row | {"way": SIDES}, row | changed]
        apart.claim(report)
        assert [each["holds"] for each in report.claims] == holds
