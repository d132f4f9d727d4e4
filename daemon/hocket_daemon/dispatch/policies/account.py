"""The account of what the constrained side read and the server was paid, under budget, burst and dollars a day.

Pure: a day is a number that is passed in, and the state is a plain dict that others keep on disk.
"""

from __future__ import annotations

from collections.abc import Mapping

State = dict[str, float]


class Account:
    """Prompt tokens of all requests and of the constrained side, so that at every request spent <= b · all + burst.

    Whoever starts the constrained side asks `may_spend` first. A fail-over spends without asking; it is paid back, as
    nothing may be spent until the sum allows it again.
    """

    def __init__(self, budget: float, burst_tokens: float, max_per_day: float = 0.0) -> None:
        self.budget = budget
        self.burst_tokens = burst_tokens
        self.max_per_day = max_per_day
        self._all = 0.0
        self._spent = 0.0
        self._money = 0.0
        self._today = 0.0
        self._day = 0

    @property
    def all_tokens(self) -> float:
        """Prompt tokens of all requests."""
        return self._all

    @property
    def spent_tokens(self) -> float:
        """Prompt tokens of the constrained side."""
        return self._spent

    @property
    def excess_tokens(self) -> float:
        """Prompt tokens that the constrained side is ahead of b · all; below 0: behind."""
        return self._spent - self.budget * self._all

    def may_spend(self, tokens: float, all_tokens: float = 0.0) -> bool:
        """Tell whether the constrained side may read so many; `all_tokens` are of requests not added by `request`.

        A budget of 1 allows every prompt, though what was booked for cancelled requests by an estimate may be more.
        """
        return self.budget >= 1 or self.excess_tokens + tokens <= self.budget * all_tokens + self.burst_tokens

    def request(self, all_tokens: float) -> None:
        """Count a request, whose prompt has so many tokens."""
        self._all += all_tokens

    def spend(self, tokens: float) -> None:
        """Count tokens that the constrained side reads."""
        self._spent += tokens

    def correct(self, reserved: float, actual: float) -> None:
        """Correct `reserved` tokens to the `actual` ones."""
        self._spent += actual - reserved

    def pay(self, money: float, day: int) -> None:
        """Count dollars that the server was paid on that day."""
        if day != self._day:
            self._day, self._today = day, 0.0
        self._today += money
        self._money += money

    def spent_today(self, day: int) -> float:
        """Dollars of that day, if it is the last on which anything was paid."""
        return self._today if day == self._day else 0.0

    def exhausted(self, day: int) -> bool:
        """Tell whether that day's dollars are spent."""
        return self.max_per_day > 0 and self.spent_today(day) >= self.max_per_day

    def facts(self, day: int) -> dict[str, float]:
        """Return the figures for status and metrics: tokens, their share, the budget, and dollars."""
        return {
            "budget": self.budget,
            "share": self._spent / self._all if self._all else 0.0,
            "all_tokens": self._all,
            "spent_tokens": self._spent,
            "excess_tokens": self.excess_tokens,
            "burst_tokens": self.burst_tokens,
            "money": self._money,
            "money_today": self.spent_today(day),
            "max_per_day": self.max_per_day,
        }

    def state(self) -> State:
        """Return the state that survives a restart."""
        return {
            "budget": self.budget,
            "all": self._all,
            "spent": self._spent,
            "money": self._money,
            "today": self._today,
            "day": self._day,
        }

    def restore(self, state: Mapping[str, float]) -> None:
        """Go on from a `state`; tokens counted under another budget say nothing of this one and are forgotten."""
        if state["budget"] == self.budget:
            self._all, self._spent = state["all"], state["spent"]
        self._money, self._today, self._day = state["money"], state["today"], int(state["day"])
