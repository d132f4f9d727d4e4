"""Laws of the online decision: limits come first, the spend returns to its budget, and a sentence says why."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hocket_daemon.dispatch.moves import MigrationPolicy, Position
from hocket_daemon.dispatch.policies.account import Account
from hocket_daemon.dispatch.policies.cost import DEVICES, Costs, Tokens, costs_of
from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.policies.dispatcher import HORIZON, Dispatcher
from hocket_daemon.dispatch.policies.policy import NEVER
from hocket_daemon.dispatch.policies.profile import Lengths, ServerProfile
from hocket_daemon.dispatch.settings import DispatchSettings

SERVER_DEAR, DEVICE_DEAR = Costs(1.0, 1.0, 0.1, 0.1, 0.0, 0.0), Costs(0.1, 0.1, 1.0, 1.0, 0.0, 0.0)


def made(settings: DispatchSettings, costs: Costs = DEVICE_DEAR) -> Dispatcher:
    account = Account(settings.budget, settings.burst_tokens, settings.max_per_day)
    return Dispatcher(
        settings, costs, account,
        server_profile=ServerProfile.seeded([0.3, 0.4, 0.5, 0.8, 3.0]), device_ttft=DeviceTtft(0.02, 0.0),
        lengths=Lengths(),
    )  # fmt: skip


def served(dispatcher: Dispatcher, source: np.random.Generator, length: int) -> int:
    """One request against a server with a tail; the tokens of the constrained side."""
    waits = dispatcher.decide(length, length, day=1).waits
    ttft_s = float(source.lognormal(-0.7, 0.6))
    device_s, server_s = waits.device_s + dispatcher.device_ttft.at(length), waits.server_s + ttft_s
    of_device, of_server = waits.device_s < server_s, waits.server_s < device_s
    if of_server and server_s <= device_s:
        dispatcher.observe(ttft_s)
    elif of_server:
        dispatcher.censor(device_s - waits.server_s)
    spent = length if (of_device if dispatcher.constraint == "device" else of_server) else 0
    dispatcher.start(dispatcher.constrained, spent)
    return spent


@pytest.mark.parametrize("constraint", ["device", "server"])
@pytest.mark.parametrize("budget", [0.2, 0.5])
def test_the_spend_returns_to_its_budget(constraint: str, budget: float) -> None:
    """Behind a fail-over of ten prompts' budget, within some horizons, and it never breaks the burst again."""
    dispatcher = made(DispatchSettings(budget=budget, burst_tokens=400, constraint=constraint))  # type: ignore[arg-type]
    source = np.random.default_rng(7)
    dispatcher.start(dispatcher.constrained, 200)
    for place in range(10 * HORIZON):
        served(dispatcher, source, int(source.integers(5, 40)))
        assert place < HORIZON or dispatcher.account.excess_tokens <= 400
    assert abs(dispatcher.account.excess_tokens) < 200


@pytest.mark.parametrize("constraint", ["device", "server"])
@pytest.mark.parametrize("quality_s", [0.5, 3.0])
def test_a_better_answer_is_waited_for_as_long_as_it_is_worth(constraint: str, quality_s: float) -> None:
    """An answer of the device's counts as that much later: so counted, answers come sooner, for no more tokens."""
    counted, spent = dict[float, list[float]](), dict[float, int]()
    for used_s in (0.0, quality_s):
        dispatcher = made(DispatchSettings(budget=0.5, burst_tokens=400, constraint=constraint, quality_s=used_s))  # type: ignore[arg-type]
        source, counted[used_s], spent[used_s] = np.random.default_rng(7), [], 0
        for _ in range(4 * HORIZON):
            length, ttft_s = int(source.integers(5, 40)), float(source.lognormal(-0.7, 0.6))
            waits = dispatcher.decide(length, length, day=1).waits
            assert waits.server_s == NEVER or waits.device_s >= used_s
            device_s, server_s = waits.device_s + dispatcher.device_ttft.at(length), waits.server_s + ttft_s
            counted[used_s].append(server_s if server_s < device_s else device_s + quality_s)
            of_device, of_server = waits.device_s < server_s, waits.server_s < device_s
            (dispatcher.observe if server_s <= device_s else dispatcher.censor)(min(ttft_s, device_s))
            tokens = length if (of_device if constraint == "device" else of_server) else 0
            dispatcher.start(dispatcher.constrained, tokens)
            spent[used_s] += tokens
        assert dispatcher.account.excess_tokens <= 400
    assert np.mean(counted[quality_s]) < np.mean(counted[0.0])
    assert constraint == "server" or spent[quality_s] <= spent[0.0]


def test_a_spent_account_leaves_the_answer_to_the_other_side() -> None:
    """And says which budget it is."""
    for costs, waits in ((DEVICE_DEAR, (NEVER, 0.0)), (SERVER_DEAR, (0.0, NEVER))):
        dispatcher = made(DispatchSettings(budget=0.5, burst_tokens=0), costs)
        dispatcher.start(dispatcher.constrained, 1_000)
        decision = dispatcher.decide(20, 20, day=1)
        assert decision.waits == waits
        assert decision.constraint in decision.reason
        assert not dispatcher.may_start(dispatcher.constrained, 20)


def test_at_the_day_s_dollars_the_device_answers_alone_until_the_next_day() -> None:
    """Whichever side is constrained."""
    costs = costs_of(DispatchSettings(price="o1-preview"), DEVICES["pixel-1.1b"].shape, 64)
    dispatcher = made(DispatchSettings(max_per_day=0.01, budget=1.0), costs)
    assert dispatcher.decide(100, 100, day=1).waits.server_s == 0
    dispatcher.book(Tokens(server_prefilled=100, server_decoded=200), day=1)
    decision = dispatcher.decide(100, 100, day=1)
    assert decision.waits == (0.0, NEVER)
    assert "$" in decision.reason
    assert dispatcher.decide(100, 100, day=2).waits.server_s == 0


@pytest.mark.parametrize(
    ("policy", "costs", "used"),
    [
        ("priced", DEVICE_DEAR, "priced"), ("priced", SERVER_DEAR, "priced"), ("ramp", DEVICE_DEAR, "ramp"),
        ("greedy", SERVER_DEAR, "threshold"), ("threshold", SERVER_DEAR, "threshold"),
        ("threshold", DEVICE_DEAR, "greedy"),
    ],
)  # fmt: skip
def test_auto_takes_the_policy_that_is_for_its_constraint(policy: str, costs: Costs, used: str) -> None:
    """The paper has one for each; each decision names it, and a sentence says what follows."""
    dispatcher = made(DispatchSettings(policy=policy, burst_tokens=100_000), costs)  # type: ignore[arg-type]
    for length in (3, 30, 900):
        decision = dispatcher.decide(length, length, day=1)
        assert decision.policy == used
        assert decision.reason.endswith(".")
        assert "\n" not in decision.reason
        assert min(decision.waits) == 0


def test_both_sides_are_predicted() -> None:
    """Seconds of what is missing and dollars of all that is read, with the answer that is expected."""
    dispatcher = made(DispatchSettings(burst_tokens=10_000))
    predicted = dispatcher.decide(100, 25, day=1).predicted
    assert predicted["device"].ttft_s == pytest.approx(0.5)
    assert predicted["device"].cost == pytest.approx(25 + Lengths.ANSWER)
    assert predicted["cloud"].ttft_s == pytest.approx(1.0)
    assert predicted["cloud"].cost == pytest.approx(0.1 * (100 + Lengths.ANSWER))


def test_no_p90_is_told_of_a_server_that_was_always_cancelled_before() -> None:
    """Nobody has seen it."""
    dispatcher = made(DispatchSettings(burst_tokens=10_000))
    for _ in range(1_200):
        dispatcher.censor(0.2)
    dispatcher.observe(0.1)
    assert dispatcher.decide(100, 100, day=1).predicted["cloud"].p90_s is None


def test_stored_kv_is_free() -> None:
    """Where the device has to read a tenth of each prompt, a budget of a half lets it start at once, always."""
    dispatcher = made(DispatchSettings(budget=0.5, burst_tokens=1_000))
    source = np.random.default_rng(3)
    for _ in range(100):
        length = int(source.integers(50, 100))
        waits = dispatcher.decide(length, length // 10, day=1).waits
        dispatcher.start("device", length // 10)
    assert waits.device_s == 0


def test_what_was_estimated_is_corrected_when_it_is_booked() -> None:
    """A bill is made of what was counted."""
    dispatcher = made(DispatchSettings())
    dispatcher.decide(100, 100, day=1)
    dispatcher.start("device", 100)
    bill = dispatcher.book(Tokens(device_prefilled=60, server_prefilled=100, exact=False), day=1, reserved=100)
    assert dispatcher.account.spent_tokens == 60
    assert bill.money == pytest.approx(10)
    assert not bill.exact


@pytest.mark.parametrize("quality_s", [0.0, 1.0])
def test_an_answer_of_the_better_sides_does_not_move_to_save_money(quality_s: float) -> None:
    """From the device it still moves to a cloud that is cheaper."""
    for costs, writer, target in ((SERVER_DEAR, "cloud", "device"), (DEVICE_DEAR, "device", "cloud")):
        dispatcher = made(DispatchSettings(quality_s=quality_s), costs)
        terms = SimpleNamespace(migration="overlap", dispatcher=dispatcher, pace=5.0)
        moved = MigrationPolicy(terms, lambda _: 1).target(Position(4, writer, 1.0))  # type: ignore[arg-type]
        assert moved == (None if quality_s and target == "device" else target)
