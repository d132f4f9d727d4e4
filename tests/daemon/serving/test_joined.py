"""Laws of the result of an answer in parts."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hocket_bus.messages import (
    AggregationOutcome,
    DispatchOutcome,
    Done,
    GateDecision,
    MemberOutcome,
    Migration,
    Origin,
    Routing,
    Span,
)
from hocket_daemon.serving.stream.joined import joined


def origin(name: str, share: float, score: float = 0.5) -> Origin:
    return Origin(side="device", document=name, ordinal=0, share=share, score=score)


RENT = Done(
    request=bytes(16), seq=9, finish="eos", token_ids=[4, 5, 6, 7], text="the rent", ttft_s=0.5, ms_per_token=2.0,
    mode="aggregation", seed=3, sources=[origin("a", 0.75), origin("b", 0.25)],
    token_sources=[[0.5, 0.5], [1.0, 0.0], [0.75, 0.25], [0.75, 0.25]], unsupported=[Span(4, 8)], prompt_tokens=20,
    outcome=AggregationOutcome(
        method="coupled", accept_device=1.0, accept_cloud=0.5, solo_steps=[3], drafts_device=4, drafts_cloud=4,
        members=[MemberOutcome("ben", [0, 4], 0.5, 4)],
    ),
)  # fmt: skip
DUE = Done(
    request=bytes(16), seq=5, finish="eos", token_ids=[8, 9], text="in May", ttft_s=0.25, ms_per_token=1.0,
    mode="aggregation", seed=3, sources=[origin("b", 1.0, 0.9)], token_sources=[[1.0], [1.0]], unsupported=[Span(3, 6)],
    prompt_tokens=10,
    outcome=AggregationOutcome(
        method="alone", accept_device=0.25, solo_steps=[0, 1], drafts_device=2,
        members=[MemberOutcome("ben", [1, 2], 1.0, 2), MemberOutcome("carl", [0, 1], None, 0)],
    ),
)  # fmt: skip
NOTHING = replace(DUE, finish="unknown", sources=[], token_sources=[], unsupported=[], outcome=None)


def test_one_part_is_the_whole() -> None:
    """In every field."""
    assert joined([RENT]) == RENT


def test_words_and_tokens_keep_their_places() -> None:
    """Spans name the same words, steps the same tokens; texts stand in lines of their own."""
    done = joined([RENT, DUE])
    assert (done.text, done.token_ids) == ("the rent\nin May", [4, 5, 6, 7, 8, 9])
    assert [done.text[each.start : each.end] for each in done.unsupported] == ["rent", "May"]
    assert done.aggregation.solo_steps == [3, 4, 5]
    assert done.prompt_tokens == 30


def test_shares_are_means_over_tokens() -> None:
    """Each passage once, with the best of its scores; the shares of all tokens add up to the sources'."""
    done = joined([RENT, DUE])
    assert [(each.document, each.score) for each in done.sources] == [("a", 0.5), ("b", 0.9)]
    for at, each in enumerate(done.sources):
        assert each.share == pytest.approx(sum(row[at] for row in done.token_sources) / len(done.token_ids))
    assert sum(each.share for each in done.sources) == pytest.approx(1.0)


def test_a_part_without_sources_takes_no_share() -> None:
    """Its tokens come from no document; where a part does not say whose its tokens are, none does."""
    done = joined([RENT, NOTHING])
    assert sum(each.share for each in done.sources) == pytest.approx(1.0)
    assert done.token_sources[4:] == [[0.0, 0.0], [0.0, 0.0]]
    assert joined([replace(RENT, token_sources=[]), DUE]).token_sources == []


def test_it_is_unknown_only_where_all_is() -> None:
    """A part that was answered makes an answer."""
    assert [joined(parts).finish for parts in ([RENT, NOTHING], [NOTHING, NOTHING], [NOTHING, RENT])] == [
        "eos", "unknown", "eos",
    ]  # fmt: skip
    assert joined([RENT, replace(DUE, finish="length")]).finish == "length"


def test_rates_are_means_by_tokens_and_members_are_told_once() -> None:
    """Leave parts without a rate out of the mean."""
    outcome = joined([RENT, DUE]).aggregation
    assert (outcome.method, outcome.drafts_device, outcome.drafts_cloud) == ("coupled", 6, 4)
    assert outcome.accept_device == pytest.approx((4 * 1.0 + 2 * 0.25) / 6)
    assert outcome.accept_cloud == 0.5
    ben, carl = outcome.members
    assert (ben.name, ben.steps, ben.drafts) == ("ben", [0, 4, 5, 6], 6)
    assert ben.accept == pytest.approx((4 * 0.5 + 1 * 1.0) / 5)
    assert (carl.steps, carl.accept) == ([4, 5], None)


def test_moves_and_ways_are_of_all_parts() -> None:
    """The way is that of the part that went farthest."""
    one = DispatchOutcome(
        winner=None, device_tokens=1, cloud_tokens=3, migrations=[Migration(2, "device", "cloud", 0.1)]
    )
    home = Routing("home", "home knows", gate=GateDecision("home", 0.1, 0.2, "near"))
    far = Routing("devices", "ben's summaries match best", matched=["ben"])
    done = joined([replace(RENT, outcome=one, routing=home), replace(DUE, outcome=one, routing=far)])
    assert done.dispatch.migrations == [Migration(2, "device", "cloud", 0.1), Migration(6, "device", "cloud", 0.1)]
    assert (done.dispatch.device_tokens, done.dispatch.cloud_tokens) == (2, 6)
    assert done.routing == far
