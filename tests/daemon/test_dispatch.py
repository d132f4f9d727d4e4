"""Laws of a dispatched answer: every token is one side's own behind all before it, told once, whatever happens."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from dispatch_sides import CLOCKED, MINIMUM, DispatchSides, ask, similar
from fakes import name_of, part
from msgspec.structs import replace
from two_sides import QUESTION, TEXTS, Clock

from hocket_bus.errors import BadMessage, BadRequest, Busy, HocketError, Unavailable
from hocket_bus.messages import Ask, Dispatch, End, Failed, Hold, Message, Target
from hocket_bus.wire import encode
from hocket_daemon.dispatch.settings import DispatchSettings
from hocket_daemon.privacy.disclosure_account import DisclosureAccount, DisclosureBounds

Made = Callable[..., DispatchSides]
BROKEN = HocketError("the model broke", "mend it")


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> Made:
    """Two sides of a dispatched question whose time stands still but for the test."""
    clock = Clock()
    for module in CLOCKED:
        monkeypatch.setattr(module, "time", clock)

    def made(asked: object = None, **options: object) -> DispatchSides:
        return DispatchSides(asked or ask(), clock, **options)  # type: ignore[arg-type]

    return made


@pytest.mark.parametrize("migration", ["overlap", "stop"])
@pytest.mark.parametrize("first", ["device", "cloud"])
@pytest.mark.parametrize("at", range(1, 12))
def test_an_answer_that_moves_between_equal_sides_is_the_one_that_does_not(
    sides: Made, migration: str, first: str, at: int
) -> None:
    """At every token, in both directions, in any order of computing and delivery."""
    second = "cloud" if first == "device" else "device"
    for order in range(3):
        settings = DispatchSettings(migration=migration)  # type: ignore[arg-type]
        both = sides(ask(), script=f"{first},{at}:{second}", settings=settings, order=random.Random(order), **similar())
        both.begin()
        both.run_to_the_end()
        both.check_closed()
        assert both.reader.done.token_ids == both.text_of("device")
        sources = both.check_tokens()
        assert sources[:at] == [first] * at
        assert set(sources[at:]) <= {first, second}
        moves = both.reader.done.dispatch.migrations
        assert len(moves) == len([1 for one, two in pairwise(sources) if one != two])


def test_an_answer_whose_passages_are_set_against_the_question_moves_alike(sides: Made) -> None:
    """Either side does so, as strongly as the device's file says; and it is another answer than without."""
    answers = []
    for script, contrast in (("", 0.0), ("", 1.0), ("device,3:cloud", 1.0), ("cloud,4:device", 1.0)):
        both = sides(
            ask(), script=script, contrast=contrast, settings=DispatchSettings(migration="overlap"), **similar()
        )
        both.begin()
        both.run_to_the_end()
        both.check_closed()
        answers.append(both.reader.done.token_ids)
    assert answers[1] == answers[2] == answers[3] != answers[0]


@pytest.mark.parametrize("seed", range(6))
def test_an_answer_moves_back_and_forth(sides: Made, seed: int) -> None:
    """Two different models: behind every hand-over the tokens are the target's own."""
    both = sides(
        ask(max_tokens=30), script="device,3:cloud,8:device,12:cloud", order=random.Random(seed),
        settings=DispatchSettings(migration="overlap"),
    )  # fmt: skip
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    sources = both.check_tokens()
    assert sources[:3] == ["device"] * 3
    assert sources[-1] == "cloud"
    told = both.reader.done
    assert sum(origin.share for origin in told.sources) == pytest.approx(1)
    assert {origin.side for origin in told.sources} == {"device", "cloud"}
    cloud = sum(origin.share for origin in told.sources if origin.side == "cloud")
    assert cloud == pytest.approx(sources.count("cloud") / len(sources))
    assert all(origin.document for origin in told.sources), "both sides have told their documents"


@pytest.mark.parametrize("seed", range(120))
def test_whatever_breaks_the_answer_ends_and_no_token_is_doubled_or_lost(sides: Made, seed: int) -> None:
    """Links that go and come, clouds that forget or compute nothing, a device that breaks, at any time."""
    rng = random.Random(seed)
    script = rng.choice(["", "device,2:cloud,6:device", "cloud,3:device,7:cloud", "cloud", "device,4:cloud"])
    migration = rng.choice(["overlap", "stop"])
    both = sides(ask(max_tokens=16), script=script, order=rng, settings=DispatchSettings(migration=migration))  # type: ignore[arg-type]
    both.begin()
    for _ in range(200):
        both.run(rng.randint(1, 25))
        if both.leader.closed:
            break
        disturb(both, rng.random())
    both.device.compute.broken = None
    both.frozen = False
    both.run_to_the_end()
    both.check_closed()
    if isinstance(both.reader.end, Failed):
        ids = [token.id for token in both.reader.tokens]
        assert [token.step for token in both.reader.tokens] == list(range(len(ids)))
        for token in both.reader.tokens:
            assert token.id == both.next_token(token.source, ids[: token.step])
    else:
        both.check_tokens()


def disturb(both: DispatchSides, what: float) -> None:
    """Something that breaks, or nothing but time."""
    if not both.to_cloud.up:
        both.heal_link()
    elif what < 0.2:
        both.break_link()
    elif what < 0.3:
        both.restart_cloud()
    elif what < 0.4:
        both.frozen = not both.frozen
    elif what < 0.43:
        both.device.compute.broken = BROKEN
    elif not both.step():
        both.wait()


def test_where_both_start_the_first_token_wins_and_the_loser_stops(sides: Made) -> None:
    """By whichever is first; the other one ends at most one decode step after it was told."""
    winners = set()
    for order in range(30):
        both = sides(order=random.Random(order))
        both.dispatcher.server_profile.seed([0.0])
        both.begin()
        both.run_to_the_end()
        sources = both.check_tokens()
        assert len(set(sources)) == 1
        winners |= set(sources)
        record = both.leader.record()
        assert record["winner"] == sources[0]
        assert record["loser_steps"] <= 1
        if sources[0] == "device" and any(isinstance(message, Dispatch) for message in both.said):
            assert any(isinstance(message, Hold) for message in both.said)
        both.check_closed()
    assert winners == {"device", "cloud"}


@pytest.mark.parametrize("error", [Busy("full"), Unavailable("stopping"), BROKEN])
def test_a_cloud_that_refuses_leaves_the_device(sides: Made, error: HocketError) -> None:
    """An error never wins, and the reader hears of it once."""
    both = sides(refusal=error)
    both.begin()
    both.run_to_the_end()
    assert set(both.check_tokens()) == {"device"}
    assert len([notice for notice in both.reader.notices if error.text in notice]) == 1


def test_a_cloud_that_is_away_costs_no_time(sides: Made) -> None:
    """The device starts at once and says so; nothing is sent."""
    both = sides(up=False)
    both.begin()
    both.run_to_the_end()
    assert set(both.check_tokens()) == {"device"}
    assert not both.said
    assert "not connected" in both.reader.notices[0]
    assert both.leader.record()["ttft_s"] < 0.1


@pytest.mark.parametrize("to", ["device", "cloud"])
@pytest.mark.parametrize("budget", [0.0, 1.0])
def test_whoever_is_named_writes_whatever_it_costs(sides: Made, to: str, budget: float) -> None:
    """All of it; a device that is named tells nobody of the question."""
    both = sides(ask(to=to), settings=DispatchSettings(budget=budget, burst_tokens=0))
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    assert both.reader.done.token_ids == both.text_of(to)
    assert set(both.check_tokens()) == {to}
    assert bool(both.said) == (to == "cloud")


def test_a_named_cloud_that_is_away_leaves_the_answer_to_the_device(sides: Made) -> None:
    """And the reader is told."""
    both = sides(ask(to="cloud"), up=False)
    both.begin()
    both.run_to_the_end()
    assert both.reader.done.token_ids == both.text_of("device")
    assert both.reader.notices


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (ask(to="server"), "this side has no server configured: set [server], or ask the cloud"),
        (ask(to="cloud", alone=True), "alone and to cloud exclude each other: choose one"),
    ],
)
def test_who_is_not_there_cannot_be_named(sides: Made, asked: Ask, line: str) -> None:
    """One line that says what to do."""
    both = sides(asked)

    def begin() -> None:
        both.modes[0].check(asked)
        both.begin()

    with pytest.raises(BadRequest) as raised:
        begin()
    assert str(raised.value) == line


def test_alone_says_nothing_to_anybody(sides: Made) -> None:
    """By choice, so there is nothing to tell."""
    both = sides(ask(alone=True))
    both.begin()
    both.run_to_the_end()
    assert set(both.check_tokens()) == {"device"}
    assert not both.said
    assert not both.reader.notices


@pytest.mark.parametrize("first", ["device", "cloud"])
def test_a_side_that_falls_silent_is_left(sides: Made, first: str) -> None:
    """In the middle of its sentence; the other one goes on at the prefix."""
    both = sides(ask(max_tokens=20), script=first)
    both.begin()
    both.run_while(lambda: len(both.reader.tokens) < 4)
    if first == "cloud":
        both.frozen = True
    else:
        both.device.compute.broken = BROKEN
    both.run_to_the_end()
    sources = both.check_tokens()
    assert sources[0] == first
    assert sources[-1] != first
    (move,) = both.reader.done.dispatch.migrations
    assert move.step == sources.index(sources[-1])


def test_a_cancelled_answer_stops_both_sides(sides: Made) -> None:
    """At any time: the cloud is told its end, and all rows are free."""
    for steps in range(0, 120, 7):
        both = sides(
            ask(max_tokens=20), script="device,2:cloud,9:device", settings=DispatchSettings(migration="overlap")
        )
        leader = both.begin()
        both.run(steps)
        leader.cancel()
        both.check_closed()
        assert both.reader.done.finish in ("cancelled", "length")


def test_what_is_booked_is_what_the_models_computed(sides: Made) -> None:
    """Tokens read and decoded on either side, of winners, losers and hand-overs."""
    for order in range(12):
        script = ["", "device,3:cloud", "cloud,5:device,9:cloud"][order % 3]
        both = sides(ask(max_tokens=14, documents=1), script=script, order=random.Random(order), **similar(),
                     settings=DispatchSettings(migration="overlap"))  # fmt: skip
        both.begin()
        both.run_to_the_end()
        both.check_closed()
        record = both.leader.record()
        for side in ("device", "cloud"):
            own = both.device if side == "device" else both.cloud
            given = record["prefilled"][side] + record["decoded"][side] - own.model.tokens_read
            assert given in (0, 1), "one row, and at most the first step is given by the prompt"


def test_each_side_has_its_end_told_once(sides: Made) -> None:
    """A cloud that wrote nothing is told, too."""
    both = sides(ask(), script="device,4:cloud", device=part("device", TEXTS["device"], seed=1))
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    assert [type(message) for message in both.said][-1] is End
    assert any(isinstance(message, Target) for message in both.said)


def test_nobody_waits_for_a_cloud_that_there_is_not(sides: Made) -> None:
    """Alone by choice, with a budget of nothing: the device starts at once, and pays it back."""
    both = sides(ask(alone=True), settings=DispatchSettings(budget=0.0, burst_tokens=0))
    both.begin()
    both.run_to_the_end()
    assert set(both.check_tokens()) == {"device"}
    assert both.leader.record()["ttft_s"] < 0.1


def test_what_the_device_says_behind_the_clouds_words_is_not_told_to_it(sides: Made) -> None:
    """A cloud that begins a sentence and gives way; unless it is trusted, it does not hear the end."""
    never = DispatchSettings(migration="overlap", constraint="device", budget=0.0, burst_tokens=0)
    for trusts in (False, True):
        both = sides(ask(max_tokens=30), settings=never, trusts=trusts)
        both.begin()
        both.run_while(lambda: len(both.reader.tokens) < 3)  # noqa: B023 - it is over before the next round
        assert not any(isinstance(message, Target) for message in both.said)
        both.leader.on_failed("cloud", Unavailable("it gives way"))
        both.leader.on_peer(True, None)
        both.run_to_the_end()
        told = [message for message in both.said if isinstance(message, Target)]
        assert bool(told) == trusts


@pytest.mark.parametrize("constraint", ["device", "server"])
@pytest.mark.parametrize("budget", [0.0, 0.2, 0.6])
def test_at_every_question_the_constrained_side_is_within_its_budget(
    sides: Made, constraint: str, budget: float
) -> None:
    """Prompt tokens of all questions times the budget, and the burst; by what the account has booked."""
    settings = DispatchSettings(constraint=constraint, budget=budget, burst_tokens=300, migration="off")  # type: ignore[arg-type]
    both = sides(settings=settings)
    both.begin()
    account = both.dispatcher.account
    for number in range(25):
        both.run_to_the_end()
        both.check_tokens()
        assert account.spent_tokens <= budget * account.all_tokens + 300
        both.again(ask(max_tokens=4, seed=number, question="Who sang first" + " of all" * (number % 5)))
    both.run_to_the_end()
    assert bool(account.spent_tokens) == (budget > 0)


def test_nothing_of_the_devices_documents_leaves_but_what_it_wrote(sides: Made) -> None:
    """No passage and no name of one, in no message; its tokens only where the answer moves."""
    for script in ("device", "device,3:cloud", "cloud,2:device"):
        both = sides(ask(max_tokens=20), script=script, settings=DispatchSettings(migration="overlap"))
        both.begin()
        both.run_to_the_end()
        both.check_closed()
        told = b"".join(b"".join(encode(message)) for message in both.said)
        for text in TEXTS["device"]:
            assert text.encode() not in told
            assert name_of(text).encode() not in told
        assert any(isinstance(message, Target) for message in both.said) == (script == "device,3:cloud")


def test_an_answer_whose_bits_would_have_to_be_counted_does_not_move_to_the_cloud(sides: Made) -> None:
    """The device goes on with it, though it would pay; nothing that it wrote leaves."""
    device = part("device", TEXTS["device"], seed=1)
    device.services = dataclasses.replace(device.services, account=DisclosureAccount(None, DisclosureBounds()))
    both = sides(
        ask(max_tokens=20), script="device,3:cloud", settings=DispatchSettings(migration="overlap"), device=device
    )
    both.begin()
    both.run_to_the_end()
    assert set(both.check_tokens()) == {"device"}
    assert not any(isinstance(message, Target) for message in both.said)


@pytest.mark.parametrize(
    "settings",
    [
        DispatchSettings(constraint="server", price_input=1e6, price_output=1e6, max_per_day=1.0),
        DispatchSettings(  # what the device writes would move to the cloud, which costs next to nothing
            constraint="device", price_input=1e-3, price_output=1e-3, exchange_rate=1e12, max_per_day=1e-12
        ),
    ],
    ids=["a dear cloud", "a cheap one"],
)
def test_at_the_days_dollars_the_device_answers_alone_and_says_so(sides: Made, settings: DispatchSettings) -> None:
    """From the question on behind the one that reached them: nothing begins in the cloud, and nothing moves there."""
    both = sides(ask(), script="cloud", settings=settings)
    both.begin()
    both.run_to_the_end()
    assert set(both.check_tokens()) == {"cloud"}
    assert not both.reader.notices
    both.again(ask(max_tokens=30))
    both.run_to_the_end()
    assert set(both.check_tokens()) == {"device"}
    assert any("a day are spent" in notice for notice in both.reader.notices)
    assert not both.said


def test_a_cloud_takes_no_tokens_that_cannot_be(sides: Made) -> None:
    """Of no model, behind a gap, of another digest, or more than the answer may have: nothing is read of them."""
    both = sides(ask(), script="device,3:cloud", settings=DispatchSettings(migration="overlap"))
    both.begin()
    both.run_while(lambda: not any(isinstance(message, Target) for message in both.said))
    (told,) = [message for message in both.said if isinstance(message, Target)]
    (cloud,) = both.followers
    for wrong in ({"ids": [5_000] * len(told.ids)}, {"first": 1}, {"digest": 1}, {"ids": told.ids * 9}, {"ids": []}):
        with pytest.raises(BadMessage):
            cloud.receive(replace(told, **wrong))
    both.run_to_the_end()
    both.check_tokens()


@pytest.mark.parametrize("change", [{"ids": [5_000]}, {"ids": []}, {"first": 7}])
def test_a_device_leaves_a_cloud_whose_tokens_cannot_be(sides: Made, change: dict[str, object]) -> None:
    """And goes on alone at the exact prefix."""

    def forge(message: Message) -> Message:
        return replace(message, **change) if isinstance(message, Target) and message.first == 4 else message

    both = sides(ask(), script="cloud", forge=forge)
    both.begin()
    while not both.reader.events or not both.leader.closed:
        try:
            if not both.step():
                both.wait()
        except BadMessage:
            continue
    sources = both.check_tokens()
    assert sources[:4] == ["cloud"] * 4
    assert set(sources[4:]) == {"device"}


def test_a_cloud_that_wrote_beyond_a_text_to_stop_at_did_nothing_wrong(sides: Made) -> None:
    """Its tokens were on their way; the answer ends where it is to, with the cloud's sources."""
    whole = sides(ask(), script="cloud")
    whole.begin()
    whole.run_to_the_end()
    text = whole.reader.done.text
    for order in range(4):
        both = sides(ask(stop=[text[5]]), script="cloud", order=random.Random(order))
        both.begin()
        both.run_to_the_end()  # a BadMessage would end it
        assert both.reader.done.finish == "stop"
        assert both.reader.done.text == text[: text.index(text[5])]
        assert not both.reader.notices


@pytest.mark.parametrize("first", ["device", "cloud"])
def test_a_source_whose_answer_moves_stays_just_ahead_of_its_reader(sides: Made, first: str) -> None:
    """By what a reader of the pace has in hand; one who has asked for no pace gets tokens as they come."""
    second = "cloud" if first == "device" else "device"
    written = {}
    for pace in (0.0, 20.0):
        both = sides(ask(max_tokens=60, pace=pace), script=f"{first},1:{second}", **similar(),
                     settings=DispatchSettings(migration="overlap"))  # fmt: skip
        both.begin()
        both.run_while(lambda: len(both.reader.tokens) < 1)  # noqa: B023 - it is over before the next round
        slow(both, second)
        both.run_to_the_end()
        both.check_closed()
        assert both.reader.done.token_ids == both.text_of("device")
        written[pace] = both.check_tokens().count(first)
    assert written[20.0] < written[0.0]


def slow(both: DispatchSides, side: str) -> None:
    """A side computes nothing for half a second."""
    until_s = both.clock.now + 0.5
    compute = (both.device if side == "device" else both.cloud).compute
    chores, compute.chores = compute.chores, list  # type: ignore[method-assign]
    while both.clock.now < until_s and not both.leader.closed:
        if not both.step():
            both.clock.now = min(until_s, both.leader.due_s())
            both.leader.tick(both.clock.now)
    compute.chores = chores  # type: ignore[method-assign]


@pytest.mark.parametrize("first", ["device", "cloud"])
def test_the_reader_hears_where_nothing_read_is_about_the_question(sides: Made, first: str) -> None:
    """By the scores of whoever begins, where their scale is known; and where there are no documents at all."""
    for scorer, texts, told in (
        ("probability:1", TEXTS[first], "best passage"),
        ("plain", TEXTS[first], ""),
        ("probability:1", [], "no document"),
    ):
        parts = {side: part(side, texts, seed=1, scorers=[scorer]) for side in ("device", "cloud")}  # type: ignore[arg-type]
        both = sides(ask(unknown="mark"), script=first, **parts)
        both.begin()
        both.run_to_the_end()
        found = both.device.retrieval if first == "device" else both.cloud.retrieval
        best = max((passage.score for passage in found._found(QUESTION, 2, scorer).passages), default=-1.0)
        expected = told if told != "best passage" or best < MINIMUM else ""
        assert [notice for notice in both.reader.notices if "invented" in notice] == [
            notice for notice in both.reader.notices if expected and expected in notice
        ]
        assert bool(both.reader.notices) == bool(expected)
