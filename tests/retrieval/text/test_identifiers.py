"""Numbers of an answer that stand in what was read: amounts however they are grouped, identifiers digit for digit."""

from __future__ import annotations

import pytest

from hocket_retrieval.text.lexical import missing_words

READ = (
    "Petra Lindqvist, IBAN SE35 5000 0000 0549 1000 0003, telephone +81 3 5555 0101 and 0160 778 4410. "
    "The repair of the kayak cost 318.40 EUR, the boat 12,500. Rows: 2019 2020 2021 of 1000 each."
)


@pytest.mark.parametrize(
    "said",
    [
        "SE35 5000 0000 0549 1000 0003",
        "SE3550000000054910000003",
        "+81 3 5555 0101",
        "+81 3-5555-0101",
        "0160 778 4410",
        "01607784410",
        "0003",
        "318,40 EUR",
        "12500",
        "12 500",
        "1000",
        "2020 2021",
    ],
)
def test_what_stands_there_is_held(said: str) -> None:
    assert missing_words(said, [READ]) == []


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("SE35 0000 0000 0000 0549 1000 0003", "SE35 0000 0000 0000 0549 1000 0003"),
        ("081 3 5555 0101", "081 3 5555 0101"),
        ("0160 778 4411", "0160 778 4411"),
        ("SE3550000000054910000004", "SE3550000000054910000004"),
        ("EUR 0,549", "0,549"),
        ("318.4 EUR", "318.4"),
    ],
)
def test_what_differs_by_a_digit_is_missing_as_a_whole(said: str, missing: str) -> None:
    """A group of an identifier is no amount."""
    assert [said[start:end] for start, end in missing_words(said, [READ])] == [missing]
