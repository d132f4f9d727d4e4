"""Days that words mean as a whole: whole periods, what is said from today on, and nothing else."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from hocket_retrieval.text.dates import Days, Period, asked_days, days_of

TODAY = date(2026, 11, 30)  # a Monday


def between(first: str, last: str) -> Days:
    return Days(date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize(
    ("words", "days", "text"),
    [
        ("March 2026", between("2026-03-01", "2026-03-31"), "2026-03"),
        ("the month of March, 2026", between("2026-03-01", "2026-03-31"), "2026-03"),
        ("März", between("2026-03-01", "2026-03-31"), "2026-03"),
        ("december", between("2025-12-01", "2025-12-31"), "2025-12"),
        ("2025", between("2025-01-01", "2025-12-31"), "2025"),
        ("4 March 2026", between("2026-03-04", "2026-03-04"), "2026-03-04"),
        ("4. März", between("2026-03-04", "2026-03-04"), "2026-03-04"),
        ("2026-03-04", between("2026-03-04", "2026-03-04"), "2026-03-04"),
        ("today", between("2026-11-30", "2026-11-30"), "2026-11-30"),
        ("gestern", between("2026-11-29", "2026-11-29"), "2026-11-29"),
        ("vorgestern", between("2026-11-28", "2026-11-28"), "2026-11-28"),
        ("28.11.2026", between("2026-11-28", "2026-11-28"), "2026-11-28"),
        ("last week", between("2026-11-23", "2026-11-29"), "2026-11-23 – 2026-11-29"),
        ("the last two weeks", between("2026-11-17", "2026-11-30"), "2026-11-17 – 2026-11-30"),
        ("last 3 days", between("2026-11-28", "2026-11-30"), "2026-11-28 – 2026-11-30"),
        ("letzten drei tage", between("2026-11-28", "2026-11-30"), "2026-11-28 – 2026-11-30"),
        ("since Thursday", between("2026-11-26", "2026-11-30"), "2026-11-26 – 2026-11-30"),
        ("seit März", between("2026-03-01", "2026-11-30"), "2026-03-01 – 2026-11-30"),
        ("Monday", between("2026-11-30", "2026-11-30"), "2026-11-30"),
        ("diesen Monat", between("2026-11-01", "2026-11-30"), "2026-11"),
        ("last year", between("2025-01-01", "2025-12-31"), "2025"),
    ],
)
def test_words_for_a_time_are_its_days(words: str, days: Days, text: str) -> None:
    """A month without a year is the latest that has begun."""
    found = asked_days(words, TODAY)
    assert found == days
    assert found.text == text


@pytest.mark.parametrize(
    "words", ["", "Anna", "the shed", "March to May", "before 2025", "31 February 2026", "2025 and 2026", "Marchmont"]
)
def test_words_for_more_or_for_something_else_are_no_time(words: str) -> None:
    assert asked_days(words, TODAY) is None


def test_the_days_of_periods_divide_a_year() -> None:
    """Each day of a year is in one month, the months follow each other, and February has its days."""
    months = [days_of(Period(2024, month)) for month in range(1, 13)]
    assert [one.last + timedelta(days=1) for one in months[:-1]] == [other.first for other in months[1:]]
    assert (months[0].first, months[-1].last) == tuple(days_of(Period(2024)))
    assert months[1].last == date(2024, 2, 29)


@pytest.mark.parametrize("today", [date(2026, 1, 1) + timedelta(days=at) for at in range(0, 400, 7)])
def test_the_last_month_ends_where_this_one_begins(today: date) -> None:
    """In any month, January too; and a week has seven days, of which today is one."""
    last, this = asked_days("last month", today), asked_days("this month", today)
    assert last is not None
    assert this is not None
    assert last.last + timedelta(days=1) == this.first <= today <= this.last
    week = asked_days("this week", today)
    assert week is not None
    assert week.first <= today <= week.last
    assert (week.first.weekday(), (week.last - week.first).days) == (0, 6)
