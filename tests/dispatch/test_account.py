"""Laws of the account: the budget holds at every request, debts are paid back, days end, restarts change nothing."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from hocket_daemon.dispatch.policies.account import Account

lengths = st.lists(st.integers(0, 3_000), min_size=1, max_size=60)


@given(lengths, st.floats(0, 1), st.integers(0, 2_000))
def test_who_asks_first_never_spends_more_than_the_budget_and_the_burst(
    prompts: list[int], budget: float, burst: int
) -> None:
    """At every request, for any lengths."""
    account = Account(budget, burst)
    spent = tokens = 0
    for length in prompts:
        account.request(length)
        tokens += length
        if account.may_spend(length):
            account.spend(length)
            spent += length
        assert spent <= budget * tokens + burst + 1e-6
        assert account.spent_tokens == spent


@given(lengths, st.floats(0.05, 1))
def test_a_fail_over_is_paid_back(prompts: list[int], budget: float) -> None:
    """What was spent without asking keeps the side from starting until the sum allows it."""
    account = Account(budget, 100)
    account.spend(5_000)
    for length in prompts:
        account.request(length)
        within = 5_000 + length <= budget * account.all_tokens + 100
        assert account.may_spend(length) == (within or budget == 1), "a budget of 1 allows every prompt"


def test_a_request_may_be_asked_for_before_it_is_counted() -> None:
    """Its own tokens add to the budget."""
    account = Account(0.5, 0)
    assert account.may_spend(10, all_tokens=20)
    assert not account.may_spend(11, all_tokens=20)


def test_what_was_reserved_is_corrected() -> None:
    """A cancelled side has read less, or more."""
    account = Account(0.5, 0)
    account.spend(100)
    account.correct(100, 30)
    assert account.spent_tokens == 30


def test_dollars_are_of_one_day() -> None:
    """The next day begins at none; all of them together go on."""
    account = Account(0.5, 0, max_per_day=1.0)
    account.pay(0.6, 7)
    assert not account.exhausted(7)
    account.pay(0.4, 7)
    assert account.exhausted(7)
    assert not account.exhausted(8)
    account.pay(0.1, 8)
    assert account.spent_today(8) == 0.1
    assert account.facts(8)["money"] == 1.1


def test_without_a_limit_no_day_is_exhausted() -> None:
    """0 is no limit."""
    account = Account(0.5, 0)
    account.pay(1e6, 1)
    assert not account.exhausted(1)


def test_an_account_goes_on_after_a_restart() -> None:
    """Its state is numbers that JSON keeps."""
    account = Account(0.5, 10, 2.0)
    account.request(40)
    account.spend(25)
    account.pay(0.5, 3)
    after = Account(0.5, 10, 2.0)
    after.restore(json.loads(json.dumps(account.state())))
    assert after.facts(3) == account.facts(3)


def test_tokens_of_another_budget_are_forgotten_and_money_is_not() -> None:
    """They would be a debt, or a gift, that nobody has agreed to."""
    account = Account(0.1, 10, 2.0)
    account.request(1_000)
    account.pay(0.5, 3)
    after = Account(0.9, 10, 2.0)
    after.restore(account.state())
    assert after.all_tokens == 0
    assert after.spent_today(3) == 0.5
