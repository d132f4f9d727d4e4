"""Laws of commands of other distributions: they are there where those are installed, or say how to get them."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest
import typer
from typer.testing import CliRunner

from hocket_bus.errors import Unavailable
from hocket_tools import laboratory, main
from hocket_tools.laboratory import GROUP, OF_THE_LABORATORY, add_commands


def app_with(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> typer.Typer:
    monkeypatch.setattr(laboratory, "entry_points", lambda group: EntryPoints(points).select(group=group))
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    return app


@pytest.mark.parametrize("name", OF_THE_LABORATORY)
@pytest.mark.parametrize("rest", [[], ["--help"], ["aggregation", "--rtt", "0"]])
def test_what_is_not_installed_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, name: str, rest: list[str]) -> None:
    """Whatever stands behind its name."""
    result = CliRunner().invoke(app_with(monkeypatch), [name, *rest])
    assert isinstance(result.exception, Unavailable)
    assert f"hocket {name}" in result.exception.text
    assert "pip install" in result.exception.remedy


def test_help_is_silent_of_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user of the product meets the product."""
    shown = CliRunner().invoke(app_with(monkeypatch), ["--help"]).output
    assert not any(name in shown for name in OF_THE_LABORATORY)


def test_a_distribution_adds_its_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """By an entry point, also under a name of its own."""
    value = f"{__name__}:register"
    app = app_with(monkeypatch, EntryPoint("measure", value, GROUP), EntryPoint("elsewhere", value, "others"))
    assert CliRunner().invoke(app, ["measure"]).output == "measured\n"


def register(app: typer.Typer) -> None:
    app.command("measure")(lambda: typer.echo("measured"))


def test_each_command_stands_under_a_task() -> None:
    """None is left in a heap."""
    commands, groups = main.app.registered_commands, main.app.registered_groups
    panels = {info.rich_help_panel for info in commands} | {info.rich_help_panel for info in groups}
    assert panels == {*main.TASKS, "Laboratory"}
