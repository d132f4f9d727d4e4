"""Days as people write them: in names of files, headings, front matter, mails and questions. Pure.

A number that may be another thing counts as a date only in full, as `2025-03-04`, `20250304`, `4.3.2025` or `4 March
2025`; a month needs its year, and a year stands alone.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import NamedTuple

_MONTHS = (
    "january januar janvier enero jan",
    "february februar février febrero feb",
    "march märz mars marzo mar",
    "april avril abril apr",
    "may mai mayo",
    "june juni juin junio jun",
    "july juli juillet julio jul",
    "august août agosto aug",
    "september septembre septiembre sept sep",
    "october oktober octobre octubre oct okt",
    "november novembre noviembre nov",
    "december dezember décembre diciembre dec dez",
)
_NUMBER_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH = rf"(?P<name>{'|'.join(sorted(_NUMBER_OF, key=len, reverse=True))})\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)"
_FORMS = (
    rf"{_YEAR}(?P<sign>[-_./ ]?)(?P<month>[01]\d)(?P=sign)(?P<day>[0-3]\d)",
    rf"{_DAY}\.\s?(?P<month>[01]?\d)\.\s?{_YEAR}",
    rf"{_DAY}(?:st|nd|rd|th|\.)?[-_ ](?:of )?{_MONTH},?[-_ ]{_YEAR}",
    rf"{_MONTH}[-_ ]{_DAY}(?:st|nd|rd|th)?,?[-_ ]{_YEAR}",
    rf"{_YEAR}[-_](?P<month>[01]\d)",
    rf"{_MONTH},?[-_ ]{_YEAR}",
    rf"{_DAY}(?:st|nd|rd|th|\.)?[-_ ](?:of )?{_MONTH}",
    _YEAR,
)
_FOUND = [re.compile(rf"(?<![^\W_])(?:{form})(?![^\W_])", re.IGNORECASE) for form in _FORMS]
# Of a question: a month by itself, but for those that are words besides.
_BARE = re.compile(rf"\b(?:in|im|last|letzten|en|of|since|seit) {_MONTH}(?![^\W_])", re.IGNORECASE)


_FILLERS = re.compile(
    r"\b(?:the|month|year|day|of|in|on|den|der|dem|des|die|das|monat|jahr)\b|[.,](?!\d)", re.IGNORECASE
)
_AGO = {  # days, counted from the first to the last; a week begins on Monday
    "today": "day 0", "heute": "day 0", "yesterday": "day 1", "gestern": "day 1", "vorgestern": "day 2",
    "this week": "week 0", "diese woche": "week 0", "dieser woche": "week 0",
    "last week": "week 1", "letzte woche": "week 1", "letzter woche": "week 1",
    "this month": "month 0", "diesen monat": "month 0", "diesem monat": "month 0",
    "last month": "month 1", "letzten monat": "month 1", "letztem monat": "month 1",
    "this year": "year 0", "dieses jahr": "year 0", "diesem jahr": "year 0",
    "last year": "year 1", "letztes jahr": "year 1", "letztem jahr": "year 1",
}  # fmt: skip


_WEEKDAYS = {
    name: day
    for day, names in enumerate(
        ("monday montag", "tuesday dienstag", "wednesday mittwoch", "thursday donnerstag", "friday freitag",
         "saturday samstag", "sunday sonntag")
    )
    for name in names.split()
}  # fmt: skip
_NUMBER_WORDS = {"two": 2, "three": 3, "four": 4, "zwei": 2, "drei": 3, "vier": 4}
_UNITS = {"day": 1, "tag": 1, "week": 7, "woch": 7, "mont": 30, "mona": 30}
_PAST = re.compile(
    rf"(?:the |die |den |der )?(?:last|past|letzten|vergangenen) (?P<number>\d{{1,3}}|{'|'.join(_NUMBER_WORDS)})"
    r" (?P<unit>days|weeks|months|tagen?|wochen|monaten?)"
)
_SINCE = re.compile(r"(?:since|seit)(?: dem)? (?P<from>.+)")


class Days(NamedTuple):
    """The days from the first to the last, both included."""

    first: date
    last: date

    @property
    def text(self) -> str:
        """Return them in digits: a day, a whole month or year, or the first and the last day."""
        if self.first == self.last:
            return self.first.isoformat()
        for period in (Period(self.first.year), Period(self.first.year, self.first.month)):
            if days_of(period) == self:
                return period.text
        return f"{self.first.isoformat()} – {self.last.isoformat()}"


class Period(NamedTuple):
    """A day, a month or a year; 0 where a part is not said."""

    year: int = 0
    month: int = 0
    day: int = 0

    def holds(self, other: Period) -> bool:
        """Tell whether each part that is given here equals the other's."""
        return all(part in (0, own) for part, own in zip(self, other, strict=True))

    @property
    def first(self) -> date | None:
        """Return its first day; None where no year is given."""
        return date(self.year, self.month or 1, self.day or 1) if self.year else None

    @property
    def text(self) -> str:
        """The period in digits, as fully as it is told: 2021, 2021-04 or 2021-04-02; for one with a year."""
        parts = [f"{self.year:04}", *(f"{part:02}" for part in (self.month, self.day) if part)]
        return "-".join(parts)


def period_in(text: str) -> Period | None:
    """The day, month or year that a text says first in the fullest form; None where it says none."""
    for form in _FOUND:
        for found in form.finditer(text):
            if (period := _period(found)) is not None:
                return period
    return None


def asked_period(query: str) -> Period | None:
    """Return the period that a question asks for, which may be a month of any year; None where it asks for none."""
    if (period := period_in(query)) is not None:
        return period
    bare = _BARE.search(query)
    return Period(month=_NUMBER_OF[bare["name"].casefold()]) if bare else None


def days_of(period: Period) -> Days:
    """Return the days of a period with a year."""
    first = date(period.year, period.month or 1, period.day or 1)
    if period.day:
        return Days(first, first)
    after = (
        date(first.year + 1, 1, 1) if not period.month or first.month == 12 else date(first.year, first.month + 1, 1)
    )
    return Days(first, after - timedelta(days=1))


def asked_days(words: str, today: date) -> Days | None:
    """Return the days that words mean as a whole, such as "March 2026" or "last week"; None where they mean none.

    A month without a year is the latest that has begun, and a weekday the latest until today.
    """
    words = " ".join(words.split()).strip(" ?!.").casefold()
    if (since := _SINCE.fullmatch(words)) is not None:
        begun = asked_days(since["from"], today)
        return Days(begun.first, today) if begun is not None else None
    if (past := _PAST.fullmatch(words)) is not None:
        number = _NUMBER_WORDS.get(past["number"]) or int(past["number"])
        return Days(today - timedelta(days=number * _UNITS[past["unit"][:4].rstrip("se")] - 1), today)
    if (ago := _AGO.get(words)) is not None:
        return _ago(*ago.split(), today=today)
    words = " ".join(_FILLERS.sub(" ", words).split())
    if (weekday := _WEEKDAYS.get(words.removeprefix("last ").removeprefix("letzten "))) is not None:
        day = today - timedelta(days=(today.weekday() - weekday) % 7)
        return Days(day, day)
    for form in _FOUND:
        if (found := form.fullmatch(words)) is not None and (period := _period(found)) is not None:
            return days_of(_with_year(period, today))
    return days_of(_with_year(Period(month=_NUMBER_OF[words]), today)) if words in _NUMBER_OF else None


def _with_year(period: Period, today: date) -> Period:
    if period.year:
        return period
    this_year = period._replace(year=today.year)
    has_begun = this_year.first is not None and this_year.first <= today
    return this_year if has_begun else period._replace(year=today.year - 1)


def _ago(unit: str, number: str, *, today: date) -> Days:
    ago = int(number)
    if unit in ("day", "week"):
        first = today - timedelta(days=ago if unit == "day" else today.weekday() + 7 * ago)
        return Days(first, first + timedelta(days=0 if unit == "day" else 6))
    months = today.year * 12 + today.month - 1 - ago
    return days_of(Period(today.year - ago) if unit == "year" else Period(months // 12, months % 12 + 1))


def _period(found: re.Match[str]) -> Period | None:
    """The time that was found; None where there is no such day."""
    parts = found.groupdict()
    named = parts.get("name")
    month = _NUMBER_OF[named.casefold()] if named else int(parts.get("month") or 0)
    period = Period(int(parts.get("year") or 0), month, int(parts.get("day") or 0))
    try:
        date(period.year or 2000, period.month or 1, period.day or 1)
    except ValueError:
        return None
    return period
