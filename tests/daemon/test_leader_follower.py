"""Laws of a leader and a follower together: the tokens are the synchronous loop's, in whatever order things happen."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from fakes import FakePeer, WordyCopier, part
from msgspec import structs
from two_sides import SETTINGS, TEXTS, Sides, ask, strange

from hocket_bus.errors import BadRequest, Busy, Cancelled, Forbidden, HocketError, Unavailable
from hocket_bus.messages import (
    METHODS,
    WEIGHTS,
    Aggregated,
    Begin,
    Bridge,
    Draft,
    End,
    Message,
    Ready,
    Refused,
    Side,
    Sync,
    Target,
)
from hocket_bus.wire import encode
from hocket_daemon.aggregation.patience import LEAST_S, REPORT_S
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.engine.reading import Reading

Made = Callable[..., Sides]
SIDES: tuple[Side, Side] = ("device", "cloud")


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_the_tokens_are_those_of_the_synchronous_loop(sides: Made, method: str, weights: str, seed: int) -> None:
    """For every method, every way to weigh, and every order of computing, scoring and delivery."""
    answers = []
    for order in range(3):
        both = sides(ask(method, weights, seed=seed, max_tokens=16, ignore_eos=seed > 0), order=random.Random(order))
        both.begin()
        both.run_to_the_end()
        both.check_closed()
        done = both.reader.done
        assert done.token_ids == [token.id for token in both.reader.tokens] == both.expected()
        assert done.aggregation.solo_steps == []
        assert done.aggregation.method == method
        assert done.aggregation.drafts_cloud > 0
        assert done.text == "".join(token.text for token in both.reader.tokens)
        assert bool(both.device.retrieval.scored) == (weights in ("dynamic", "likelihood") and len(done.token_ids) > 6)
        answers.append(done.token_ids)
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("method", METHODS)
def test_what_both_sides_copy_is_read_ahead_and_changes_no_token(sides: Made, method: str, weights: str) -> None:
    """Models that copy, in any order of events: the tokens are the loop's, and fewer passes than drafts were made."""
    for order in range(3):
        two = {
            side: part(side, TEXTS[side], seed=seed, kind=WordyCopier) for side, seed in (("device", 1), ("cloud", 2))
        }
        both = sides(ask(method, weights, max_tokens=24, ignore_eos=True), order=random.Random(order), **two)
        both.begin()
        both.run_to_the_end()
        both.check_closed()
        assert both.reader.done.token_ids == both.expected()
        assert both.device.compute.copied > 0
        assert both.cloud.compute.copied > 0


@pytest.mark.parametrize("method", ["coupled", "independent"])
def test_a_side_that_shares_no_drafts_writes_the_same(sides: Made, method: str) -> None:
    """The device aggregates alone and says targets only; no distribution of it leaves."""
    both = sides(ask(method), device=part("device", TEXTS["device"], seed=1, shares=False))
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    assert both.reader.done.token_ids == both.expected()
    assert Draft not in {type(message) for message in both.said}
    assert {Target, Aggregated} & {type(message) for message in both.said}


@pytest.mark.parametrize("order", range(3))
@pytest.mark.parametrize("tells", [True, False])
def test_the_cloud_is_told_what_the_device_found_where_names_may_leave(sides: Made, order: int, *, tells: bool) -> None:
    """With the first Begin, which waits for the search, and only then; no token depends on when it came."""
    bridge = Bridge(text="sang Ada", names=["Ada"], score=0.5)
    both = sides(ask(), order=random.Random(order), device=part("device", TEXTS["device"], seed=1, tells=tells))
    both.device.retrieval.bridge = bridge
    both.begin()
    if tells:
        both.leader.on_peer(True, None)
        assert both.to_cloud.sent == [], "the search has not answered yet"
    both.run_to_the_end()
    both.check_closed()
    first = next(message for message in both.said if isinstance(message, Begin))
    assert first.bridge == (bridge if tells else None)
    assert both.cloud.retrieval.bridges == [first.bridge]
    assert both.reader.done.token_ids == both.expected()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(12))
def test_breaks_leave_only_the_solo_steps_that_are_recorded(sides: Made, method: str, seed: int) -> None:
    """A link that goes and comes at any time, with a cloud that may have forgotten all: every other step is joint."""
    rng = random.Random(f"{method} {seed}")
    both = sides(ask(method, max_tokens=16, seed=seed), order=rng, up=rng.random() < 0.7)
    leader = both.begin()
    while not leader.closed:
        both.run(rng.randint(1, 60))
        if leader.closed:
            break
        if both.to_cloud.up and rng.random() < 0.6:
            both.break_link()
            if rng.random() < 0.3:
                both.restart_cloud()
        elif not both.to_cloud.up:
            both.heal_link()
        elif not both.step():
            both.wait()
    both.check_closed()
    assert both.reader.done.token_ids == both.expected()
    alone = [token.step for token in both.reader.tokens if token.source == "solo"]
    assert alone == both.reader.done.aggregation.solo_steps


def test_each_side_reads_passages_as_long_as_its_model_does_well(sides: Made) -> None:
    """And as many as the asked one's does, where the question says no number."""
    parts = {
        "device": part("device", TEXTS["device"], seed=1, reading=Reading(64, 1)),
        "cloud": part("cloud", TEXTS["cloud"], seed=2, reading=Reading(256, 2)),
    }
    both = sides(ask(), **parts)
    both.begin()
    both.run_to_the_end()
    assert set(both.device.retrieval.words) == {64}
    assert set(both.cloud.retrieval.words) == {256}
    both.check_closed()
    found = [origin.side for origin in both.reader.done.sources]
    assert sorted(found) == ["cloud", "device"]


def test_a_folder_is_searched_alone_where_the_question_was_asked(sides: Made) -> None:
    """The other side searches all that it has, and is told nothing of it."""
    both = sides(ask(within=["/home/anna/letters"]))
    both.begin()
    both.run_to_the_end()
    assert set(both.device.retrieval.within) == {("/home/anna/letters",)}
    assert set(both.cloud.retrieval.within) == {()}
    assert not [message for message in both.said if b"letters" in b"".join(encode(message))]


@pytest.mark.parametrize("alone", [True, False])
def test_a_folder_in_which_nothing_is_found_is_named(sides: Made, alone: bool) -> None:
    """Whoever has named it learns that no passage of it is in the answer."""
    both = sides(ask(within=["/nowhere", "/else"], alone=alone), device=part("device", [], seed=1))
    both.begin()
    both.run_to_the_end()
    assert [notice for notice in both.reader.notices if "nothing is found in /nowhere, /else" in notice]


@pytest.mark.parametrize(("unknown", "finish"), [("say", "unknown"), ("mark", "length"), ("answer", "length")])
def test_a_folder_in_which_nothing_is_found_answers_nothing(sides: Made, unknown: str, finish: str) -> None:
    """Unless that is asked for: the model would invent it."""
    both = sides(ask(within=["/nowhere"], alone=True, unknown=unknown), device=part("device", [], seed=1))
    both.begin()
    both.run_to_the_end()
    assert both.reader.done.finish == finish
    assert len(both.reader.notices) == 1


@pytest.mark.parametrize("weights", WEIGHTS)
def test_alone_by_choice_says_nothing_to_anybody(sides: Made, weights: str) -> None:
    """Every step is solo, from its own documents; the other side is not even begun."""
    both = sides(ask(weights=weights, alone=True))
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    assert [*both.said, *both.followers, *both.reader.notices] == []
    done = both.reader.done
    assert done.token_ids == both.expected()
    assert (done.aggregation.method, done.aggregation.accept_device) == ("alone", None)


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("when", ["opening", "later", "down", "searching", "reading", "stopping"])
def test_a_cloud_that_cannot_take_part(sides: Made, when: str, required: bool) -> None:
    """The device goes on alone and says why; where the cloud is required there is no answer but the reason."""
    both = sides(ask(require_cloud=required), up=when != "down")
    trouble = Unavailable("too hot here", "cool down")
    if when == "opening":
        both.refusal = trouble
    elif when == "searching":
        both.cloud.retrieval.search_fails = trouble
    elif when == "reading":
        both.cloud.compute.broken = trouble
    leader = both.begin()
    if when in ("later", "stopping"):
        while len(both.reader.tokens) < 3:
            assert both.step()
        if when == "later":
            both.cloud.compute.broken = trouble
        else:
            both.followers[0].fail(trouble)
            both.followers[0].fail(trouble)
    both.run_to_the_end()
    both.check_closed()
    expected = "the cloud is not connected" if when == "down" else "the cloud cannot take part: too hot here"
    if required:
        assert (both.reader.failed.code, both.reader.failed.text) == ("unavailable", expected)
    else:
        assert both.reader.done.token_ids == both.expected()
        assert both.reader.notices[0].startswith(expected)
        assert both.reader.notices[0].endswith("; answering alone")
        assert both.reader.done.aggregation.solo_steps
    assert leader.record()["links"]


def test_a_busy_cloud_is_asked_again_when_it_said(sides: Made) -> None:
    """Not before; from then on the answer is written together, and nothing of the solo steps is lost."""
    both = sides(ask(max_tokens=24, ignore_eos=True), refusal=Busy("full", "try again", 0.05))
    leader = both.begin()
    while not both.reader.tokens:
        assert both.step()
    assert 0 < leader.due_s() - both.clock.now <= 0.05
    before = [type(message) for message in both.said].count(Begin)
    leader.tick(leader.due_s() - 0.001)
    assert [type(message) for message in both.to_cloud.sent].count(Begin) == 0
    both.refusal = None
    both.wait()
    both.run_to_the_end()
    both.check_closed()
    assert [type(message) for message in both.said].count(Begin) > before
    assert both.reader.notices[-1] == "the cloud is back: answering together again"
    assert both.reader.done.token_ids == both.expected()
    assert 0 < len(both.reader.done.aggregation.solo_steps) < 24


def test_a_late_cloud_is_done_without_and_welcome_when_it_comes(sides: Made) -> None:
    """A step that waits for its draft for too long is written alone; joint steps follow."""
    both = sides(ask(max_tokens=24, ignore_eos=True))
    both.begin()
    while len(both.reader.tokens) < 2:
        assert both.step()
    both.frozen = True
    both.run()
    both.wait()
    assert both.leader.due_s() - both.clock.now == 4.0
    both.frozen = False
    assert "the cloud is late; answering alone" in both.reader.notices
    both.run_to_the_end()
    both.check_closed()
    assert both.reader.done.token_ids == both.expected()
    assert both.reader.done.aggregation.solo_steps


def read_for(both: Sides, seconds: float) -> None:
    """The cloud's model computes nothing for so long, and then all at once."""
    both.begin()
    both.slow, until_s = True, both.clock.now + seconds
    while not both.leader.closed:
        both.run()
        both.slow = both.clock.now < until_s
        if not both.leader.closed:
            both.wait()


@pytest.mark.parametrize("seconds", [1.0, 5.0, 20.0])
def test_a_cloud_that_reads_for_long_is_waited_for_and_the_reader_sees_it(sides: Made, seconds: float) -> None:
    """By default: every token is of both sides. Patience was by seconds, and no test had a cloud that was only slow."""
    both = sides(ask(max_tokens=24, ignore_eos=True))
    read_for(both, seconds)
    both.check_closed()
    assert both.reader.done.token_ids == both.expected()
    assert both.reader.done.aggregation.solo_steps == []
    assert both.reader.notices == []
    assert abs(len(both.reader.waits) * REPORT_S - seconds) <= 2 * REPORT_S
    assert {(each.party, each.read) for each in both.reader.waits} == {("cloud", 0.0)}


def test_a_cloud_that_reads_for_longer_than_the_longest_wait_joins_when_it_has_read(sides: Made) -> None:
    """The reader hears both; what was written alone is one piece at the beginning."""
    both = sides(ask(max_tokens=200, ignore_eos=True))
    both.begin()
    both.slow = True
    while not both.reader.tokens:
        both.run(1)
        if not both.step():
            both.wait()
    asked_s = both.clock.now - 100.0
    assert LEAST_S <= asked_s <= LEAST_S + 2 * REPORT_S
    both.slow = False
    both.run_to_the_end()
    both.check_closed()
    assert [line.partition(" after")[0] for line in both.reader.notices] == [
        "the cloud is still reading",
        "the cloud is back: answering together again",
    ]
    solo = both.reader.done.aggregation.solo_steps
    assert solo == list(range(len(solo)))
    assert 0 < len(solo) < 200
    assert both.reader.done.token_ids == both.expected()


def test_a_cloud_that_falls_silent_while_it_reads_costs_what_any_silence_costs(sides: Made) -> None:
    """Behind its last report, however long it might have read."""
    both = sides(ask(max_tokens=24, ignore_eos=True))
    both.begin()
    both.slow = True
    while both.clock.now < 103.0:
        both.run()
        both.wait()
    both.frozen = True
    heard_s = both.clock.now
    both.run()
    both.wait()
    assert both.clock.now - heard_s <= SETTINGS.peer_wait_s + REPORT_S
    assert both.reader.notices[0].endswith("answering alone")


def test_who_joins_in_the_middle_reads_what_is_written_in_parts(sides: Made) -> None:
    """No pass is longer than those of a prompt: others of the cloud's sessions wait for each. The tokens are the
    same, also where the link breaks again while it reads."""
    both = sides(ask(max_tokens=90, ignore_eos=True), up=False)
    both.begin()
    both.run()
    both.wait()
    for tokens in (40, 60):
        while len(both.reader.tokens) < tokens:
            assert both.step()
        both.heal_link()
        both.run(30)
        if tokens == 40:
            both.break_link()
    both.run_to_the_end()
    both.check_closed()
    model = both.cloud.model
    longest = max(sum(len(ids) for each in segments for ids in each.tokens) for segments in model.passes)
    assert longest <= model.prefill_tokens
    assert both.reader.done.token_ids == both.expected()
    assert 40 <= len(both.reader.done.aggregation.solo_steps) < 90


# --- what relevance means


def scoring(device: list[str], cloud: list[str]) -> dict[str, object]:
    return {
        "device": part("device", TEXTS["device"], seed=1, scorers=device),
        "cloud": part("cloud", TEXTS["cloud"], seed=2, scorers=cloud),
    }


@pytest.mark.parametrize(("device", "cloud"), [(["fine", "plain"], ["plain"]), (["plain"], ["fine", "plain"])])
def test_another_scorer_begins_anew_under_another_number(sides: Made, device: list[str], cloud: list[str]) -> None:
    """Before the first token, with the scorer that both have; the next question begins with it at once."""
    both = sides(**scoring(device, cloud))
    first = both.begin().id
    both.run_to_the_end()
    both.check_closed()
    begins = [message for message in both.said if isinstance(message, Begin)]
    assert [begin.scorer for begin in begins] == ["", "plain"]
    assert (begins[0].session, begins[1].session) == (first, both.leader.id)
    assert first != both.leader.id
    ends = [message for message in both.said if isinstance(message, End)]
    assert [(end.session, end.reason) for end in ends][:1] == [(first, "another scorer")]
    assert len(ends) == 2
    assert both.reader.notices == ["the sides have different re-rankers: both use plain instead"]
    assert both.reader.done.token_ids == both.expected()
    assert both.reader.done.aggregation.solo_steps == []
    again = both.modes[0].begin(both.asked, both.reader.reply(both.asked, both.device.services), both.to_cloud)
    (begin,) = (message for message in both.to_cloud.sent if isinstance(message, Begin))
    assert begin.scorer == "plain"
    again.cancel()


def test_a_cloud_that_names_another_scorer_each_time_is_left(sides: Made) -> None:
    """The session is begun anew once; then the device answers alone."""

    def forge(message: Message) -> Message:
        return structs.replace(message, scorer="other") if isinstance(message, Ready) else message

    both = sides(forge=forge, **scoring(["plain"], ["plain"]))
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    assert len([message for message in both.said if isinstance(message, Begin)]) == 2
    assert "the cloud uses another relevance scorer: ask again; answering alone" in both.reader.notices
    assert both.reader.done.token_ids == both.expected()


def test_sides_without_a_common_scorer_cannot_answer_together(sides: Made) -> None:
    """It is an error that says what to mend, unless relevance does not matter."""
    both = sides(**scoring(["fine"], ["plain"]))
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    assert both.reader.failed.remedy == "configure the same embedder on both"
    both = sides(ask(weights="off"), **scoring(["fine"], ["plain"]))
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    assert both.reader.done.token_ids == both.expected()


@pytest.mark.parametrize("device", [["fine", "plain"], ["fine"]])
def test_another_scorer_is_too_late_behind_a_token(sides: Made, device: list[str]) -> None:
    """Written tokens stay, also where nothing is common: the rest of the answer is the device's alone."""
    both = sides(ask(max_tokens=24, ignore_eos=True), up=False, **scoring(device, ["plain"]))
    both.begin()
    both.run()
    both.wait()
    while not both.reader.tokens:
        assert both.step()
    both.heal_link()
    both.run_to_the_end()
    both.check_closed()
    assert "the cloud uses another relevance scorer: ask again; answering alone" in both.reader.notices
    assert both.reader.done.token_ids == both.expected()
    assert [message.reason for message in both.said if isinstance(message, End)] == ["another scorer"]


@pytest.mark.parametrize("side", ["device", "cloud"])
def test_without_scores_a_side_weighs_by_the_question_alone(sides: Made, side: str) -> None:
    """From the first failure on; the reader of the own side's is told, and the answer comes to its end."""
    both = sides(ask(ignore_eos=True, max_tokens=16))
    (both.device if side == "device" else both.cloud).retrieval.score_fails = Unavailable("it does not answer")
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    told = "it does not answer: from now on the device's passages are weighted by the question only"
    assert both.reader.notices == [told] * (side == "device")
    assert len(both.reader.done.token_ids) == 16


# --- documents


OWN = "the model's own answer, which may be invented: no documents are ingested on"
REMEDY = "run: hocket ingest --side device PATH"


@pytest.mark.parametrize(
    ("device", "cloud", "notice"),
    [
        (
            [],
            TEXTS["cloud"],
            "no documents are ingested on the device: only the cloud's are used, if any",
        ),
        (TEXTS["device"], [], "the cloud has no documents; answering alone"),
        ([], [], f"{OWN} either side: {REMEDY}"),
    ],
)
@pytest.mark.parametrize("order", range(3))
def test_without_documents(sides: Made, device: list[str], cloud: list[str], notice: str, order: int) -> None:
    """The side that has some decides; where none has, the answer is the model's own, and says so."""
    parts = {"device": part("device", device, seed=1), "cloud": part("cloud", cloud, seed=2)}
    both = sides(order=random.Random(order), **parts)
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    assert both.reader.done.token_ids == both.expected()
    assert notice in both.reader.notices


@pytest.mark.parametrize(("wanted", "notices"), [(2, [f"{OWN} the device: {REMEDY}"]), (0, [])])
def test_alone_without_documents_it_says_so_unless_none_are_wanted(
    sides: Made, wanted: int, notices: list[str]
) -> None:
    """The remedy says how to bring some in; a question that asks for none is answered without a word."""
    both = sides(ask(alone=True, documents=wanted), device=part("device", [], seed=1))
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    assert both.reader.notices == notices
    assert both.reader.done.token_ids == both.expected()


# --- ends


def moments(sides: Made, asked: object = None) -> int:
    """Steps that a whole answer takes."""
    both, count = sides(asked), 0
    both.begin()
    while not both.leader.closed:
        count += both.step()
    return count


@pytest.mark.parametrize("how", ["cancel", "deadline", "stopping", "forbidden"])
def test_an_end_at_any_moment_frees_both_sides(sides: Made, how: str) -> None:
    """By the reader, its deadline, the daemon's stop or a policy: one end of the stream, and no row is kept."""
    for moment in range(0, moments(sides), 3):
        both = sides()
        leader = both.begin()
        both.run(moment)
        if how == "cancel":
            leader.cancel()
            leader.cancel()
            assert both.reader.done.finish == "cancelled"
        elif how == "deadline":
            leader.tick(both.clock.now + 120.1)
            assert (both.reader.failed.code, both.reader.failed.text) == ("deadline", "no answer within 120 s")
        elif how == "stopping":
            leader.fail(Cancelled("stopping"))
            assert both.reader.failed.code == "cancelled"
        else:
            both.to_cloud.forbids = Forbidden("drafts must not leave", "allow drafts")
            leader.on_peer(False, Unavailable("it stops"))  # and yet it is up: the session has moved, and opens again
            assert both.reader.failed.remedy == "allow drafts"
        before = len(both.reader.events)
        both.check_closed()
        assert len(both.reader.events) == before


@pytest.mark.parametrize("broken", ["search", "reading", "decoding"])
def test_a_device_that_cannot_go_on_says_so(sides: Made, broken: str) -> None:
    """Its own search or model fails: the stream fails with that reason, and the other side is told the end."""
    both, trouble = sides(), HocketError("the model failed: too hot", "look into the log")
    if broken == "search":
        both.device.retrieval.search_fails = trouble
    elif broken == "reading":
        both.device.compute.broken = trouble
    both.begin()
    if broken == "decoding":
        while not both.reader.tokens:
            assert both.step()
        both.device.compute.broken = trouble
    both.run_to_the_end()
    both.check_closed()
    assert (both.reader.failed.text, both.reader.failed.code) == (trouble.text, "internal")
    assert [message.reason for message in both.said if isinstance(message, End)] == ["internal"]


def test_a_token_that_no_model_has_ends_the_partnership(sides: Made) -> None:
    """The device leaves a cloud that sends one, and goes on alone; a cloud tells a device that does."""
    both = sides(forge=strange)
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    assert [message.reason for message in both.said if isinstance(message, End)] == ["unusable draft"]
    assert both.reader.done.token_ids == both.expected()
    both = sides()
    leader = both.begin()
    while not both.followers:
        assert both.step()
    target = Target(session=leader.id, epoch=0, first=0, ids=[5_000], digest=0)
    both.followers[0].receive(target)
    assert both.followers[0].closed
    refused = both.to_device.sent[-1]
    assert isinstance(refused, Refused)
    assert refused.code == "bad_request"
    leader.cancel()
    both.check_closed()


def test_what_comes_behind_the_end_or_of_another_epoch_is_ignored(sides: Made) -> None:
    """A refusal of an opening that was given up, a draft behind the last token, a cloud that comes back too late."""
    both = sides()
    leader = both.begin()
    stale = Refused(session=leader.id, epoch=7, code="busy", text="full")
    leader.receive(stale)
    assert both.reader.notices == []
    both.run_to_the_end()
    ready = Ready(
        session=leader.id, epoch=0, documents=0, best=0.5, scorer="", scorers=[], retrieval_s=0.0, prefill_s=0.0
    )
    events, sent = list(both.reader.events), len(both.to_cloud.sent)
    for message in (stale, ready):
        leader.receive(message)
    leader.fail(HocketError("late"))
    leader.cancel()
    assert (both.reader.events, len(both.to_cloud.sent)) == (events, sent)
    both.check_closed()


def test_a_follower_tells_a_device_that_is_back_what_it_brings(sides: Made) -> None:
    """By the route that it came back on; an opening older than the session is ignored."""
    both = sides()
    leader = both.begin()
    both.order = random.Random(3)
    while not (both.followers and both.followers[0].rtt_s == 0.0 and both.reader.tokens):
        assert both.step()
    (follower,) = both.followers
    opening = next(message for message in both.said if isinstance(message, Begin))
    both.to_device.sent.clear()
    other = FakePeer("the device", rtt_s=0.5)
    follower.reopen(opening, other)
    assert [type(message) for message in other.sent] == [Ready]
    assert follower.rtt_s == 0.5
    follower.receive(Sync(session=leader.id, epoch=4, confirmed=0, digest=0))
    sent = len(other.sent)
    follower.reopen(opening, FakePeer("the device"))
    assert (follower.rtt_s, len(other.sent)) == (0.5, sent)
    follower.on_peer(True, None)
    follower.tick(follower.due_s())
    follower.cancel()
    assert follower.closed
    leader.cancel()
    both.check_closed()


# --- the mode


def test_what_cannot_be_asked(sides: Made) -> None:
    """One line that names what can be; the rows that a question takes are promised before it begins."""
    mode = sides().modes[0]
    for asked, text in ((ask("magic"), "use one of: coupled"), (ask(weights="heavy"), "use one of: off")):
        with pytest.raises(BadRequest) as caught:
            mode.check(asked)
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(BadRequest, match="exclude each other: choose one"):
        mode.check(ask(alone=True, require_cloud=True))
    mode.check(ask())
    assert [mode.rows(ask(documents=n)) for n in (0, 1, 5)] == [1, 1, 5]
    assert AggregationSettings().wire_mass == 0.98
