"""Laws of tables in text, as banks and spreadsheets export them: each value stands behind the name of its column."""

from __future__ import annotations

from pathlib import Path

import pytest

from hocket_retrieval.readers import read


def rows(data: bytes) -> list[tuple[str, str]]:
    """(place, text) of each row."""
    found = read(Path("a.csv"), data)
    ends = [offset for offset, _ in found.outline[1:]] + [len(found.text)]
    return [(place, found.text[start:end].strip()) for (start, place), end in zip(found.outline, ends, strict=True)]


PAID = [("row 2", "Day: 1 May, Paid: 12,50, For: Rent; May"), ("row 3", 'Day: 2 May, Paid: 3,00, For: "B"\ntwice')]
TABLE = 'Day;Paid;For\r\n1 May;12,50;"Rent; May"\r\n2 May;3,00;"""B""\ntwice"\r\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_quotes_and_lines_in_quotes_and_decimal_commas(encoding: str) -> None:
    text = "\ufeff" + TABLE if encoding == "utf-16-le" else TABLE
    assert rows(text.encode(encoding)) == PAID


def test_a_line_for_excel_is_no_row() -> None:
    """It does not show it, and counts from the next."""
    assert rows(f"sep=;\r\n{TABLE}".encode()) == PAID


def test_lines_above_the_names_are_no_names() -> None:
    """The names are still found, and the numbers are those of the lines."""
    found = rows(f"Statement of account\nSE45 5000 0000\n\n{TABLE}".encode())
    assert found == [("row 1", "Statement of account"), ("row 2", "SE45 5000 0000"), *(
        (f"row {at}", text) for at, (_, text) in enumerate(PAID, 5)
    )]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1,kettle,29.5", "2,saucer,14"),
        ("kettle,2026-05-01,Ystad", "saucer,2026-05-02,Lund"),
        ("Anna,anna@example.org,Ystad", "Ben,ben@example.org,Lund"),
    ],
)
def test_a_first_row_of_values_names_nothing(first: str, second: str) -> None:
    said = [text for _, text in rows(f"{first}\n{second}\n".encode())]
    assert said == [first.replace(",", ", "), second.replace(",", ", ")]


def test_years_above_numbers_are_names() -> None:
    assert rows(b"Town,2025,2026\nYstad,31000,31500\n") == [("row 2", "Town: Ystad, 2025: 31000, 2026: 31500")]
