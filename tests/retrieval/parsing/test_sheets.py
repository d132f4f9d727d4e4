"""Laws of spreadsheets: a row is a passage with the names of its columns, at the number that the program shows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import pytest
from office_files import Percent, Sheet, Value, excel, open_sheets

from hocket_retrieval.parsing.formats.sheets.number_formats import written
from hocket_retrieval.parsing.outline import MAX_ROWS, borders, place_of
from hocket_retrieval.parsing.readers import read
from hocket_retrieval.parsing.sandbox import Sandbox
from hocket_retrieval.text.chunking import spans

MAKERS: dict[str, Callable[[Sequence[Sheet]], bytes]] = {"a.xlsx": excel, "a.ods": open_sheets}
NAMES = ["Item", "Supplier", "Since", "Price", "Discount"]


def passages(name: str, data: bytes) -> list[tuple[str, str]]:
    """(place, text) of each passage."""
    found = read(Path(name), data)
    cut = spans(found.text, 64, borders(found.outline))
    return [(place_of(found.outline, start, end), found.text[start:end]) for start, end in cut]


def grid(rows: Sequence[Sequence[Value]], top: int = 1, left: int = 1) -> dict[tuple[int, int], Value]:
    return {(top + at, left + column): value for at, row in enumerate(rows) for column, value in enumerate(row)}


def sheet_of(number: int, chance: random.Random) -> Sheet:
    """A table somewhere on a sheet, with a title above it or none, and blank rows in it. Every value is another one."""
    row, left = chance.choice([1, 2, 7]), chance.choice([1, 2, 4])
    cells: dict[tuple[int, int], Value] = {}
    if chance.random() < 0.5:
        cells[row, left] = f"Title of {number}"
        row += chance.choice([1, 2, 3])
    cells |= grid([NAMES], row, left)
    for line in range(chance.choice([1, 5, 30])):
        row += 1 if not line else chance.choice([1, 1, 1, 2, 4])
        key = 1000 * number + line
        values = [f"kettle {key}", f"S-{key} AB", date.fromordinal(738_000 + key), key + 0.25, Percent(key / 1000)]
        kept = [value if column < 2 or chance.random() < 0.8 else "" for column, value in enumerate(values)]
        cells |= {at: value for at, value in grid([kept], row, left).items() if value != ""}
    return Sheet(f"Sheet of {number}", cells, is_hidden=chance.random() < 0.3)


def shown(value: Value) -> str:
    return f"{100 * value:.1f}%" if isinstance(value, Percent) else str(value)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("seed", range(12))
def test_every_value_is_in_the_passage_of_its_row_alone(name: str, seed: int) -> None:
    """Behind the name of its column; the place has the sheet and the row's number in the file."""
    chance = random.Random(seed)
    sheets = [sheet_of(number, chance) for number in range(1, 4)]
    found = passages(name, MAKERS[name](sheets))
    for sheet in sheets:
        head = {column: value for (_, column), value in sheet.cells.items() if value in NAMES}
        for (row, column), value in sheet.cells.items():
            if value in NAMES:
                continue
            labelled = shown(value) if str(value).startswith("Title") else f"{head[column]}: {shown(value)}"
            assert [place for place, text in found if labelled in text.replace("\n\n", ", ").split(", ")] == [
                f"sheet {sheet.name}, row {row}"
            ]


@pytest.mark.parametrize("name", MAKERS)
def test_a_second_table_has_names_of_its_own(name: str) -> None:
    """Below the first, behind a blank row or beneath a title; a note below a table stands alone."""
    cells = grid([["Item", "Price"], ["Kettle", 29.5], ["Teapot", 14.0]])
    cells |= grid([["Shop", "Town"], ["Merrow", "Ystad"], ["Lund & Co", "Malmö"]], 5)
    cells |= grid([["Prices hold until May."]], 9)
    cells |= grid([["Day", "Open"], ["Monday", "from ten"]], 10)
    found = passages(name, MAKERS[name]([Sheet("All", cells)]))
    assert found == [
        ("sheet All, row 2", "All\n\nItem: Kettle, Price: 29.5"),
        ("sheet All, row 3", "Item: Teapot, Price: 14"),
        ("sheet All, row 6", "Shop: Merrow, Town: Ystad"),
        ("sheet All, row 7", "Shop: Lund & Co, Town: Malmö"),
        ("sheet All, row 9", "Prices hold until May."),
        ("sheet All, row 11", "Day: Monday, Open: from ten"),
    ]


@pytest.mark.parametrize("name", MAKERS)
def test_a_merged_cell_counts_for_all_its_rows_and_columns(name: str) -> None:
    cells = grid([["Shop", "2025", "", "2026"], ["", "Spring", "Autumn", "Spring", "Autumn"]], 2, 2)
    cells |= grid([["Ystad", 11.5, 12.5, 13.5, 14.5], ["", 21.5, 22.5, 23.5, 24.5]], 4, 2)
    merged = [(2, 2, 3, 2), (2, 3, 2, 4), (2, 5, 2, 6), (4, 2, 5, 2)]
    sheet = Sheet("All", {at: value for at, value in cells.items() if value != ""}, merged)
    names = ["2025 Spring", "2025 Autumn", "2026 Spring", "2026 Autumn"]
    assert passages(name, MAKERS[name]([sheet])) == [
        (
            f"sheet All, row {row}",
            head + "Shop: Ystad, " + ", ".join(f"{each}: {number + at}.5" for at, each in enumerate(names)),
        )
        for row, number, head in ((4, 11, "All\n\n"), (5, 21, ""))
    ]


@pytest.mark.parametrize("name", MAKERS)
def test_what_names_nothing_is_no_name(name: str) -> None:
    """Rows without names above them, and a form whose names stand beside its values."""
    bare = Sheet("Bare", grid([["Kettle", 29.5], ["Teapot", 14.25]]))
    form = Sheet("Form", grid([["Name:", "Ada"], ["Town:", "Ystad"]]))
    assert [text for _, text in passages(name, MAKERS[name]([bare, form]))] == [
        "Bare\n\nKettle, 29.5", "Teapot, 14.25", "Form\n\nName: Ada", "Town: Ystad",
    ]  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("gap", [0, 1, 3])
def test_lines_of_a_name_and_its_value_above_a_table_name_no_columns(name: str, gap: int) -> None:
    """Only titles of one cell stood above the tables that were tested."""
    cells = grid([["Stock of spring"], ["Keeper", "Ada Merrow"], ["Place", "Shed"]], 2, 2)
    cells |= grid([["Item", "Maker", "Price"], ["Kettle", "Lund", 29.5], ["Teapot", "Aas", 14.0]], 5 + gap, 2)
    assert [text for _, text in passages(name, MAKERS[name]([Sheet("All", cells)]))] == [
        "All\n\nStock of spring", "Keeper, Ada Merrow", "Place, Shed",
        "Item: Kettle, Maker: Lund, Price: 29.5", "Item: Teapot, Maker: Aas, Price: 14",
    ]  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_rows_of_a_long_sheet_share_passages_and_their_places_say_which(name: str) -> None:
    rows: list[list[Value]] = [
        ["Item", "Price"],
        *([f"kettle {number}", number + 0.5] for number in range(MAX_ROWS + 9)),
    ]
    found = passages(name, MAKERS[name]([Sheet("Stock", grid(rows, 3))]))
    assert len(found) < MAX_ROWS / 4
    assert found[0][0].startswith("sheet Stock, rows 4–")
    assert found[-1][0].endswith(f"–{MAX_ROWS + 12}")


@pytest.mark.parametrize("name", MAKERS)
def test_in_the_sandbox_a_sheet_says_the_same(name: str) -> None:
    data = MAKERS[name]([sheet_of(number, random.Random(number)) for number in range(9)])
    box = Sandbox()
    try:
        inside = box.read(Path(name), data, 64)
    finally:
        box.close()
    assert (inside.title, inside.text, inside.notice, inside.outline) == read(Path(name), data)


@pytest.mark.parametrize(
    ("number", "code", "text"),
    [
        (0.14, "0%", "14%"), (0.145, "0.0%", "14.5%"), (0.5, "0.##%", "50%"), (-0.5, "0%;(0%)", "(50%)"),
        (1234.5, '#,##0.00 "€"', "1234.50 €"), (-3, "[$€-407] 0.00;[Red]-[$€-407] 0.00", "-€ 3.00"),
        (2.5, '0.0 "kg"', "2.5 kg"), (5, "General", ""), (5, "0.00", ""), (5, "#,##0", ""), (45000, "yyyy-mm-dd", ""),
        (1e9, "0.00E+00", ""), (0.5, "# ?/?", ""),
    ],
)  # fmt: skip
def test_a_number_is_written_as_its_format_shows_it(number: float, code: str, text: str) -> None:
    """Where that says more than the number alone; empty where it does not."""
    assert written(number, code) == text
