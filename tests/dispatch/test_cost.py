"""Laws of what tokens cost: the paper's tables, Algorithm 1, Eq. 8, and settings that do not go together."""

from __future__ import annotations

import pytest

from hocket_bus.errors import BadConfiguration
from hocket_daemon.dispatch.policies.cost import (
    DEVICES,
    Energy,
    Tokens,
    bill_of,
    constraint_of,
    costs_of,
    decode_flops,
    prefill_flops,
    reading_flops,
)
from hocket_daemon.dispatch.settings import DispatchSettings, check

DECODE = {"pixel-1.1b": 0.82, "xiaomi-0.5b": 0.37}  # 10^9, Table 6
PREFILL = {
    "pixel-1.1b": {32: 0.85, 64: 0.93, 128: 1.25},
    "xiaomi-0.5b": {32: 0.39, 64: 0.45, 128: 0.69},
}


@pytest.mark.parametrize("device", DECODE)
@pytest.mark.parametrize("length", [32, 64, 128])
def test_table_6_is_what_the_equations_give(device: str, length: int) -> None:
    """Decode to its last printed digit, prefill within 3 %."""
    shape = DEVICES[device].shape
    assert decode_flops(shape, length) / 1e9 == pytest.approx(DECODE[device], abs=0.006)
    assert prefill_flops(shape, length) / 1e9 == pytest.approx(PREFILL[device][length], rel=0.03)


def test_the_column_of_bloom_560m_is_not() -> None:
    """Its shape gives 0.33 where 0.42 is printed."""
    assert decode_flops(DEVICES["pixel-560m"].shape, 64) / 1e9 == pytest.approx(0.33, abs=0.005)


def test_a_prompt_is_billed_for_what_its_places_take() -> None:
    """The mean over the places of what one more token takes at each."""
    shape = DEVICES["pixel-1.1b"].shape
    places = [decode_flops(shape, place) for place in range(101)]
    assert reading_flops(shape, 100) == pytest.approx(sum(places) / len(places))


def test_the_exchange_rates_of_the_paper_are_comparable_with_its_prices() -> None:
    """Of 10^15 FLOPs: 0.25 and 4.1 dollars for a million tokens of the largest phone's model."""
    for rate, dollars in ((0.3, 0.246), (5.0, 4.1)):
        costs = costs_of(DispatchSettings(exchange_rate=rate), DEVICES["pixel-1.1b"].shape, 64)
        assert costs.device_decode * 1e6 == pytest.approx(dollars, rel=0.01)


@pytest.mark.parametrize(
    ("price", "rate", "constraint"),
    [
        ("deepseek-v2.5", 0.3, "server"),
        ("deepseek-v2.5", 5.0, "device"),
        ("o1-preview", 5.0, "server"),
        ("", 0.3, "device"),
    ],
)
def test_the_dearer_side_is_constrained(price: str, rate: float, constraint: str) -> None:
    """Algorithm 1: the device only if each of its tokens costs more than any of the server's."""
    costs = costs_of(DispatchSettings(price=price, exchange_rate=rate), DEVICES["pixel-1.1b"].shape, 64)
    assert constraint_of(costs) == constraint


def test_measured_energy_says_how_much_dearer_writing_is_than_reading() -> None:
    """Reading keeps its FLOPs, so that λ keeps its unit."""
    shape, settings = DEVICES["pixel-1.1b"].shape, DispatchSettings()
    modelled, measured = costs_of(settings, shape, 64), costs_of(settings, shape, 64, Energy(0.2, 0.6))
    assert not modelled.measured
    assert measured.measured
    assert measured.device_prefill == modelled.device_prefill
    assert measured.device_decode == pytest.approx(3 * modelled.device_prefill)


def test_a_bill_is_the_sum_of_its_tokens() -> None:
    """Eq. 8, each token counted once; money is the server's, FLOPs are the device's."""
    costs = costs_of(DispatchSettings(price="gpt-4o", exchange_rate=5), DEVICES["pixel-560m"].shape, 64)
    bill = bill_of(costs, Tokens(2, 3, 5, 7, exact=False))
    assert bill.money == pytest.approx((5 * 2.5 + 7 * 10) / 1e6)
    assert bill.flops == pytest.approx(2 * costs.prefill_flops + 3 * costs.decode_flops)
    assert bill.total == pytest.approx(bill.money + 5e-15 * bill.flops)
    assert not bill.exact


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"price": "gpt-9"}, "gpt-4o-mini"),
        ({"price": "gpt-4o", "price_input": 1.0}, "price_input"),
        ({"policy": "threshold", "constraint": "device"}, "server"),
        ({"policy": "greedy", "constraint": "server"}, "device"),
    ],
)
def test_what_does_not_go_together_is_refused_with_a_remedy(wrong: dict[str, str], named: str) -> None:
    """One line."""
    with pytest.raises(BadConfiguration) as caught:
        check(DispatchSettings(**wrong))  # type: ignore[arg-type]
    assert named in caught.value.remedy
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("policy", ["priced", "ramp", "greedy", "threshold"])
def test_each_policy_goes_with_auto(policy: str) -> None:
    """Which one it becomes is seen once the constraint is known."""
    check(DispatchSettings(policy=policy))  # type: ignore[arg-type]
