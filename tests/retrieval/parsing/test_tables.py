"""Laws of tables in text, as banks and spreadsheets export them: each value stands behind the name of its column."""

from __future__ import annotations

from pathlib import Path

import pytest

from hocket_retrieval.parsing.readers import read


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


BODY = [["Date", "Payee", "Amount", "Purpose"], ["04.03.2027", "Sund Marina", "-1 240,50", "mast; step"],
        ["05.03.2027", "Harbour", "-12,00", ""], ["06.03.2027", "Lind", "75,00", "refund"]]  # fmt: skip
SAID = ["Date: 04.03.2027, Payee: Sund Marina, Amount: -1 240,50, Purpose: mast; step",
        "Date: 05.03.2027, Payee: Harbour, Amount: -12,00",
        "Date: 06.03.2027, Payee: Lind, Amount: 75,00, Purpose: refund"]  # fmt: skip
ABOVE = {
    "nothing": [],
    "a title": [["Statement"]],
    "a title and an account": [["Statement"], ["IBAN", "SE45 5000"], []],
    "labels": [["Account:", "1234567890"], [], ["From:", "01.03.2027"], ["To:", "31.03.2027"], []],
    "two labels a line": [["From", "01.03.2027", "To", "31.03.2027"], ["Opening balance", "1 240,00", "EUR"]],
    "texts": [["Owner", "Anna Lind"], ["Bank", "Fjord Bank"]],
    "texts and a blank line": [["Owner", "Anna Lind"], ["Bank", "Fjord Bank"], []],
    "texts between blank lines": [["Owner", "Anna Lind"], [], ["Bank", "Fjord Bank"], [], []],
    "padded texts": [["Owner", "Anna Lind", "", ""], ["", "", "", ""]],
    "remarks": [["# exported on 2027-04-01"], ["# by; Fjord Bank"], ["#"]],
    "many lines": [[f"Key {'abcdefghijklmnopqrstuvwxyz'[at]}", "value"] for at in range(26)],
}  # fmt: skip


def lines_of(table: list[list[str]], delimiter: str, *, quoted: bool = False) -> str:
    def cell(value: str) -> str:
        return f'"{value}"' if quoted or delimiter in value else value

    return "".join(delimiter.join(map(cell, row)) + "\r\n" for row in table)


@pytest.mark.parametrize("above", ABOVE)
@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_names_are_found_below_whatever_a_program_writes_above_them(above: str, delimiter: str, encoding: str) -> None:
    """Titles, remarks, and lines of a name and its value, which stay as they are, each at its own number.

    Only titles of one value had been tried above names: lines of two were taken for the table.
    """
    table = [*ABOVE[above], *BODY]
    found = dict(rows(lines_of(table, delimiter, quoted=delimiter == ",").encode(encoding)))
    first = len(ABOVE[above]) + 2
    assert [found[f"row {at}"] for at in range(first, first + 3)] == SAID
    told = {f"row {at}": row for at, row in enumerate(ABOVE[above], 1) if any(row)}
    assert {place: text.replace(": ", ", ").replace(":, ", ", ") for place, text in found.items() if place in told} == {
        place: ", ".join(filter(None, row)).replace(":, ", ", ") for place, row in told.items()
    }
    assert len(found) == len(told) + 3


@pytest.mark.parametrize("above", ["nothing", "labels", "texts and a blank line"])
@pytest.mark.parametrize("end", ["\r\n", "\n\n", "\r\r\n"])
def test_a_blank_line_parts_no_values_from_their_names(above: str, end: str) -> None:
    """Behind the names alone, or behind every line, as programs write that end lines twice."""
    text = lines_of([*ABOVE[above], BODY[0], *[[]] * (end == "\r\n"), *BODY[1:]], ";").replace("\r\n", end)
    assert [said for _, said in rows(text.encode())][-3:] == SAID


def test_a_remark_may_name_the_columns_and_units_are_a_row() -> None:
    """Of values of instruments."""
    text = "# station: Hove\n# hour  wind\n#Hour,Wind,Gust\nh,m/s,m/s\n0,4.5,7.25\n1,5.5,8.25\n"
    assert [said for _, said in rows(text.encode())] == [
        "# station: Hove", "# hour  wind", "Hour: h, Wind: m/s, Gust: m/s",
        "Hour: 0, Wind: 4.5, Gust: 7.25", "Hour: 1, Wind: 5.5, Gust: 8.25",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "Kettle;29.5\nTeapot;unknown\nPan;3.5\n",
        "Name;Town\nAnna;Ystad\nBen;Lund;late\nCai;Malmö;early\n",
        "Shop;Town\nMerrow;Ystad\n\nLund & Co;Malmö\n",
        "Item;Price\nKettle;29.5\nTeapot;on demand\nPan;3.5\nTotal;;33\n",
    ],
)
def test_no_row_of_values_is_taken_for_names(text: str) -> None:
    """Though it holds texts alone, above numbers."""
    said = " ".join(each for _, each in rows(text.encode()))
    assert not any(f"{name}:" in said for name in ("Teapot", "unknown", "on demand", "Ben", "late", "Merrow", "Kettle"))
