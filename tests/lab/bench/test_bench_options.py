"""Laws of how `hocket bench` takes its options from the benchmarks' settings."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import pytest

from hocket_lab.commands.bench import BENCHMARKS
from hocket_lab.reporting.measured import module_of
from hocket_lab.reporting.option import Option
from hocket_tools.main import run

Called = list[dict[str, Any]]


@dataclass(frozen=True)
class Settings:
    """One of each kind."""

    sizes_mib: Annotated[Sequence[int], Option("Sizes.", name="--size", min=1, max=9)] = (2, 4)
    shares: Annotated[Sequence[float], Option("Shares.", min=0, max=1)] = (0.5,)
    ways: Annotated[Sequence[str], Option("Ways.", choices=("fast", "slow"))] = ("fast",)
    more: Annotated[Sequence[str], Option("More ways.", choices=("fast", "slow"))] = ()
    way: Annotated[str, Option("One way.", choices=("fast", "slow"))] = "fast"
    limit: Annotated[int | None, Option("Limit.", min=1)] = None
    twice: Annotated[bool, Option("Twice.")] = False
    kept: int = 7


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Called:
    """What `hocket bench wire` runs its benchmark with; its settings are the ones above."""
    calls: Called = []

    def measure(settings: Settings, json_path: Path | None) -> bool:
        calls.append({"settings": settings, "json_path": json_path})
        return settings.kept == 7 and not settings.twice

    monkeypatch.setattr("hocket_lab.bench.speed.wire.Settings", Settings)
    monkeypatch.setattr("hocket_lab.bench.speed.wire.run", measure)
    return calls


def test_options_become_settings(called: Called) -> None:
    """Lists are lists of their type, what is not given has its default, and what is no option stays as it is."""
    assert run(["bench", "wire", "--size", "1,9", "--shares", "0,1", "--ways", "slow,fast", "--json", "a.json"]) == 0
    assert run(["bench", "wire", "--limit", "3", "--more", "slow", "--way", "slow"]) == 0
    assert called[0] == {"settings": Settings([1, 9], [0.0, 1.0], ["slow", "fast"]), "json_path": Path("a.json")}
    assert called[1] == {"settings": Settings([2, 4], [0.5], ["fast"], ["slow"], "slow", 3), "json_path": None}
    assert all(isinstance(size, int) for size in called[0]["settings"].sizes_mib)


def test_a_missed_claim_is_the_exit_status(called: Called) -> None:
    """The benchmark has run and said so."""
    assert run(["bench", "wire", "--twice"]) == 1
    assert called[0]["settings"].twice


@pytest.mark.parametrize(
    "wrong",
    [
        ["--size", "0"],
        ["--size", "10"],
        ["--size", "2.5"],
        ["--size", ""],
        ["--shares", "inf"],
        ["--ways", "fast,none"],
        ["--way", "none"],
        ["--way", "fast,slow"],
        ["--limit", "0"],
        ["--kept", "8"],
    ],
)
def test_what_is_out_of_bounds_is_named_and_nothing_runs(
    wrong: list[str], called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that has the option's name."""
    assert run(["bench", "wire", *wrong]) == 2
    assert wrong[0] in capsys.readouterr().err
    assert not called


@pytest.mark.parametrize("name", BENCHMARKS)
def test_without_options_a_benchmark_has_its_default_settings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line repeats none of them, and every option has a sentence that helps."""
    module = import_module(module_of(name))
    calls: Called = []

    def measure(**given: Any) -> bool:
        calls.append(given)
        return True

    measure.__signature__ = inspect.signature(module.run)  # type: ignore[attr-defined]
    monkeypatch.setattr(module, "run", measure)
    assert run(["bench", name]) == 0
    told, default = (
        json.dumps(asdict(settings), default=str) for settings in (calls[0]["settings"], module.Settings())
    )
    assert json.loads(told) == json.loads(default)
    hints = get_type_hints(module.Settings, include_extras=True)
    options = [extra for field in fields(module.Settings) for extra in getattr(hints[field.name], "__metadata__", ())]
    assert options
    assert all(isinstance(option, Option) and option.help.endswith(".") for option in options)
