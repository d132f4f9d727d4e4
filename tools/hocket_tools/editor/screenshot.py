"""A picture of the editor: the screen that a terminal would show, as SVG."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from prompt_toolkit.application import Application, create_app_session
from prompt_toolkit.application.current import set_app
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import DummyInput
from prompt_toolkit.output import DummyOutput
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from hocket_tools.whole import replace

SIZE = Size(rows=8, columns=110)
GREY, REVERSED = Style(color="bright_black"), Style(reverse=True)
# rich's own frame without the fonts that it would load from afar.
FORMAT = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"><style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-family: sans-serif; }}
{styles}</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""


class Paper(DummyOutput):
    """A terminal of SIZE that nobody sees."""

    def get_size(self) -> Size:
        """Return the size of the picture."""
        return SIZE


@contextmanager
def on_paper() -> Iterator[None]:
    """Let applications that are made within this context have a Paper and no terminal."""
    with create_app_session(DummyInput(), Paper()):
        yield


def lines(app: Application[Any]) -> list[Text]:
    """The rows of an application's screen as it would be now."""
    asyncio.run(_render(app))
    screen = app.renderer.last_rendered_screen
    assert screen is not None  # it was rendered just now
    cursor = screen.get_cursor_position(app.layout.current_window)

    def styled(row: int, column: int) -> tuple[Style, str]:
        cell = screen.data_buffer[row][column]
        return REVERSED if (row, column) == (cursor.y, cursor.x) else _style(app, cell.style), cell.char

    return [_row([styled(row, column) for column in range(SIZE.columns)]) for row in range(SIZE.rows)]


def _row(cells: Sequence[tuple[Style, str]]) -> Text:
    runs = groupby(cells, key=lambda cell: cell[0])
    return Text.assemble(*(("".join(char for _, char in run), style) for style, run in runs))


async def _render(app: Application[Any]) -> None:
    """Render the screen within an event loop, since the editor's buffers look there for their history."""
    with set_app(app):
        app.renderer.render(app, app.layout)
    await app.cancel_and_wait_for_background_tasks()


def write(svg: Path, rows: list[Text], title: str) -> None:
    """Write the rows to `svg` in the frame of a terminal."""
    console = Console(record=True, width=SIZE.columns, file=io.StringIO(), force_terminal=True)
    for row in [*rows, Text()]:  # rich draws the last row without its bounds
        console.print(row, no_wrap=True, crop=True)
    drawn = console.export_svg(title=title, code_format=FORMAT, theme=SVG_EXPORT_THEME, unique_id="compose")
    replace(svg, drawn.encode())


def _style(app: Application[Any], style: str) -> Style:
    attributes = app.renderer.style.get_attrs_for_style_str(style)
    if attributes.reverse:
        return REVERSED
    return GREY if attributes.color == "ansibrightblack" else Style()
